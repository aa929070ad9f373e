"""The acceptance vectors of the idempotence rules, over a real socket.

[a-b] is a batch with these sequences; `send` answers (error code, base offset).
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from minibroker import Broker, running
from minibroker.protocol.messages.configs import (
    INCREMENTAL_ALTER_CONFIGS,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from minibroker.protocol.messages.list_offsets import (
    LIST_OFFSETS,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from minibroker.protocol.messages.metadata import (
    METADATA,
    MetadataRequest,
    MetadataRequestTopic,
)
from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from minibroker.protocol.messages.producers import (
    DESCRIBE_PRODUCERS,
    INIT_PRODUCER_ID,
    DescribeProducersRequest,
    InitProducerIdRequest,
    ProducerState,
    TopicRequest,
)
from minibroker.protocol.messages.topics import (
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    CreatableTopic,
    CreateTopicsRequest,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
)
from minibroker.protocol.types import TopicId
from tests.batches import batch
from tests.wire import Wire, connected

OUT_OF_ORDER = (45, -1)
FENCED = (47, -1)
INVALID = (87, -1)
TOPIC = "vectors"


class Producer:
    """A raw client that produces to partition 0 of one topic, and does what else vectors do."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    async def produce(
        self, records: bytes | None, *, topic: str = TOPIC, acks: int = -1, txn: str | None = None
    ) -> PartitionProduceResponse:
        data = TopicProduceData(
            name=topic, partition_data=(PartitionProduceData(index=0, records=records),)
        )
        request = ProduceRequest(
            transactional_id=txn, acks=acks, timeout_ms=1000, topic_data=(data,)
        )
        response = await self.wire.call(PRODUCE, 9, request)
        return response.responses[0].partition_responses[0]

    async def send(self, first: int, last: int, **fields: object) -> tuple[int, int]:
        """Produce [first-last]."""
        answer = await self.produce(batch(first, last, **fields))  # type: ignore[arg-type]  # passed on
        return answer.error_code, answer.base_offset

    async def end(self) -> int:
        """The offset behind the last record."""
        partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
        request = ListOffsetsRequest(
            replica_id=-1, topics=(ListOffsetsTopic(name=TOPIC, partitions=(partition,)),)
        )
        response = await self.wire.call(LIST_OFFSETS, 5, request)
        return response.topics[0].partitions[0].offset

    async def new_producer_id(self) -> int:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
        return (await self.wire.call(INIT_PRODUCER_ID, 4, request)).producer_id

    async def create(self) -> None:
        topic = CreatableTopic(
            name=TOPIC, num_partitions=1, replication_factor=1, assignments=(), configs=()
        )
        response = await self.wire.call(CREATE_TOPICS, 5, CreateTopicsRequest(topics=(topic,)))
        assert response.topics[0].error_code == 0

    async def delete(self) -> None:
        request = DeleteTopicsRequest(topic_names=(TOPIC,), timeout_ms=1000)
        assert (await self.wire.call(DELETE_TOPICS, 5, request)).responses[0].error_code == 0

    async def set_config(self, name: str, value: str) -> None:
        config = IncrementalAlterableConfig(name=name, config_operation=0, value=value)
        resource = IncrementalAlterConfigsResource(
            resource_type=2, resource_name=TOPIC, configs=(config,)
        )
        request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
        response = await self.wire.call(INCREMENTAL_ALTER_CONFIGS, 1, request)
        assert response.responses[0].error_code == 0

    async def producers(self) -> tuple[ProducerState, ...]:
        topic = TopicRequest(name=TOPIC, partition_indexes=(0,))
        request = DescribeProducersRequest(topics=(topic,))
        response = await self.wire.call(DESCRIBE_PRODUCERS, 0, request)
        return response.topics[0].partitions[0].active_producers


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    """A broker with the topic; ids below 1000 are foreign to it."""
    async with running(topic=TOPIC, first_producer_id=1000) as one:
        yield one


@pytest.fixture
async def producer(broker: Broker) -> AsyncIterator[Producer]:
    async with connected(broker.bootstrap) as wire:
        yield Producer(wire)


async def test_1_a_retry_gets_its_first_offset_and_is_not_written(producer: Producer) -> None:
    assert await producer.send(0, 4) == (0, 0)
    assert await producer.send(5, 9) == (0, 5)

    assert await producer.send(0, 4) == (0, 0)
    assert await producer.end() == 10
    assert await producer.send(5, 9) == (0, 5)
    assert await producer.end() == 10


async def test_2_what_is_neither_next_nor_a_batch_of_the_window_is_out_of_order(
    producer: Producer,
) -> None:
    await producer.send(0, 4)
    await producer.send(5, 9)

    for first, last in ((0, 3), (0, 5), (7, 11), (15, 19)):
        assert await producer.send(first, last) == OUT_OF_ORDER
    assert await producer.send(10, 14) == (0, 10)


async def test_2_the_answer_says_what_was_expected_and_what_came(producer: Producer) -> None:
    await producer.send(0, 4)

    answer = await producer.produce(batch(8, 9))

    assert answer.error_message == (
        "expected base sequence 5, got 8 (producer 7 epoch 0, window 0-4@0)"
    )
    assert answer.log_start_offset == 0


async def test_3_the_window_holds_five_batches(producer: Producer) -> None:
    for number in range(6):
        assert await producer.send(number, number) == (0, number)

    assert await producer.send(0, 0) == OUT_OF_ORDER
    assert await producer.send(1, 1) == (0, 1)


async def test_4_a_newer_epoch_starts_at_0_and_fences_the_older(producer: Producer) -> None:
    await producer.send(0, 4)
    await producer.send(5, 9)

    assert await producer.send(5, 9, epoch=1) == OUT_OF_ORDER
    assert await producer.send(0, 4, epoch=1) == (0, 10)
    assert await producer.send(10, 14) == FENCED
    assert await producer.send(5, 9) == FENCED
    assert await producer.send(0, 4, epoch=1) == (0, 10)


async def test_5_the_last_epoch_is_one_like_the_others(producer: Producer) -> None:
    await producer.send(0, 0, epoch=1)

    assert await producer.send(0, 0, epoch=32767) == (0, 1)
    assert await producer.send(1, 1, epoch=0) == FENCED


async def test_6_sequences_go_round_the_ring_in_the_middle_of_a_batch(producer: Producer) -> None:
    assert await producer.send(2147483640, 2147483646) == (0, 0)

    assert await producer.send(2147483647, 1) == (0, 7)
    assert await producer.send(2, 2) == (0, 10)
    assert await producer.send(2147483647, 1) == (0, 7)


async def test_7_a_gap_of_an_issued_id_is_refused_and_that_of_a_foreign_one_is_not(
    producer: Producer,
) -> None:
    issued = await producer.new_producer_id()
    assert await producer.send(3, 3, producer_id=issued) == OUT_OF_ORDER
    assert await producer.send(0, 0, producer_id=8) == (0, 0)
    assert await producer.send(3, 3, producer_id=issued) == OUT_OF_ORDER
    delete = DeleteRecordsRequest(
        topics=(
            DeleteRecordsTopic(
                name=TOPIC, partitions=(DeleteRecordsPartition(partition_index=0, offset=-1),)
            ),
        ),
        timeout_ms=1000,
    )
    await producer.wire.call(DELETE_RECORDS, 1, delete)
    assert await producer.send(3, 3, producer_id=issued) == OUT_OF_ORDER

    assert await producer.send(3, 3, producer_id=9) == (0, 1)
    assert await producer.send(3, 3, producer_id=9) == (0, 1)
    assert await producer.send(7, 7, producer_id=9) == OUT_OF_ORDER


async def test_7_an_issued_id_goes_on_behind_a_record_refused_for_its_size(
    producer: Producer,
) -> None:
    await producer.set_config("max.message.bytes", "1000")
    issued = await producer.new_producer_id()

    assert await producer.send(0, 0, producer_id=issued, values=[bytes(2000)]) == (10, -1)
    assert await producer.send(1, 5, producer_id=issued) == (0, 0)


async def test_10_two_connections_send_the_same_batch_at_once(
    broker: Broker, producer: Producer
) -> None:
    async with connected(broker.bootstrap) as wire:
        other = Producer(wire)
        for number in range(1000):
            answers = await asyncio.gather(
                producer.send(number, number, timestamp=1), other.send(number, number, timestamp=1)
            )
            assert list(answers) == [(0, number), (0, number)]
        assert await producer.end() == 1000


async def test_12_an_issued_id_goes_on_in_a_recreated_topic(producer: Producer) -> None:
    for goes_on in ((10, 14), (5, 9), (0, 4)):
        issued = await producer.new_producer_id()
        assert await producer.send(0, 4, producer_id=issued) == (0, 0)
        assert await producer.send(5, 9, producer_id=issued) == (0, 5)
        await producer.delete()
        await producer.create()

        assert await producer.send(*goes_on, producer_id=issued) == (0, 0)
        assert await producer.send(*goes_on, producer_id=issued) == (0, 0)
        assert await producer.end() == 5
        await producer.delete()
        await producer.create()


async def test_12_a_batch_further_on_is_refused_in_a_recreated_topic(producer: Producer) -> None:
    issued = await producer.new_producer_id()
    await producer.send(0, 4, producer_id=issued)
    await producer.send(5, 9, producer_id=issued)
    await producer.delete()
    await producer.create()

    assert await producer.send(15, 19, producer_id=issued) == OUT_OF_ORDER
    assert await producer.send(10, 14, producer_id=issued) == (0, 0)
    assert await producer.send(15, 19, producer_id=issued) == (0, 5)


async def test_12_what_met_the_gap_between_delete_and_create_comes_first(
    producer: Producer,
) -> None:
    await producer.delete()
    assert await producer.send(0, 4) == (3, -1)
    await producer.create()

    assert await producer.send(5, 9) == OUT_OF_ORDER
    assert await producer.send(0, 4) == (0, 0)
    assert await producer.send(5, 9) == (0, 5)


async def test_12_the_id_of_a_deleted_topic_is_unknown(producer: Producer) -> None:
    wanted = MetadataRequestTopic(name=TOPIC)
    metadata = await producer.wire.call(METADATA, 12, MetadataRequest(topics=(wanted,)))
    old_id = TopicId(metadata.topics[0].topic_id)
    await producer.delete()
    await producer.create()

    data = TopicProduceData(
        topic_id=old_id, partition_data=(PartitionProduceData(index=0, records=batch(0, 0)),)
    )
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(data,))
    response = await producer.wire.call(PRODUCE, 13, request)

    assert response.responses[0].partition_responses[0].error_code == 100


@pytest.mark.parametrize("version", range(6))
async def test_14_ids_are_fresh_and_their_epoch_is_0(producer: Producer, version: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)

    answers = [await producer.wire.call(INIT_PRODUCER_ID, version, request) for _ in range(3)]

    assert [answer.error_code for answer in answers] == [0, 0, 0]
    assert {answer.producer_epoch for answer in answers} == {0}
    assert len({answer.producer_id for answer in answers}) == 3


@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "epoch", "error_code"),
    [
        (None, 5, 3, 0),
        (None, 5, -1, 42),
        (None, -1, 3, 42),
        ("", -1, -1, 42),
        ("t", -1, -1, 53),
    ],
)
async def test_14_what_else_may_be_asked(
    producer: Producer,
    transactional_id: str | None,
    producer_id: int,
    epoch: int,
    error_code: int,
) -> None:
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=1,
        producer_id=producer_id,
        producer_epoch=epoch,
    )

    answer = await producer.wire.call(INIT_PRODUCER_ID, 3, request)

    assert answer.error_code == error_code
    if error_code:
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1)
    else:
        assert answer.producer_id >= 1000
        assert answer.producer_epoch == 0


async def test_14_no_id_comes_twice_over_blocks_and_restarts() -> None:
    seen: list[int] = []
    for _ in range(2):
        async with running() as one, connected(one.bootstrap) as wire:
            seen += [await Producer(wire).new_producer_id() for _ in range(1001)]

    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ((53, -1), {"attributes": 16}),
        (INVALID, {"attributes": 32}),
        (INVALID, {"base_offset": 1}),
        (INVALID, {"count": 4}),
        (INVALID, {"magic": 1}),
        ((2, -1), {"magic": 3}),
        ((2, -1), {"wrong_crc": True}),
        ((76, -1), {"attributes": 5}),
        ((0, 0), {"producer_id": -1, "epoch": -1}),
    ],
)
async def test_15_what_a_batch_must_be(
    producer: Producer, answer: tuple[int, int], fields: dict[str, int]
) -> None:
    assert await producer.send(0, 4, **fields) == answer
    assert await producer.end() == (0 if answer[0] else 5)


async def test_15_a_producer_id_wants_a_sequence_and_a_sequence_no_producer_id(
    producer: Producer,
) -> None:
    assert await producer.send(-1, -1) == INVALID
    assert await producer.send(0, 0, producer_id=7, epoch=-1) == INVALID
    assert await producer.send(0, 0, producer_id=-1, epoch=-1) == (0, 0)


async def test_15_exactly_one_whole_batch(producer: Producer) -> None:
    one = batch(0, 4)

    assert (await producer.produce(one + batch(5, 9))).error_code == 87
    assert (await producer.produce(one + b"\0")).error_code == 87
    assert (await producer.produce(one[:-1])).error_code == 2
    assert (await producer.produce(None)).error_code == 87
    assert await producer.end() == 0


async def test_15_the_size_is_checked_before_the_crc(producer: Producer) -> None:
    await producer.set_config("max.message.bytes", "100")

    assert await producer.send(0, 0, values=[bytes(200)], wrong_crc=True) == (10, -1)


async def test_15_a_transactional_id_refuses_the_whole_request(producer: Producer) -> None:
    answer = await producer.produce(batch(0, 0), txn="t")

    assert answer.error_code == 53
    assert "transactions are not supported" in (answer.error_message or "")
    assert await producer.end() == 0


async def test_15_acks_are_looked_at_first(producer: Producer) -> None:
    assert (await producer.produce(batch(0, 0), acks=2)).error_code == 21
    assert (await producer.produce(batch(0, 0), acks=2, txn="t")).error_code == 21
    assert await producer.end() == 0


async def test_16_a_stored_batch_stays_a_duplicate_when_the_limit_is_lowered(
    producer: Producer,
) -> None:
    sent = batch(0, 0, values=[bytes(500)])
    assert (await producer.produce(sent)).base_offset == 0
    await producer.set_config("max.message.bytes", "100")

    again = await producer.produce(sent)

    assert (again.error_code, again.base_offset, again.log_append_time_ms) == (0, 0, -1)
    assert await producer.send(1, 1, values=[bytes(500)]) == (10, -1)


async def test_17_idempotent_producers_are_described_and_others_leave_nothing(
    producer: Producer,
) -> None:
    await producer.send(0, 4, producer_id=-1, epoch=-1)
    assert await producer.producers() == ()

    await producer.send(0, 4, epoch=3, timestamp=1_700_000_000_000)

    (state,) = await producer.producers()
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (7, 3, 4)
    assert state.last_timestamp == 1_700_000_000_000
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)

"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords over a real socket."""

from collections.abc import AsyncIterator

import pytest

from minibroker.config import Config
from minibroker.protocol.batch_builder import NewRecord, build_batch
from minibroker.protocol.compression import Codec
from minibroker.protocol.messages.list_offsets import (
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from minibroker.protocol.messages.topics import (
    DELETE_RECORDS,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from minibroker.server import Server
from minibroker.storage.outcome import Written
from minibroker.storage.partition import Partition, Sender
from minibroker.storage.turned_away import TurnedAway
from tests.wire import Wire, connected

TOPIC = "timed"
START = 1_700_000_000_000


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    one = Server(Config.of(topic=TOPIC))
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
async def wire(server: Server) -> AsyncIterator[Wire]:
    async with connected(server.bootstrap) as one:
        yield one


def partition_of(server: Server) -> Partition:
    topic = server.services.catalog.find(TOPIC)
    assert topic
    return topic.partitions[0]


def append(server: Server, *times: int, codec: Codec = Codec.NONE) -> None:
    """A batch whose records have these times, in ms from START."""
    records = [NewRecord(None, b"v", START + time) for time in times]
    outcome = partition_of(server).append(
        memoryview(build_batch(records, codec=codec)), Sender(9, TurnedAway()), START
    )
    assert isinstance(outcome, Written)


async def offset_at(
    wire: Wire, timestamp: int, *, version: int = 11, partition: int = 0, epoch: int = -1
) -> ListOffsetsPartitionResponse:
    wanted = ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
    )
    request = ListOffsetsRequest(
        replica_id=-1, topics=(ListOffsetsTopic(name=TOPIC, partitions=(wanted,)),)
    )
    response = await wire.call(LIST_OFFSETS, version, request)
    return response.topics[0].partitions[0]


async def delete_to(wire: Wire, offset: int, topic: str = TOPIC) -> tuple[int, int]:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(
        topics=(DeleteRecordsTopic(name=topic, partitions=(partition,)),), timeout_ms=1000
    )
    answer = (await wire.call(DELETE_RECORDS, 2, request)).topics[0].partitions[0]
    return answer.error_code, answer.low_watermark


@pytest.mark.parametrize("codec", list(Codec))
async def test_a_time_points_at_the_first_record_that_is_not_older(
    server: Server, wire: Wire, codec: Codec
) -> None:
    append(server, 0, 10, 5, codec=codec)
    append(server, 20, 30, codec=codec)

    for time, offset, found in (
        (-100, 0, 0),
        (0, 0, 0),
        (1, 1, 10),
        (6, 1, 10),
        (11, 3, 20),
        (21, 4, 30),
        (30, 4, 30),
    ):
        answer = await offset_at(wire, START + time)
        assert (answer.offset, answer.timestamp) == (offset, START + found), time
        assert answer.leader_epoch == 0
    answer = await offset_at(wire, START + 31)
    assert (answer.offset, answer.timestamp, answer.leader_epoch) == (-1, -1, -1)


@pytest.mark.parametrize("version", range(1, 12))
async def test_the_start_and_the_end_have_numbers_of_their_own(
    server: Server, wire: Wire, version: int
) -> None:
    append(server, 0, 1, 2)
    partition_of(server).log.trim(1)

    assert (await offset_at(wire, -1, version=version)).offset == 3
    assert (await offset_at(wire, -2, version=version)).offset == 1


async def test_the_greatest_time_is_that_of_the_first_record_that_has_it(
    server: Server, wire: Wire
) -> None:
    assert (await offset_at(wire, -3)).offset == -1
    append(server, 0, 7, 7, 3)
    append(server, 7, 1)

    answer = await offset_at(wire, -3)

    assert (answer.offset, answer.timestamp) == (1, START + 7)


async def test_tiered_storage_is_asked_for_and_not_there(server: Server, wire: Wire) -> None:
    append(server, 0)

    assert (await offset_at(wire, -4)).offset == 0
    assert (await offset_at(wire, -5)).offset == -1


async def test_where_nothing_can_be_found_is_said_per_partition(wire: Wire) -> None:
    assert (await offset_at(wire, -1, partition=5)).error_code == 3
    assert (await offset_at(wire, -1, epoch=1)).error_code == 75
    assert (await offset_at(wire, -1, epoch=0)).error_code == 0


async def test_the_one_epoch_ends_where_the_log_does(server: Server, wire: Wire) -> None:
    append(server, 0, 1)

    async def end_of(epoch: int, *, current: int = -1, index: int = 0) -> tuple[int, int, int]:
        partition = OffsetForLeaderPartition(
            partition=index, leader_epoch=epoch, current_leader_epoch=current
        )
        topic = OffsetForLeaderTopic(topic=TOPIC, partitions=(partition,))
        request = OffsetForLeaderEpochRequest(topics=(topic,))
        response = await wire.call(OFFSET_FOR_LEADER_EPOCH, 4, request)
        answer = response.topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert await end_of(0) == (0, 0, 2)
    assert await end_of(0, current=0) == (0, 0, 2)
    assert await end_of(3) == (0, -1, -1)
    assert await end_of(0, current=1) == (75, -1, -1)
    assert await end_of(0, index=9) == (3, -1, -1)


async def test_deleting_records_moves_the_start(server: Server, wire: Wire) -> None:
    append(server, 0, 1, 2)
    append(server, 3)

    assert await delete_to(wire, 2) == (0, 2)
    assert await delete_to(wire, 1) == (0, 2), "it never goes back"
    assert await delete_to(wire, 5) == (1, -1)
    assert await delete_to(wire, -2) == (1, -1)
    assert (await offset_at(wire, START)).offset == 2
    assert await delete_to(wire, -1) == (0, 4)
    assert partition_of(server).log.size_bytes == 0
    append(server, 9)
    assert (await offset_at(wire, -1)).offset == 5


async def test_records_of_a_compacted_topic_are_not_deleted(server: Server, wire: Wire) -> None:
    server.services.catalog.create("compacted", 1, {"cleanup.policy": "compact"})
    server.services.catalog.create("both", 1, {"cleanup.policy": "compact,delete"})

    assert await delete_to(wire, -1, "compacted") == (44, -1)
    assert await delete_to(wire, -1, "both") == (0, 0)
    assert await delete_to(wire, -1, "missing") == (3, -1)

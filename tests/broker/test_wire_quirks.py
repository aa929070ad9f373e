"""What real clients rely on: the quirks of ApiVersions, of framing and of order."""

import asyncio
import logging
from collections.abc import AsyncIterator
from struct import pack

import pytest

from minibroker import Broker, running
from minibroker.protocol.messages import all_schemas
from minibroker.protocol.messages.api_versions import (
    API_VERSIONS,
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from minibroker.protocol.messages.fetch import FETCH, FetchPartition, FetchRequest, FetchTopic
from minibroker.protocol.messages.metadata import METADATA, MetadataRequest
from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from minibroker.serving import all_apis
from tests.batches import batch
from tests.wire import Closed, Wire, connected

NOT_SERVED = (*range(24, 29), *range(76, 93))
"""Transactions, share groups and streams groups."""


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    async with running(topics=["t"]) as one:
        yield one


@pytest.fixture
async def wire(broker: Broker) -> AsyncIterator[Wire]:
    async with connected(broker.bootstrap) as one:
        yield one


def produce(first: int, last: int) -> ProduceRequest:
    partition = PartitionProduceData(index=0, records=batch(first, last))
    topic = TopicProduceData(name="t", partition_data=(partition,))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))


@pytest.mark.parametrize("version", range(6))
async def test_the_header_of_the_answer_has_no_tags_in_any_version(
    wire: Wire, version: int
) -> None:
    wire.send(API_VERSIONS, version, ApiVersionsRequest(client_software_name="a"))

    frame = await wire.receive_frame()

    assert frame[:4] == pack(">i", 1)
    assert frame[4:6] == b"\0\0"
    response = API_VERSIONS.decode_response(version, memoryview(frame), 4)
    assert (response.supported_features, response.finalized_features) == ((), ())


async def test_the_client_id_of_a_flexible_header_is_an_ordinary_string(wire: Wire) -> None:
    wire.send_frame(pack(">hhih", 18, 3, 9, 4) + b"kcat" + b"\0" + b"\x02a\x02b\0")

    assert (await wire.receive_frame())[:6] == pack(">ih", 9, 0)


@pytest.mark.parametrize("client_id", [None, "", "kcat"])
@pytest.mark.parametrize("version", [6, 7, 99, 32767, -1])
async def test_a_version_to_come_is_35_in_the_oldest_form_and_the_connection_lives(
    wire: Wire, version: int, client_id: str | None
) -> None:
    text = (client_id or "").encode()
    length = -1 if client_id is None else len(text)
    wire.send_frame(pack(">hhih", 18, version, 5, length) + text + b"\0whatever comes then")

    frame = await wire.receive_frame()

    assert frame == pack(">ihihhh", 5, 35, 1, 18, 0, 5)
    assert (await wire.call(API_VERSIONS, 3, ApiVersionsRequest())).error_code == 0


async def test_versions_are_those_of_the_table_and_no_others(wire: Wire) -> None:
    said = {api.api_key: api for api in (await advertised(wire)).api_keys}

    assert sorted(said) == [api.api_key for api in all_apis().advertised()]
    assert not set(said) & set(NOT_SERVED)
    for schema in all_schemas():
        if schema.key in said:
            assert said[schema.key] == ApiVersion(
                api_key=schema.key,
                min_version=schema.advertised_oldest,
                max_version=schema.newest,
            )


async def advertised(wire: Wire) -> ApiVersionsResponse:
    return await wire.call(API_VERSIONS, 3, ApiVersionsRequest())


async def test_produce_is_advertised_from_0_and_served_from_3(broker: Broker, wire: Wire) -> None:
    said = {api.api_key: api for api in (await advertised(wire)).api_keys}
    assert (said[0].min_version, said[0].max_version) == (0, 13)

    for version in (0, 1, 2, 14):
        async with connected(broker.bootstrap) as other:
            other.send_frame(pack(">hhihhii", 0, version, 1, -1, 1, 1000, 0))
            with pytest.raises(Closed):
                await other.receive_frame()


async def test_find_coordinator_is_there_else_lz4_is_turned_off_silently(wire: Wire) -> None:
    assert 10 in {api.api_key for api in (await advertised(wire)).api_keys}


async def test_init_producer_id_6_is_unstable_and_not_advertised(wire: Wire) -> None:
    said = {api.api_key: api for api in (await advertised(wire)).api_keys}

    assert said[22].max_version == 5


async def test_an_unknown_request_closes_and_is_logged_once_with_who_it_was(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        async with connected(broker.bootstrap) as wire:
            named = ApiVersionsRequest(
                client_software_name="librdkafka", client_software_version="2.16"
            )
            await wire.call(API_VERSIONS, 3, named)
            wire.send_frame(pack(">hhih", 24, 0, 1, 4) + b"kcat")
            with pytest.raises(Closed):
                await wire.receive_frame()

    (record,) = caplog.records
    assert "'kcat'" in record.getMessage()
    assert "'librdkafka 2.16'" in record.getMessage()


async def test_bytes_behind_a_body_are_ignored(wire: Wire) -> None:
    # librdkafka's "all topics" Metadata leaves 3 bytes.
    body = METADATA.encode_request(9, MetadataRequest(topics=None))
    wire.send_frame(pack(">hhihB", 3, 9, 7, -1, 0) + body + b"\0\0\0")

    frame = await wire.receive_frame()

    assert frame[:4] == pack(">i", 7)
    await advertised(wire)


async def test_five_in_flight_are_answered_in_order(wire: Wire) -> None:
    for first in range(0, 50, 10):
        wire.send(PRODUCE, 9, produce(first, first + 9))

    for at in range(5):
        correlation_id, response = await wire.receive_with_id(PRODUCE, 9)
        assert correlation_id == at + 1
        assert response.responses[0].partition_responses[0].base_offset == 10 * at


async def test_a_long_poll_holds_back_what_is_behind_it_and_is_woken(
    broker: Broker, wire: Wire
) -> None:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic="t", partitions=(partition,))
    first = wire.send(FETCH, 4, FetchRequest(max_wait_ms=30_000, min_bytes=1, topics=(topic,)))
    second = wire.send(API_VERSIONS, 0, ApiVersionsRequest())

    async with connected(broker.bootstrap) as producer:
        await producer.call(PRODUCE, 9, produce(0, 4))

    answered = await wire.receive_with_id(FETCH, 4)
    assert answered[0] == first
    assert answered[1].responses[0].partitions[0].records
    assert (await wire.receive_with_id(API_VERSIONS, 0))[0] == second


async def test_a_request_may_come_byte_by_byte(wire: Wire) -> None:
    expected = await wire.call(PRODUCE, 9, produce(0, 4))
    wire.send(PRODUCE, 9, produce(0, 4))  # what is written below, in one piece
    assert await wire.receive(PRODUCE, 9) == expected

    header = pack(">hhih", 0, 9, 77, -1) + b"\0"
    body = header + PRODUCE.encode_request(9, produce(0, 4))
    for at in range(len(body) + 4):
        wire.writer.write((pack(">i", len(body)) + body)[at : at + 1])
        await wire.writer.drain()
        await asyncio.sleep(0)

    assert (await wire.receive_with_id(PRODUCE, 9)) == (77, expected)


async def test_twelve_bytes_of_produce_with_a_huge_array_cost_the_connection(wire: Wire) -> None:
    wire.send_frame(pack(">hhih", 0, 8, 1, -1) + bytes.fromhex("ffff 0001 00000001 7fffffff"))

    with pytest.raises(Closed):
        await wire.receive_frame()

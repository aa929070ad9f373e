"""Metadata, over a real socket."""

from collections.abc import AsyncIterator
from struct import pack

import pytest

from minibroker import running
from minibroker.config import Config
from minibroker.protocol.headers import RequestHeader, encode_request_header
from minibroker.protocol.messages.metadata import (
    METADATA,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from minibroker.protocol.types import ZERO_TOPIC_ID, TopicId
from minibroker.server import Server
from tests.wire import Wire, connected

EVERYTHING_ON_A_TOPIC, EVERYTHING_ON_THE_CLUSTER = 3576, 8096  # what Kafka 4.4 answers
NOT_ASKED_FOR = -(1 << 31)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A client of a broker with topics b (2 partitions) and a."""
    async with running(topics=["b:2", "a"]) as broker, connected(broker.bootstrap) as one:
        yield one


def named(*names: str | None, **options: bool) -> MetadataRequest:
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    return MetadataRequest(topics=topics, **options)


def errors(response: MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in response.topics}


@pytest.mark.parametrize("version", range(14))
async def test_a_null_list_is_every_topic_by_name(wire: Wire, version: int) -> None:
    everything = MetadataRequest(topics=None if version else ())

    response = await wire.call(METADATA, version, everything)

    assert [topic.name for topic in response.topics] == ["a", "b"]
    assert [len(topic.partitions) for topic in response.topics] == [1, 2]
    assert all(len(topic.topic_id) == 16 for topic in response.topics)
    assert (response.topics[0].topic_id != ZERO_TOPIC_ID) == (version >= 10)


async def test_an_empty_list_is_no_topic_from_v1_on(wire: Wire) -> None:
    response = await wire.call(METADATA, 1, MetadataRequest(topics=()))

    assert response.topics == ()


async def test_the_broker_leads_every_partition_and_is_the_controller(wire: Wire) -> None:
    response = await wire.call(METADATA, 13, named("b"))

    (node,) = response.brokers
    assert response.controller_id == node.node_id
    assert response.cluster_id
    assert len(response.cluster_id) == 22
    for partition in response.topics[0].partitions:
        assert partition.leader_id == node.node_id
        assert partition.leader_epoch >= 0
        assert partition.replica_nodes == partition.isr_nodes == (node.node_id,)
        assert partition.offline_replicas == ()


async def test_a_client_is_told_the_address_of_the_listener_that_it_came_in_by() -> None:
    server = Server(
        Config.of(
            listeners="HOST://127.0.0.1:0,DOCKER://127.0.0.2:0",
            advertised_listeners="HOST://localhost:1234,DOCKER://broker:29092",
        )
    )
    await server.start()
    addresses = []
    for listener in server.listeners:
        async with connected(f"{listener.host}:{listener.port}") as one:
            (node,) = (await one.call(METADATA, 9, named())).brokers
            addresses.append((node.host, node.port))
    await server.stop()

    assert addresses == [("localhost", 1234), ("broker", 29092)]


@pytest.mark.parametrize("version", [1, 3])
async def test_before_v4_a_missing_topic_is_always_created(wire: Wire, version: int) -> None:
    response = await wire.call(METADATA, version, named("new", allow_auto_topic_creation=False))

    assert errors(response) == {"new": 0}
    assert len(response.topics[0].partitions) == 1


async def test_from_v4_on_the_request_decides_what_is_created(wire: Wire) -> None:
    looked = await wire.call(METADATA, 4, named("new", allow_auto_topic_creation=False))
    asked = await wire.call(METADATA, 4, named("new"))
    looked_again = await wire.call(METADATA, 4, named("new", allow_auto_topic_creation=False))

    assert [errors(answer)["new"] for answer in (looked, asked, looked_again)] == [3, 0, 0]


async def test_nothing_is_created_where_the_broker_forbids_it() -> None:
    forbids = running(auto_create_topics_enable=False)
    async with forbids as broker, connected(broker.bootstrap) as one:
        response = await one.call(METADATA, 9, named("new"))

    assert errors(response) == {"new": 3}


async def test_each_illegal_or_colliding_name_is_17_and_others_are_served(wire: Wire) -> None:
    await wire.call(METADATA, 9, named("x.y"))

    response = await wire.call(METADATA, 9, named("bad name", "", "..", "z" * 250, "x_y", "b", "c"))

    assert list(errors(response).values()) == [17, 17, 17, 17, 17, 0, 0]


async def test_what_is_named_twice_is_answered_once(wire: Wire) -> None:
    response = await wire.call(METADATA, 12, named("b", "a", "b"))

    assert [topic.name for topic in response.topics] == ["b", "a"]


@pytest.mark.parametrize("version", [10, 11, 12, 13])
async def test_topics_are_found_by_id_and_an_unknown_id_is_100(wire: Wire, version: int) -> None:
    known = (await wire.call(METADATA, version, named("b"))).topics[0].topic_id
    unknown = TopicId(b"\7" * 16)
    request = MetadataRequest(
        topics=tuple(MetadataRequestTopic(name=None, topic_id=one) for one in (known, unknown))
    )

    found, missing = (await wire.call(METADATA, version, request)).topics

    assert (found.error_code, found.name, found.topic_id) == (0, "b", known)
    assert (missing.error_code, missing.topic_id) == (100, unknown)
    assert missing.name == (None if version >= 12 else "")


async def test_what_a_client_may_do_is_told_when_it_asks(wire: Wire) -> None:
    plain = await wire.call(METADATA, 10, named("b"))
    asked = await wire.call(
        METADATA,
        10,
        named(
            "b",
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
    )

    assert plain.cluster_authorized_operations == NOT_ASKED_FOR
    assert plain.topics[0].topic_authorized_operations == NOT_ASKED_FOR
    assert asked.cluster_authorized_operations == EVERYTHING_ON_THE_CLUSTER
    assert asked.topics[0].topic_authorized_operations == EVERYTHING_ON_A_TOPIC


async def test_the_3_bytes_that_librdkafka_leaves_behind_all_topics_are_ignored(wire: Wire) -> None:
    """Its "all topics" of v9+ is a null list and flags, then what an empty list would have had."""
    header = RequestHeader(METADATA.key, 9, 77, "rdkafka")
    body = b"\0" + b"\1\0\0" + b"\0"
    wire.send_frame(encode_request_header(header, flexible=True) + body + b"\0\0\0")

    correlation_id, response = await wire.receive_with_id(METADATA, 9)

    assert correlation_id == 77
    assert [topic.name for topic in response.topics] == ["a", "b"]


async def test_a_huge_count_of_topics_costs_only_its_own_connection(wire: Wire) -> None:
    header = encode_request_header(RequestHeader(METADATA.key, 1, 1, None), flexible=False)
    wire.send_frame(header + pack(">i", 2**31 - 1))

    assert await wire.reader.read() == b""

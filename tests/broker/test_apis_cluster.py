"""DescribeCluster, DescribeTopicPartitions, FindCoordinator and what is said of transactions."""

import logging
from collections.abc import AsyncIterator

import pytest

from minibroker.config import Config
from minibroker.protocol.messages.find_coordinator import (
    FIND_COORDINATOR,
    FindCoordinatorRequest,
)
from minibroker.protocol.messages.metadata import (
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPIC_PARTITIONS,
    METADATA,
    Cursor,
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
    TopicRequest,
)
from minibroker.protocol.messages.producers import (
    DESCRIBE_PRODUCERS,
    INIT_PRODUCER_ID,
    DescribeProducersRequest,
    InitProducerIdRequest,
)
from minibroker.protocol.messages.producers import TopicRequest as ProducersOf
from minibroker.protocol.messages.transactions import (
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from minibroker.server import Server
from tests.wire import Wire, connected

GROUP, TRANSACTION = 0, 1


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A client of a broker with topics a (2 partitions), b (3) and c (1)."""
    config = Config.of(topics=["b:3", "a:2", "c"], advertised="broker:1234", broker_rack="r1")
    server = Server(config)
    await server.start()
    async with connected(f"127.0.0.1:{server.listeners[0].port}") as one:
        yield one
    await server.stop()


@pytest.mark.parametrize("version", range(3))
async def test_the_cluster_is_what_metadata_says(wire: Wire, version: int) -> None:
    known = await wire.call(METADATA, 12, MetadataRequest(topics=()))

    response = await wire.call(
        DESCRIBE_CLUSTER,
        version,
        DescribeClusterRequest(include_cluster_authorized_operations=False),
    )

    assert response.error_code == 0
    assert (response.cluster_id, response.controller_id) == (known.cluster_id, known.controller_id)
    (node,) = response.brokers
    assert (node.broker_id, node.host, node.port, node.rack) == (0, "broker", 1234, "r1")
    assert not node.is_fenced
    assert response.cluster_authorized_operations == -(1 << 31)


async def test_what_a_client_may_do_with_the_cluster_is_told_when_it_asks(wire: Wire) -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)

    response = await wire.call(DESCRIBE_CLUSTER, 0, request)

    assert response.cluster_authorized_operations == 8096  # Kafka 4.4's answer


@pytest.mark.parametrize(("endpoint_type", "error_code"), [(2, 114), (0, 115), (7, 115)])
async def test_there_are_no_other_endpoints_than_brokers(
    wire: Wire, endpoint_type: int, error_code: int
) -> None:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=endpoint_type
    )

    response = await wire.call(DESCRIBE_CLUSTER, 1, request)

    assert (response.error_code, response.brokers) == (error_code, ())
    assert str(endpoint_type) in (response.error_message or "")


async def partitions_of(
    wire: Wire, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=tuple(TopicRequest(name=name) for name in names),
        response_partition_limit=limit,
        cursor=Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None,
    )
    return await wire.call(DESCRIBE_TOPIC_PARTITIONS, 0, request)


def listed(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, int]]:
    return [
        (topic.name, partition.partition_index)
        for topic in response.topics
        for partition in topic.partitions
    ]


async def test_partitions_are_described_in_the_order_of_names(wire: Wire) -> None:
    response = await partitions_of(wire, "c", "nope", "bad name", "a", "a")

    assert [(one.name, one.error_code) for one in response.topics] == [
        ("a", 0),
        ("bad name", 17),
        ("c", 0),
        ("nope", 3),
    ]
    assert listed(response) == [("a", 0), ("a", 1), ("c", 0)]
    partition = response.topics[0].partitions[1]
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (0, (0,), (0,))
    assert response.topics[0].topic_authorized_operations == 3576
    assert response.next_cursor is None


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("names", [(), ("a", "b", "c")])
async def test_a_cursor_goes_through_everything_once(
    wire: Wire, limit: int, names: tuple[str, ...]
) -> None:
    seen: list[tuple[str | None, int]] = []
    cursor: tuple[str, int] | None = None
    while True:
        response = await partitions_of(wire, *names, limit=limit, cursor=cursor)
        page = listed(response)
        assert len(page) <= limit
        assert all(topic.partitions for topic in response.topics)
        seen += page
        if response.next_cursor is None:
            break
        following = (response.next_cursor.topic_name, response.next_cursor.partition_index)
        assert cursor is None or following > cursor
        cursor = following

    assert seen == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


async def test_a_limit_below_one_is_one(wire: Wire) -> None:
    response = await partitions_of(wire, "a", limit=0)

    assert listed(response) == [("a", 0)]
    assert response.next_cursor == Cursor(topic_name="a", partition_index=1)


@pytest.mark.parametrize("cursor", [("a", -1), ("b", 0), ("nope", 0)])
async def test_a_cursor_that_no_answer_gave_is_refused(wire: Wire, cursor: tuple[str, int]) -> None:
    response = await partitions_of(wire, "a", "c", cursor=cursor)

    assert [(one.name, one.error_code) for one in response.topics] == [("a", 42), ("c", 42)]


@pytest.mark.parametrize("version", range(4))
async def test_a_group_is_kept_at_the_address_of_the_clients_listener(
    wire: Wire, version: int
) -> None:
    found = await wire.call(FIND_COORDINATOR, version, FindCoordinatorRequest(key="g"))

    assert (found.error_code, found.node_id, found.host, found.port) == (0, 0, "broker", 1234)


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_several_coordinators_are_found_at_once(wire: Wire, version: int) -> None:
    request = FindCoordinatorRequest(coordinator_keys=("g", "h"))

    response = await wire.call(FIND_COORDINATOR, version, request)

    assert [
        (one.key, one.error_code, one.node_id, one.host, one.port) for one in response.coordinators
    ] == [("g", 0, 0, "broker", 1234), ("h", 0, 0, "broker", 1234)]


@pytest.mark.parametrize(
    ("key_type", "error_code", "told"),
    [(TRANSACTION, 53, "transactions are not supported"), (2, 42, "2"), (7, 42, "7")],
)
async def test_other_coordinators_there_are_none(
    wire: Wire, key_type: int, error_code: int, told: str
) -> None:
    one = await wire.call(FIND_COORDINATOR, 3, FindCoordinatorRequest(key="k", key_type=key_type))
    many = await wire.call(
        FIND_COORDINATOR, 6, FindCoordinatorRequest(coordinator_keys=("k",), key_type=key_type)
    )

    assert (one.error_code, one.node_id) == (error_code, -1)
    assert told in (one.error_message or "")
    (coordinator,) = many.coordinators
    assert (coordinator.key, coordinator.error_code, coordinator.node_id) == ("k", error_code, -1)
    assert told in (coordinator.error_message or "")


async def test_a_refused_producer_id_is_told_in_the_log(
    wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for transactional_id in ("tx", ""):
            request = InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=1
            )
            await wire.call(INIT_PRODUCER_ID, 4, request, client_id="me")

    first, second = (record.getMessage() for record in caplog.records)
    assert "'me'" in first
    assert "'tx'" in first
    assert "transactions are not supported" in first
    assert "'me'" in second
    assert "expected null" in second


async def test_producers_of_what_is_not_there_are_refused_for_each_partition(wire: Wire) -> None:
    asked = [("a", (0, 9, -1)), ("bad name", (0,)), ("nope", (0,))]
    request = DescribeProducersRequest(
        topics=tuple(ProducersOf(name=name, partition_indexes=indexes) for name, indexes in asked)
    )

    response = await wire.call(DESCRIBE_PRODUCERS, 0, request)

    partitions = [partition for topic in response.topics for partition in topic.partitions]
    assert [one.error_code for one in partitions] == [0, 3, 3, 17, 3]
    assert all(bool(one.error_message) == bool(one.error_code) for one in partitions)


@pytest.mark.parametrize("version", range(3))
async def test_there_are_no_transactions_and_unknown_states_are_named(
    wire: Wire, version: int
) -> None:
    request = ListTransactionsRequest(
        state_filters=("Ongoing", "ongoing", "PrepareEpochFence", "Nope"), producer_id_filters=()
    )

    response = await wire.call(LIST_TRANSACTIONS, version, request)

    assert (response.error_code, response.transaction_states) == (0, ())
    assert response.unknown_state_filters == ("ongoing", "Nope")


async def test_a_described_transaction_is_not_found(wire: Wire) -> None:
    request = DescribeTransactionsRequest(transactional_ids=("a", ""))

    response = await wire.call(DESCRIBE_TRANSACTIONS, 0, request)

    assert [(one.transactional_id, one.error_code) for one in response.transaction_states] == [
        ("a", 105),
        ("", 42),
    ]

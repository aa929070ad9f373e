"""CreateTopics, DeleteTopics and CreatePartitions, over a real socket."""

from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from minibroker import running
from minibroker.protocol.messages.metadata import METADATA, MetadataRequest
from minibroker.protocol.messages.topics import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from minibroker.protocol.types import ZERO_TOPIC_ID, TopicId
from tests.wire import Wire, connected


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A client of a broker without topics, whose topics get 3 partitions."""
    async with running(num_partitions=3) as broker, connected(broker.bootstrap) as one:
        yield one


def topic(
    name: str,
    partitions: int = 1,
    factor: int = 1,
    assigned: Sequence[tuple[int, tuple[int, ...]]] = (),
    configs: Sequence[tuple[str, str | None]] = (),
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=nodes)
            for index, nodes in assigned
        ),
        configs=tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs),
    )


async def create(
    wire: Wire, *topics: CreatableTopic, version: int = 7, validate_only: bool = False
) -> dict[str, CreatableTopicResult]:
    request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
    response = await wire.call(CREATE_TOPICS, version, request)
    assert len({result.name for result in response.topics}) == len(response.topics)
    return {result.name: result for result in response.topics}


async def existing(wire: Wire) -> Mapping[str, tuple[int, TopicId]]:
    """Each topic's number of partitions and its id."""
    response = await wire.call(METADATA, 13, MetadataRequest(topics=None))
    return {one.name or "": (len(one.partitions), one.topic_id) for one in response.topics}


async def delete(
    wire: Wire, *states: tuple[str | None, TopicId], version: int = 6
) -> list[DeletableTopicResult]:
    request = DeleteTopicsRequest(
        timeout_ms=1000,
        topics=tuple(DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in states),
        topic_names=tuple(name or "" for name, _ in states),
    )
    return list((await wire.call(DELETE_TOPICS, version, request)).responses)


async def grow(
    wire: Wire,
    *topics: tuple[str, int, Sequence[tuple[int, ...]] | None],
    validate_only: bool = False,
) -> dict[str, CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(
        topics=tuple(
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if assigned is None
                else tuple(CreatePartitionsAssignment(broker_ids=nodes) for nodes in assigned),
            )
            for name, count, assigned in topics
        ),
        timeout_ms=1000,
        validate_only=validate_only,
    )
    return {one.name: one for one in (await wire.call(CREATE_PARTITIONS, 3, request)).results}


@pytest.mark.parametrize("version", range(2, 8))
async def test_a_topic_is_created_in_every_version(wire: Wire, version: int) -> None:
    result = (await create(wire, topic("t", 2), version=version))["t"]

    assert (result.error_code, result.error_message) == (0, None)
    partitions, topic_id = (await existing(wire))["t"]
    assert partitions == 2
    assert result.topic_id == (topic_id if version >= 7 else ZERO_TOPIC_ID)


async def test_defaults_are_taken_and_told_with_the_configs(wire: Wire) -> None:
    result = (await create(wire, topic("t", -1, -1, configs=[("retention.ms", " 5 ")])))["t"]

    assert (result.num_partitions, result.replication_factor) == (3, 1)
    configs = {one.name: one for one in result.configs or ()}
    assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("5", 1)
    assert (configs["cleanup.policy"].value, configs["cleanup.policy"].config_source) == (
        "delete",
        5,
    )
    assert (await existing(wire))["t"][0] == 3


async def test_validate_only_says_what_would_happen_and_creates_nothing(wire: Wire) -> None:
    results = await create(wire, topic("t"), topic("bad name"), validate_only=True)

    assert [results[name].error_code for name in ("t", "bad name")] == [0, 17]
    assert results["t"].num_partitions == 1
    assert await existing(wire) == {}


@pytest.mark.parametrize(
    ("wanted", "error_code", "told"),
    [
        (topic("bad name"), 17, "'bad name'"),
        (topic(""), 17, "empty"),
        (topic("n" * 250), 17, "249"),
        (topic("there"), 36, "'there'"),
        (topic("a_b"), 17, "'a.b'"),
        (topic("t", 0), 37, "0"),
        (topic("t", -2), 37, "-2"),
        (topic("t", 1, 0), 38, "0"),
        (topic("t", 1, 2), 38, "minibroker.max.replication.factor"),
        (topic("t", 1, -2), 38, "-2"),
        (topic("t", 10_001), 44, "10000"),
        (topic("t", 2**31 - 1), 44, "10000"),
        (topic("t", configs=[("nope", "1")]), 40, "nope"),
        (topic("t", configs=[("retention.ms", "x")]), 40, "retention.ms"),
        (topic("t", configs=[("retention.ms", None)]), 40, "retention.ms"),
        (topic("t", 1, -1, assigned=[(0, (0,))]), 42, "-1"),
        (topic("t", -1, 1, assigned=[(0, (0,))]), 42, "-1"),
        (topic("t", -1, -1, assigned=[(0, (1,))]), 39, "[1]"),
        (topic("t", -1, -1, assigned=[(0, ())]), 39, "[]"),
        (topic("t", -1, -1, assigned=[(0, (0, 0))]), 39, "[0, 0]"),
        (topic("t", -1, -1, assigned=[(0, (0,)), (2, (0,))]), 39, "[0, 2]"),
        (topic("t", -1, -1, assigned=[(0, (0,)), (0, (0,))]), 39, "[0, 0]"),
    ],
)
async def test_what_cannot_be_created_is_refused_with_the_reason(
    wire: Wire, wanted: CreatableTopic, error_code: int, told: str
) -> None:
    await create(wire, topic("there"), topic("a.b"))
    before = await existing(wire)

    result = (await create(wire, wanted))[wanted.name]

    assert result.error_code == error_code
    assert told in (result.error_message or "")
    assert await existing(wire) == before


async def test_a_topic_named_twice_is_refused_and_others_are_created(wire: Wire) -> None:
    results = await create(wire, topic("twice", 1), topic("once"), topic("twice", 2))

    assert {name: one.error_code for name, one in results.items()} == {"twice": 42, "once": 0}
    assert set(await existing(wire)) == {"once"}


async def test_the_partitions_of_a_request_are_bounded_together(wire: Wire) -> None:
    results = await create(wire, topic("a", 5000), topic("b", 5001))

    assert [one.error_code for one in results.values()] == [44, 44]
    assert await existing(wire) == {}


async def test_partitions_may_be_assigned_to_the_one_node(wire: Wire) -> None:
    result = (await create(wire, topic("t", -1, -1, assigned=[(1, (0,)), (0, (0,))])))["t"]

    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 1)


async def test_a_larger_replication_factor_is_accepted_where_the_broker_is_told_so() -> None:
    accepts = running(minibroker_max_replication_factor=3)
    async with accepts as broker, connected(broker.bootstrap) as one:
        results = await create(one, topic("three", 1, 3), topic("four", 1, 4))
        response = await one.call(METADATA, 13, MetadataRequest(topics=None))

    assert [results[name].error_code for name in ("three", "four")] == [0, 38]
    assert results["three"].replication_factor == 1
    assert [one.name for one in response.topics] == ["three"]
    assert response.topics[0].partitions[0].replica_nodes == (0,)


@pytest.mark.parametrize("version", range(1, 7))
async def test_topics_are_deleted_by_name_in_every_version(wire: Wire, version: int) -> None:
    await create(wire, topic("t"), topic("kept"))

    results = await delete(wire, ("t", ZERO_TOPIC_ID), ("nope", ZERO_TOPIC_ID), version=version)

    assert [(one.name, one.error_code) for one in results] == [("t", 0), ("nope", 3)]
    assert set(await existing(wire)) == {"kept"}


async def test_topics_are_deleted_by_id_and_an_unknown_id_is_100(wire: Wire) -> None:
    topic_id = (await create(wire, topic("t")))["t"].topic_id

    found, unknown = await delete(wire, (None, topic_id), (None, TopicId(b"\7" * 16)))

    assert (found.name, found.topic_id, found.error_code) == ("t", topic_id, 0)
    assert (unknown.name, unknown.error_code) == (None, 100)
    assert await existing(wire) == {}


@pytest.mark.parametrize(
    "states", [("name", "name"), ("id", "id"), ("name", "id"), ("both",), ("neither",)]
)
async def test_a_topic_is_named_once_by_its_name_or_by_its_id(
    wire: Wire, states: Sequence[str]
) -> None:
    topic_id = (await create(wire, topic("t")))["t"].topic_id
    kinds: dict[str, tuple[str | None, TopicId]] = {
        "name": ("t", ZERO_TOPIC_ID),
        "id": (None, topic_id),
        "both": ("t", topic_id),
        "neither": (None, ZERO_TOPIC_ID),
    }

    results = await delete(wire, *(kinds[state] for state in states))

    assert [one.error_code for one in results] == [42]
    assert results[0].error_message
    assert set(await existing(wire)) == {"t"}


@pytest.mark.parametrize(("version", "error_code"), [(1, 42), (2, 42), (3, 73), (6, 73)])
async def test_deletion_may_be_forbidden(version: int, error_code: int) -> None:
    forbids = running(topic="t", delete_topic_enable=False)
    async with forbids as broker, connected(broker.bootstrap) as one:
        results = await delete(one, ("t", ZERO_TOPIC_ID), version=version)

        assert [result.error_code for result in results] == [error_code]
        assert set(await existing(one)) == {"t"}


async def test_partitions_are_added_and_every_topic_is_in_the_answer(wire: Wire) -> None:
    await create(wire, topic("a", 2), topic("b", 2), topic("c", 2))

    results = await grow(wire, ("a", 4, None), ("b", 3, [(0,)]), ("c", 2, None), ("nope", 3, None))

    assert {name: one.error_code for name, one in results.items()} == {
        "a": 0,
        "b": 0,
        "c": 37,
        "nope": 3,
    }
    assert {name: count for name, (count, _) in (await existing(wire)).items()} == {
        "a": 4,
        "b": 3,
        "c": 2,
    }


@pytest.mark.parametrize(
    ("count", "assigned", "error_code"),
    [
        (2, None, 37),
        (1, None, 37),
        (0, None, 37),
        (-1, None, 37),
        (10_003, None, 44),
        (3, [], 39),
        (3, [(0,), (0,)], 39),
        (3, [(1,)], 39),
        (3, [()], 39),
        (3, [(0, 0)], 39),
    ],
)
async def test_what_cannot_be_added_is_refused_with_the_reason(
    wire: Wire, count: int, assigned: Sequence[tuple[int, ...]] | None, error_code: int
) -> None:
    await create(wire, topic("t", 2))

    result = (await grow(wire, ("t", count, assigned)))["t"]

    assert result.error_code == error_code
    assert result.error_message
    assert (await existing(wire))["t"][0] == 2


async def test_adding_may_be_tried_without_doing_it(wire: Wire) -> None:
    await create(wire, topic("t", 2))

    result = (await grow(wire, ("t", 3, None), validate_only=True))["t"]

    assert result.error_code == 0
    assert (await existing(wire))["t"][0] == 2


async def test_a_topic_to_grow_is_named_once(wire: Wire) -> None:
    await create(wire, topic("t", 2))

    result = (await grow(wire, ("t", 3, None), ("t", 4, None)))["t"]

    assert result.error_code == 42
    assert (await existing(wire))["t"][0] == 2

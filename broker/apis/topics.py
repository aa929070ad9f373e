"""CreateTopics (19), v2-v7; DeleteTopics (20), v1-v6; CreatePartitions (37), v0-v3.

One node: a replication factor above 1 is 38, unless minibroker.max.replication.factor allows it;
then it is accepted and one replica is kept. -1 means the broker's default (v4, KIP-464). v5
(KIP-525) tells what was created, configs included; v6 of DeleteTopics and v7 of CreateTopics
(KIP-516) know topic ids. A topic that is named twice in one request is 42 and nothing happens to
it. Configs that are unknown, wrong or null are 40; of one that comes twice the last counts. As on
Kafka, a request for more than 10,000 partitions is 44. With delete.topic.enable=false DeleteTopics
is 73, before v3 42.
"""

from collections import Counter
from collections.abc import Callable

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.topics import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from minibroker.protocol.types import ZERO_TOPIC_ID, TopicId
from minibroker.storage.catalog import Topic
from minibroker.storage.settings import InvalidConfig
from minibroker.storage.topic_config import describe, validate
from minibroker.storage.topic_names import name_problem

from ..client import Call
from ..registry import serve
from .refusal import RefusedError

DEFAULT = -1
ONE_REPLICA = 1
MAX_NEW_PARTITIONS = 10_000
"""Of one request, as in Kafka: a number with a typing mistake must not eat the memory."""
TOPIC_DELETION_DISABLED_SINCE = 3


def create_topics(request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    """Create each topic, or say why not."""
    counts = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    new_partitions = sum(
        max(1, topic.num_partitions, len(topic.assignments)) for topic in request.topics
    )

    def check(topic: CreatableTopic) -> None:
        _check_named_once(topic.name, counts)
        _check_total(new_partitions)
        _check_name(topic.name, call)

    return CreateTopicsResponse(
        topics=tuple(
            _create(topic, check, request.validate_only, call) for topic in wanted.values()
        )
    )


def _create(
    wanted: CreatableTopic,
    check: Callable[[CreatableTopic], None],
    validate_only: bool,
    call: Call,
) -> CreatableTopicResult:
    try:
        check(wanted)
        partitions = _partitions_of(wanted, call)
        _check_replication_factor(wanted, call)
        overrides = _overrides_of(wanted)
        call.services.catalog.resolve(overrides)
    except RefusedError as refusal:
        return CreatableTopicResult(
            name=wanted.name, error_code=refusal.error_code, error_message=str(refusal)
        )
    except InvalidConfig as error:
        return CreatableTopicResult(
            name=wanted.name, error_code=ErrorCode.INVALID_CONFIG, error_message=str(error)
        )
    topic_id = ZERO_TOPIC_ID
    if not validate_only:
        topic_id = call.services.catalog.create(wanted.name, partitions, overrides).topic_id
    return CreatableTopicResult(
        name=wanted.name,
        topic_id=topic_id,
        num_partitions=partitions,
        replication_factor=ONE_REPLICA,
        configs=_described(overrides, call),
    )


def _check_named_once(name: str, counts: Counter[str]) -> None:
    if counts[name] > 1:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"topic {name!r} is named {counts[name]} times"
        )


def _check_total(new_partitions: int) -> None:
    if new_partitions > MAX_NEW_PARTITIONS:
        raise RefusedError(
            ErrorCode.POLICY_VIOLATION,
            f"expected at most {MAX_NEW_PARTITIONS} new partitions in one request,"
            f" got {new_partitions}",
        )


def _check_name(name: str, call: Call) -> None:
    catalog = call.services.catalog
    if problem := name_problem(name):
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)
    if catalog.find(name):
        raise RefusedError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name!r} already exists")
    if other := catalog.colliding(name):
        raise RefusedError(
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic {name!r} collides with {other!r}: '.' and '_' are the same in metric names",
        )


def _partitions_of(wanted: CreatableTopic, call: Call) -> int:
    if wanted.assignments:
        if wanted.num_partitions != DEFAULT or wanted.replication_factor != DEFAULT:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                "expected -1 for partitions and replication factor beside manual assignments",
            )
        _check_assignments(wanted, call)
        return len(wanted.assignments)
    if wanted.num_partitions == DEFAULT:
        return call.services.config.num_partitions
    if wanted.num_partitions < 1:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"expected 1 partition or more, or -1 for the default, got {wanted.num_partitions}",
        )
    return wanted.num_partitions


def _check_assignments(wanted: CreatableTopic, call: Call) -> None:
    node = (call.services.config.node_id,)
    indexes = sorted(assignment.partition_index for assignment in wanted.assignments)
    if indexes != list(range(len(indexes))):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"expected an assignment for each partition from 0 on, got {indexes}",
        )
    for assignment in wanted.assignments:
        if assignment.broker_ids != node:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"expected node {node[0]}, the only one, got {list(assignment.broker_ids)}",
            )


def _check_replication_factor(wanted: CreatableTopic, call: Call) -> None:
    factor, largest = wanted.replication_factor, call.services.config.max_replication_factor
    if factor != DEFAULT and not 0 < factor <= largest:
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"expected a replication factor of 1 to {largest}, or -1, got {factor}: there is one"
            " broker (minibroker.max.replication.factor accepts more)",
        )


def _overrides_of(wanted: CreatableTopic) -> dict[str, str]:
    overrides: dict[str, str] = {}
    for config in wanted.configs:
        if config.value is None:
            raise RefusedError(
                ErrorCode.INVALID_CONFIG, f"expected a value for {config.name!r}, got null"
            )
        overrides[config.name] = validate(config.name, config.value)
    return overrides


def _described(overrides: dict[str, str], call: Call) -> tuple[CreatableTopicConfigs, ...]:
    return tuple(
        CreatableTopicConfigs(
            name=entry.name,
            value=entry.value,
            read_only=False,
            config_source=entry.source,
            is_sensitive=False,
        )
        for entry in describe(overrides, call.services.config.broker_defaults)
    )


def delete_topics(request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    """Delete each topic, by name or (v6) by id."""
    states = request.topics or tuple(
        DeleteTopicState(name=name, topic_id=ZERO_TOPIC_ID) for name in request.topic_names
    )
    counts = Counter(_same_topic(state, call) for state in states)
    wanted = {_same_topic(state, call): state for state in states}
    return DeleteTopicsResponse(
        responses=tuple(_delete(state, counts[same], call) for same, state in wanted.items())
    )


def _same_topic(state: DeleteTopicState, call: Call) -> tuple[str | None, TopicId]:
    """Equal for a topic's name and its id, so that nothing is deleted twice."""
    topic = call.services.catalog.find(state.name) if state.name else None
    if topic and state.topic_id == ZERO_TOPIC_ID:
        return None, topic.topic_id
    return state.name, state.topic_id


def _delete(state: DeleteTopicState, count: int, call: Call) -> DeletableTopicResult:
    try:
        topic = _to_delete(state, count, call)
    except RefusedError as refusal:
        return DeletableTopicResult(
            name=state.name,
            topic_id=state.topic_id,
            error_code=refusal.error_code,
            error_message=str(refusal),
        )
    call.services.catalog.delete(topic)
    return DeletableTopicResult(name=topic.name, topic_id=topic.topic_id)


def _to_delete(state: DeleteTopicState, count: int, call: Call) -> Topic:
    if not call.services.config.deletes_topics:
        is_known = call.api_version >= TOPIC_DELETION_DISABLED_SINCE
        raise RefusedError(
            ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST,
            "delete.topic.enable is false",
        )
    has_id = state.topic_id != ZERO_TOPIC_ID
    if count > 1 or (state.name is not None) == has_id:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, "expected each topic once, by its name or by its id"
        )
    if state.name is not None:
        return _existing(state.name, call)
    topic = call.services.catalog.find_by_id(state.topic_id)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
    return topic


def _existing(name: str, call: Call) -> Topic:
    topic = call.services.catalog.find(name)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
    return topic


def create_partitions(request: CreatePartitionsRequest, call: Call) -> CreatePartitionsResponse:
    """Raise the number of partitions of each topic."""
    counts = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    new_partitions = sum(_new_partitions(topic, call) for topic in request.topics)
    results = []
    for name, topic in wanted.items():
        try:
            _check_named_once(name, counts)
            _check_total(new_partitions)
            existing = _to_grow(topic, call)
        except RefusedError as refusal:
            result = CreatePartitionsTopicResult(
                name=name, error_code=refusal.error_code, error_message=str(refusal)
            )
        else:
            result = CreatePartitionsTopicResult(name=name)
            if not request.validate_only:
                call.services.catalog.add_partitions(existing, topic.count)
        results.append(result)
    return CreatePartitionsResponse(results=tuple(results))


def _new_partitions(wanted: CreatePartitionsTopic, call: Call) -> int:
    topic = call.services.catalog.find(wanted.name)
    return max(0, wanted.count - len(topic.partitions)) if topic else 0


def _to_grow(wanted: CreatePartitionsTopic, call: Call) -> Topic:
    topic = _existing(wanted.name, call)
    present = len(topic.partitions)
    if wanted.count <= present:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {wanted.name!r} has {present} partitions: expected {present + 1} or more,"
            f" got {wanted.count}",
        )
    added = wanted.count - present
    node = (call.services.config.node_id,)
    if wanted.assignments is not None and (
        len(wanted.assignments) != added
        or any(assignment.broker_ids != node for assignment in wanted.assignments)
    ):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"expected {added} assignments to node {node[0]}, the only one",
        )
    return topic


APIS = (
    serve(CREATE_TOPICS, create_topics),
    serve(DELETE_TOPICS, delete_topics),
    serve(CREATE_PARTITIONS, create_partitions),
)

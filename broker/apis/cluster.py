"""DescribeCluster (60), v0-v2, and DescribeTopicPartitions (75), v0 (KIP-966).

One broker, never fenced, at the advertised address of the listener that the client came in by. v1
(KIP-919) asks for brokers or for controllers: there is no controller's endpoint here, 114.
DescribeTopicPartitions goes on from a cursor, names in order; no names means every topic. A cursor
that no earlier answer can have given is 42.
"""

from collections.abc import Iterator

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.metadata import (
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPIC_PARTITIONS,
    Cursor,
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.storage.catalog import Topic
from minibroker.storage.partition import Partition
from minibroker.storage.topic_names import name_problem

from ..client import Call
from ..registry import serve
from .authorized_operations import NOT_ASKED_FOR, ON_CLUSTER, ON_TOPIC

BROKERS, CONTROLLERS = 1, 2
MAX_PARTITIONS_A_RESPONSE = 2000
"""Kafka's max.request.partition.size.limit."""


def describe_cluster(request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    """The one broker."""
    services, listener = call.services, call.client.listener
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=(
                ErrorCode.MISMATCHED_ENDPOINT_TYPE
                if request.endpoint_type == CONTROLLERS
                else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            ),
            error_message=f"expected endpoint type 1 (brokers), got {request.endpoint_type}",
            cluster_id="",
            brokers=(),
        )
    asks_for_operations = request.include_cluster_authorized_operations
    return DescribeClusterResponse(
        cluster_id=services.cluster_id,
        controller_id=services.config.node_id,
        brokers=(
            DescribeClusterBroker(
                broker_id=services.config.node_id,
                host=listener.advertised_host,
                port=listener.advertised_port,
                rack=services.config.rack,
            ),
        ),
        cluster_authorized_operations=ON_CLUSTER if asks_for_operations else NOT_ASKED_FOR,
    )


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    """Topics with their partitions, up to a limit, and where to go on."""
    catalog = call.services.catalog
    names = sorted({topic.name for topic in request.topics}) or [
        topic.name for topic in catalog.topics()
    ]
    start = request.cursor or Cursor(topic_name="", partition_index=0)
    if request.topics and request.cursor and not _is_possible(request.cursor, names):
        return DescribeTopicPartitionsResponse(
            topics=tuple(_missing(name, ErrorCode.INVALID_REQUEST) for name in names)
        )
    left = max(1, min(request.response_partition_limit, MAX_PARTITIONS_A_RESPONSE))
    answers: list[DescribeTopicPartitionsResponseTopic] = []
    for name in names:
        if name < start.topic_name:
            continue
        if left == 0:
            return DescribeTopicPartitionsResponse(
                topics=tuple(answers), next_cursor=Cursor(topic_name=name, partition_index=0)
            )
        topic = catalog.find(name)
        if topic is None:
            if name != start.topic_name or request.topics:
                answers.append(_missing(name, _why_missing(name)))
            continue
        first = max(0, start.partition_index) if name == start.topic_name else 0
        partitions = topic.partitions[first : first + left]
        left -= len(partitions)
        answers.append(_described(topic, partitions, call))
        if first + len(partitions) < len(topic.partitions):
            cursor = Cursor(topic_name=name, partition_index=first + len(partitions))
            return DescribeTopicPartitionsResponse(topics=tuple(answers), next_cursor=cursor)
    return DescribeTopicPartitionsResponse(topics=tuple(answers))


def _is_possible(cursor: Cursor, names: list[str]) -> bool:
    return cursor.partition_index >= 0 and cursor.topic_name in names


def _why_missing(name: str) -> ErrorCode:
    if name_problem(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _missing(name: str, error_code: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error_code,
        name=name,
        topic_id=ZERO_TOPIC_ID,
        partitions=(),
        topic_authorized_operations=ON_TOPIC,
    )


def _described(
    topic: Topic, partitions: list[Partition], call: Call
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partitions(partitions, call.services.config.node_id)),
        topic_authorized_operations=ON_TOPIC,
    )


def _partitions(
    partitions: list[Partition], node_id: int
) -> Iterator[DescribeTopicPartitionsResponsePartition]:
    for partition in partitions:
        yield DescribeTopicPartitionsResponsePartition(
            partition_index=partition.index,
            leader_id=node_id,
            leader_epoch=partition.log.leader_epoch,
            replica_nodes=(node_id,),
            isr_nodes=(node_id,),
            eligible_leader_replicas=(),
            last_known_elr=(),
            offline_replicas=(),
        )


APIS = (
    serve(DESCRIBE_CLUSTER, describe_cluster),
    serve(DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions),
)

"""DescribeCluster (60), v0-v2, and DescribeTopicPartitions (75), v0 (KIP-966).

One broker, never fenced, at the advertised address of the listener that the client came in by. v1
(KIP-919) asks for brokers or for controllers: clients cannot talk to a controller here, 115.
DescribeTopicPartitions goes on from a cursor, names in order; no names means every topic.
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

BROKERS = 1
MAX_PARTITIONS_A_RESPONSE = 2000
"""Kafka's max.request.partition.size.limit."""


def describe_cluster(request: DescribeClusterRequest, call: Call) -> DescribeClusterResponse:
    """The one broker."""
    services, listener = call.services, call.client.listener
    if request.endpoint_type != BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=f"expected endpoint type 1 (brokers), got {request.endpoint_type}",
            endpoint_type=request.endpoint_type,
            cluster_id="",
            brokers=(),
        )
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
                answers.append(_missing(name))
            continue
        first = max(0, start.partition_index) if name == start.topic_name else 0
        partitions = topic.partitions[first : first + left]
        left -= len(partitions)
        answers.append(_described(topic, partitions, call))
        if first + len(partitions) < len(topic.partitions):
            cursor = Cursor(topic_name=name, partition_index=first + len(partitions))
            return DescribeTopicPartitionsResponse(topics=tuple(answers), next_cursor=cursor)
    return DescribeTopicPartitionsResponse(topics=tuple(answers))


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    problem = name_problem(name)
    return DescribeTopicPartitionsResponseTopic(
        error_code=(
            ErrorCode.INVALID_TOPIC_EXCEPTION if problem else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ),
        name=name,
        topic_id=ZERO_TOPIC_ID,
        partitions=(),
    )


def _described(
    topic: Topic, partitions: list[Partition], call: Call
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=tuple(_partitions(partitions, call.services.config.node_id)),
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

"""Who and what is there: Metadata (3), DescribeTopicPartitions (75), DescribeCluster (60).

Follows Kafka 4.4's Metadata{Request,Response}.json,
DescribeTopicPartitions{Request,Response}.json, DescribeCluster{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import (
    ZERO_TOPIC_ID,
    Int8,
    Int16,
    Int32,
    Message,
    Uuid,
    nullable_since,
    since,
    until,
)


class MetadataRequestTopic(Message, kw_only=True):
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID  # KIP-516
    name: Annotated[str | None, nullable_since(10)]


class MetadataRequest(Message, kw_only=True):
    """A null for topics asks for all of them; so does an empty array in version 0."""

    topics: Annotated[tuple[MetadataRequestTopic, ...] | None, nullable_since(1)]
    allow_auto_topic_creation: Annotated[bool, since(4)] = True
    include_cluster_authorized_operations: Annotated[bool, since(8), until(10)] = False
    include_topic_authorized_operations: Annotated[bool, since(8)] = False  # KIP-430


class MetadataResponseBroker(Message, kw_only=True):
    node_id: Int32
    host: str
    port: Int32
    rack: Annotated[str | None, since(1)] = None


class MetadataResponsePartition(Message, kw_only=True):
    error_code: Int16 = 0
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Annotated[Int32, since(7)] = -1  # KIP-320
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]
    offline_replicas: Annotated[tuple[Int32, ...], since(5)] = ()  # KIP-112


class MetadataResponseTopic(Message, kw_only=True):
    error_code: Int16 = 0
    name: Annotated[str | None, nullable_since(12)]
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID  # KIP-516
    is_internal: Annotated[bool, since(1)] = False
    partitions: tuple[MetadataResponsePartition, ...]
    topic_authorized_operations: Annotated[Int32, since(8)] = -(1 << 31)


class MetadataResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    brokers: tuple[MetadataResponseBroker, ...]
    cluster_id: Annotated[str | None, since(2)] = None  # KIP-78
    controller_id: Annotated[Int32, since(1)] = -1
    topics: tuple[MetadataResponseTopic, ...]
    cluster_authorized_operations: Annotated[Int32, since(8), until(10)] = -(1 << 31)
    error_code: Annotated[Int16, since(13)] = 0  # KIP-1102


METADATA = ApiSchema(
    key=3,
    name="Metadata",
    oldest=0,
    newest=13,
    flexible_since=9,
    request=MetadataRequest,
    response=MetadataResponse,
)


class TopicRequest(Message, kw_only=True):
    name: str


class Cursor(Message, kw_only=True):
    topic_name: str
    partition_index: Int32


class DescribeTopicPartitionsRequest(Message, kw_only=True):
    topics: tuple[TopicRequest, ...]
    response_partition_limit: Int32 = 2000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponsePartition(Message, kw_only=True):
    error_code: Int16 = 0
    partition_index: Int32
    leader_id: Int32
    leader_epoch: Int32 = -1
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]
    eligible_leader_replicas: tuple[Int32, ...] | None = None
    last_known_elr: tuple[Int32, ...] | None = None
    offline_replicas: tuple[Int32, ...]


class DescribeTopicPartitionsResponseTopic(Message, kw_only=True):
    error_code: Int16 = 0
    name: str | None
    topic_id: Uuid
    is_internal: bool = False
    partitions: tuple[DescribeTopicPartitionsResponsePartition, ...]
    topic_authorized_operations: Int32 = -(1 << 31)


class DescribeTopicPartitionsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    topics: tuple[DescribeTopicPartitionsResponseTopic, ...]
    next_cursor: Cursor | None = None


DESCRIBE_TOPIC_PARTITIONS = ApiSchema(
    key=75,
    name="DescribeTopicPartitions",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=DescribeTopicPartitionsRequest,
    response=DescribeTopicPartitionsResponse,
)


class DescribeClusterRequest(Message, kw_only=True):
    include_cluster_authorized_operations: bool
    endpoint_type: Annotated[Int8, since(1)] = 1  # KIP-919
    include_fenced_brokers: Annotated[bool, since(2)] = False  # KIP-1073


class DescribeClusterBroker(Message, kw_only=True):
    broker_id: Int32
    host: str
    port: Int32
    rack: str | None = None
    is_fenced: Annotated[bool, since(2)] = False  # KIP-1073


class DescribeClusterResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    endpoint_type: Annotated[Int8, since(1)] = 1  # KIP-919
    cluster_id: str
    controller_id: Int32 = -1
    brokers: tuple[DescribeClusterBroker, ...]
    cluster_authorized_operations: Int32 = -(1 << 31)


DESCRIBE_CLUSTER = ApiSchema(
    key=60,
    name="DescribeCluster",
    oldest=0,
    newest=2,
    flexible_since=0,
    request=DescribeClusterRequest,
    response=DescribeClusterResponse,
)

"""The new consumer groups (KIP-848): ConsumerGroupHeartbeat (68), ConsumerGroupDescribe (69).

Follows Kafka 4.4's ConsumerGroupHeartbeat{Request,Response}.json,
ConsumerGroupDescribe{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message, Uuid, since


class TopicPartitions(Message, kw_only=True):
    topic_id: Uuid
    partitions: tuple[Int32, ...]


class ConsumerGroupHeartbeatRequest(Message, kw_only=True):
    group_id: str
    member_id: str
    member_epoch: Int32  # 0 joins, -1 leaves, -2 leaves but stays a static member
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: Annotated[str | None, since(1)] = None  # KIP-848
    server_assignor: str | None = None
    topic_partitions: tuple[TopicPartitions, ...] | None = None


class Assignment(Message, kw_only=True):
    topic_partitions: tuple[TopicPartitions, ...]


class ConsumerGroupHeartbeatResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32
    heartbeat_interval_ms: Int32
    assignment: Assignment | None = None


CONSUMER_GROUP_HEARTBEAT = ApiSchema(
    key=68,
    name="ConsumerGroupHeartbeat",
    oldest=0,
    newest=1,
    flexible_since=0,
    request=ConsumerGroupHeartbeatRequest,
    response=ConsumerGroupHeartbeatResponse,
)


class ConsumerGroupDescribeRequest(Message, kw_only=True):
    group_ids: tuple[str, ...]
    include_authorized_operations: bool


class DescribedTopicPartitions(Message, kw_only=True):
    topic_id: Uuid
    topic_name: str
    partitions: tuple[Int32, ...]


class DescribedAssignment(Message, kw_only=True):
    topic_partitions: tuple[DescribedTopicPartitions, ...]


class Member(Message, kw_only=True):
    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None = None
    assignment: DescribedAssignment
    target_assignment: DescribedAssignment
    member_type: Annotated[Int8, since(1)] = -1


class DescribedGroup(Message, kw_only=True):
    error_code: Int16 = 0
    error_message: str | None = None
    group_id: str
    group_state: str
    group_epoch: Int32
    assignment_epoch: Int32
    assignor_name: str
    members: tuple[Member, ...]
    authorized_operations: Int32 = -(1 << 31)


class ConsumerGroupDescribeResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    groups: tuple[DescribedGroup, ...]


CONSUMER_GROUP_DESCRIBE = ApiSchema(
    key=69,
    name="ConsumerGroupDescribe",
    oldest=0,
    newest=1,
    flexible_since=0,
    request=ConsumerGroupDescribeRequest,
    response=ConsumerGroupDescribeResponse,
)

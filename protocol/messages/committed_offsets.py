"""A group's offsets: OffsetCommit (8), OffsetFetch (9), OffsetDelete (47).

Follows Kafka 4.4's OffsetCommit{Request,Response}.json, OffsetFetch{Request,Response}.json,
OffsetDelete{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import (
    ZERO_TOPIC_ID,
    Int16,
    Int32,
    Int64,
    Message,
    Uuid,
    nullable_since,
    since,
    until,
)


class OffsetCommitRequestPartition(Message, kw_only=True):
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Annotated[Int32, since(6)] = -1
    committed_metadata: str | None


class OffsetCommitRequestTopic(Message, kw_only=True):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID  # KIP-848
    partitions: tuple[OffsetCommitRequestPartition, ...]


class OffsetCommitRequest(Message, kw_only=True):
    group_id: str
    generation_id_or_member_epoch: Int32 = -1  # -1: not a member
    member_id: str
    group_instance_id: Annotated[str | None, since(7)] = None  # KIP-345
    retention_time_ms: Annotated[Int64, until(4)] = -1
    topics: tuple[OffsetCommitRequestTopic, ...]


class OffsetCommitResponsePartition(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0


class OffsetCommitResponseTopic(Message, kw_only=True):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID
    partitions: tuple[OffsetCommitResponsePartition, ...]


class OffsetCommitResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: tuple[OffsetCommitResponseTopic, ...]


OFFSET_COMMIT = ApiSchema(
    key=8,
    name="OffsetCommit",
    oldest=2,
    newest=10,
    flexible_since=8,
    request=OffsetCommitRequest,
    response=OffsetCommitResponse,
)


class OffsetFetchRequestTopic(Message, kw_only=True):
    name: str
    partition_indexes: tuple[Int32, ...]


class OffsetFetchRequestTopics(Message, kw_only=True):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID
    partition_indexes: tuple[Int32, ...]


class OffsetFetchRequestGroup(Message, kw_only=True):
    group_id: str
    member_id: Annotated[str | None, since(9)] = None
    member_epoch: Annotated[Int32, since(9)] = -1
    topics: tuple[OffsetFetchRequestTopics, ...] | None


class OffsetFetchRequest(Message, kw_only=True):
    group_id: Annotated[str, until(7)] = ""
    topics: Annotated[tuple[OffsetFetchRequestTopic, ...] | None, until(7), nullable_since(2)] = ()
    groups: Annotated[tuple[OffsetFetchRequestGroup, ...], since(8)] = ()  # KIP-709
    require_stable: Annotated[bool, since(7)] = False  # KIP-447


class OffsetFetchResponsePartition(Message, kw_only=True):
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Annotated[Int32, since(5)] = -1
    metadata: str | None
    error_code: Int16 = 0


class OffsetFetchResponseTopic(Message, kw_only=True):
    name: str
    partitions: tuple[OffsetFetchResponsePartition, ...]


class OffsetFetchResponsePartitions(Message, kw_only=True):
    partition_index: Int32
    committed_offset: Int64
    committed_leader_epoch: Int32 = -1
    metadata: str | None
    error_code: Int16 = 0


class OffsetFetchResponseTopics(Message, kw_only=True):
    name: Annotated[str, until(9)] = ""
    topic_id: Annotated[Uuid, since(10)] = ZERO_TOPIC_ID
    partitions: tuple[OffsetFetchResponsePartitions, ...]


class OffsetFetchResponseGroup(Message, kw_only=True):
    group_id: str
    topics: tuple[OffsetFetchResponseTopics, ...]
    error_code: Int16 = 0


class OffsetFetchResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(3)] = 0
    topics: Annotated[tuple[OffsetFetchResponseTopic, ...], until(7)] = ()
    error_code: Annotated[Int16, since(2), until(7)] = 0
    groups: Annotated[tuple[OffsetFetchResponseGroup, ...], since(8)] = ()


OFFSET_FETCH = ApiSchema(
    key=9,
    name="OffsetFetch",
    oldest=1,
    newest=10,
    flexible_since=6,
    request=OffsetFetchRequest,
    response=OffsetFetchResponse,
)


class OffsetDeleteRequestPartition(Message, kw_only=True):
    partition_index: Int32


class OffsetDeleteRequestTopic(Message, kw_only=True):
    name: str
    partitions: tuple[OffsetDeleteRequestPartition, ...]


class OffsetDeleteRequest(Message, kw_only=True):
    group_id: str
    topics: tuple[OffsetDeleteRequestTopic, ...]


class OffsetDeleteResponsePartition(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0


class OffsetDeleteResponseTopic(Message, kw_only=True):
    name: str
    partitions: tuple[OffsetDeleteResponsePartition, ...]


class OffsetDeleteResponse(Message, kw_only=True):
    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: tuple[OffsetDeleteResponseTopic, ...]


OFFSET_DELETE = ApiSchema(
    key=47,
    name="OffsetDelete",
    oldest=0,
    newest=0,
    flexible_since=None,
    request=OffsetDeleteRequest,
    response=OffsetDeleteResponse,
)

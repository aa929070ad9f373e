"""Offsets by time and by leader epoch: ListOffsets (2), OffsetForLeaderEpoch (23).

Follows Kafka 4.4's ListOffsets{Request,Response}.json,
OffsetForLeaderEpoch{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Int64, Message, since


class ListOffsetsPartition(Message, kw_only=True):
    partition_index: Int32
    current_leader_epoch: Annotated[Int32, since(4)] = -1  # KIP-320
    timestamp: Int64  # -1 latest, -2 earliest, -3 greatest timestamp (KIP-734)


class ListOffsetsTopic(Message, kw_only=True):
    name: str
    partitions: tuple[ListOffsetsPartition, ...]


class ListOffsetsRequest(Message, kw_only=True):
    replica_id: Int32
    isolation_level: Annotated[Int8, since(2)] = 0  # KIP-98
    topics: tuple[ListOffsetsTopic, ...]
    timeout_ms: Annotated[Int32, since(10)] = 0  # KIP-1075


class ListOffsetsPartitionResponse(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0
    timestamp: Int64 = -1
    offset: Int64 = -1
    leader_epoch: Annotated[Int32, since(4)] = -1


class ListOffsetsTopicResponse(Message, kw_only=True):
    name: str
    partitions: tuple[ListOffsetsPartitionResponse, ...]


class ListOffsetsResponse(Message, kw_only=True):
    throttle_time_ms: Annotated[Int32, since(2)] = 0
    topics: tuple[ListOffsetsTopicResponse, ...]


LIST_OFFSETS = ApiSchema(
    key=2,
    name="ListOffsets",
    oldest=1,
    newest=11,
    flexible_since=6,
    request=ListOffsetsRequest,
    response=ListOffsetsResponse,
)


class OffsetForLeaderPartition(Message, kw_only=True):
    partition: Int32
    current_leader_epoch: Int32 = -1
    leader_epoch: Int32


class OffsetForLeaderTopic(Message, kw_only=True):
    topic: str
    partitions: tuple[OffsetForLeaderPartition, ...]


class OffsetForLeaderEpochRequest(Message, kw_only=True):
    replica_id: Annotated[Int32, since(3)] = -2  # -2: unknown, a consumer
    topics: tuple[OffsetForLeaderTopic, ...]


class EpochEndOffset(Message, kw_only=True):
    error_code: Int16 = 0
    partition: Int32
    leader_epoch: Int32 = -1
    end_offset: Int64 = -1


class OffsetForLeaderTopicResult(Message, kw_only=True):
    topic: str
    partitions: tuple[EpochEndOffset, ...]


class OffsetForLeaderEpochResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    topics: tuple[OffsetForLeaderTopicResult, ...]


OFFSET_FOR_LEADER_EPOCH = ApiSchema(
    key=23,
    name="OffsetForLeaderEpoch",
    oldest=2,
    newest=4,
    flexible_since=4,
    request=OffsetForLeaderEpochRequest,
    response=OffsetForLeaderEpochResponse,
)

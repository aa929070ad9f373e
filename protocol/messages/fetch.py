"""Fetch (1): reads record batches, and waits for them.

Follows Kafka 4.4's Fetch{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import (
    ZERO_TOPIC_ID,
    DirectoryId,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Records,
    Uuid,
    since,
    tagged,
    until,
)


class ReplicaState(Message, kw_only=True):
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


class FetchPartition(Message, kw_only=True):
    partition: Int32
    current_leader_epoch: Annotated[Int32, since(9)] = -1  # KIP-320
    fetch_offset: Int64
    last_fetched_epoch: Annotated[Int32, since(12)] = -1  # KIP-595
    log_start_offset: Annotated[Int64, since(5)] = -1
    partition_max_bytes: Int32
    replica_directory_id: Annotated[DirectoryId, since(17), tagged(0)] = ZERO_TOPIC_ID  # KIP-853
    high_watermark: Annotated[Int64, since(18), tagged(1)] = (1 << 63) - 1  # KIP-1166


class FetchTopic(Message, kw_only=True):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_TOPIC_ID  # KIP-516
    partitions: tuple[FetchPartition, ...]


class ForgottenTopic(Message, kw_only=True):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_TOPIC_ID
    partitions: tuple[Int32, ...]


class FetchRequest(Message, kw_only=True):
    cluster_id: Annotated[str | None, since(12), tagged(0)] = None
    replica_id: Annotated[Int32, until(14)] = -1
    replica_state: Annotated[ReplicaState, since(15), tagged(1)] = ReplicaState()  # KIP-903
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32 = 0x7FFFFFFF
    isolation_level: Int8 = 0
    session_id: Annotated[Int32, since(7)] = 0  # KIP-227
    session_epoch: Annotated[Int32, since(7)] = -1
    topics: tuple[FetchTopic, ...]
    forgotten_topics_data: Annotated[tuple[ForgottenTopic, ...], since(7)] = ()
    rack_id: Annotated[str, since(11)] = ""  # KIP-392


class EpochEndOffset(Message, kw_only=True):
    epoch: Int32 = -1
    end_offset: Int64 = -1


class LeaderIdAndEpoch(Message, kw_only=True):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class SnapshotId(Message, kw_only=True):
    end_offset: Int64 = -1
    epoch: Int32 = -1


class AbortedTransaction(Message, kw_only=True):
    producer_id: Int64
    first_offset: Int64


class PartitionData(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0
    high_watermark: Int64
    last_stable_offset: Int64 = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    diverging_epoch: Annotated[EpochEndOffset, since(12), tagged(0)] = EpochEndOffset()
    current_leader: Annotated[LeaderIdAndEpoch, since(12), tagged(1)] = LeaderIdAndEpoch()
    snapshot_id: Annotated[SnapshotId, since(12), tagged(2)] = SnapshotId()
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    preferred_read_replica: Annotated[Int32, since(11)] = -1
    records: Records | None


class FetchableTopicResponse(Message, kw_only=True):
    topic: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_TOPIC_ID  # KIP-516
    partitions: tuple[PartitionData, ...]


class NodeEndpoint(Message, kw_only=True):
    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None


class FetchResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(7)] = 0
    session_id: Annotated[Int32, since(7)] = 0  # KIP-227; 0: no session
    responses: tuple[FetchableTopicResponse, ...]
    node_endpoints: Annotated[tuple[NodeEndpoint, ...], since(16), tagged(0)] = ()  # KIP-951


FETCH = ApiSchema(
    key=1,
    name="Fetch",
    oldest=4,
    newest=18,
    flexible_since=12,
    request=FetchRequest,
    response=FetchResponse,
)

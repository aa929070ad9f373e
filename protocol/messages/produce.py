"""Produce (0): appends record batches.

Follows Kafka 4.4's Produce{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import (
    ZERO_TOPIC_ID,
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


class PartitionProduceData(Message, kw_only=True):
    index: Int32
    records: Records | None


class TopicProduceData(Message, kw_only=True):
    name: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_TOPIC_ID  # KIP-516
    partition_data: tuple[PartitionProduceData, ...]


class ProduceRequest(Message, kw_only=True):
    transactional_id: str | None = None  # KIP-98
    acks: Int16
    timeout_ms: Int32
    topic_data: tuple[TopicProduceData, ...]


class BatchIndexAndErrorMessage(Message, kw_only=True):
    batch_index: Int32
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(Message, kw_only=True):
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


class PartitionProduceResponse(Message, kw_only=True):
    index: Int32
    error_code: Int16 = 0
    base_offset: Int64
    log_append_time_ms: Int64 = -1
    log_start_offset: Annotated[Int64, since(5)] = -1
    record_errors: Annotated[tuple[BatchIndexAndErrorMessage, ...], since(8)] = ()
    error_message: Annotated[str | None, since(8)] = None
    current_leader: Annotated[LeaderIdAndEpoch, since(10), tagged(0)] = LeaderIdAndEpoch()


class TopicProduceResponse(Message, kw_only=True):
    name: Annotated[str, until(12)] = ""
    topic_id: Annotated[Uuid, since(13)] = ZERO_TOPIC_ID  # KIP-516
    partition_responses: tuple[PartitionProduceResponse, ...]


class NodeEndpoint(Message, kw_only=True):
    node_id: Int32
    host: str
    port: Int32
    rack: str | None = None


class ProduceResponse(Message, kw_only=True):
    responses: tuple[TopicProduceResponse, ...]
    throttle_time_ms: Int32 = 0
    node_endpoints: Annotated[tuple[NodeEndpoint, ...], since(10), tagged(0)] = ()  # KIP-951


PRODUCE = ApiSchema(
    key=0,
    name="Produce",
    oldest=3,
    newest=13,
    flexible_since=9,
    request=ProduceRequest,
    response=ProduceResponse,
    advertised_from=0,  # KAFKA-18659: else older librdkafka sends without compression
)

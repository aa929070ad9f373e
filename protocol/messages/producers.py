"""Producer ids: InitProducerId (22) gives one out, DescribeProducers (61) shows who produced.

Follows Kafka 4.4's InitProducerId{Request,Response}.json,
DescribeProducers{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Int64, Message, since


class InitProducerIdRequest(Message, kw_only=True):
    transactional_id: str | None
    transaction_timeout_ms: Int32
    producer_id: Annotated[Int64, since(3)] = -1  # KIP-360
    producer_epoch: Annotated[Int16, since(3)] = -1


class InitProducerIdResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16


INIT_PRODUCER_ID = ApiSchema(
    key=22,
    name="InitProducerId",
    oldest=0,
    newest=5,
    flexible_since=2,
    request=InitProducerIdRequest,
    response=InitProducerIdResponse,
)


class TopicRequest(Message, kw_only=True):
    name: str
    partition_indexes: tuple[Int32, ...]


class DescribeProducersRequest(Message, kw_only=True):
    topics: tuple[TopicRequest, ...]


class ProducerState(Message, kw_only=True):
    producer_id: Int64
    producer_epoch: Int32
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32
    current_txn_start_offset: Int64 = -1


class PartitionResponse(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0
    error_message: str | None = None
    active_producers: tuple[ProducerState, ...]


class TopicResponse(Message, kw_only=True):
    name: str
    partitions: tuple[PartitionResponse, ...]


class DescribeProducersResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    topics: tuple[TopicResponse, ...]


DESCRIBE_PRODUCERS = ApiSchema(
    key=61,
    name="DescribeProducers",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=DescribeProducersRequest,
    response=DescribeProducersResponse,
)

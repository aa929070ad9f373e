"""Topics: CreateTopics (19), DeleteTopics (20), CreatePartitions (37), DeleteRecords (21).

Follows Kafka 4.4's CreateTopics{Request,Response}.json, DeleteTopics{Request,Response}.json,
CreatePartitions{Request,Response}.json, DeleteRecords{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import (
    ZERO_TOPIC_ID,
    Int8,
    Int16,
    Int32,
    Int64,
    Message,
    Uuid,
    nullable_since,
    since,
    tagged,
    until,
)


class CreatableReplicaAssignment(Message, kw_only=True):
    partition_index: Int32
    broker_ids: tuple[Int32, ...]


class CreatableTopicConfig(Message, kw_only=True):
    name: str
    value: str | None


class CreatableTopic(Message, kw_only=True):
    name: str
    num_partitions: Int32  # -1: the broker's default
    replication_factor: Int16  # -1: the broker's default
    assignments: tuple[CreatableReplicaAssignment, ...]
    configs: tuple[CreatableTopicConfig, ...]


class CreateTopicsRequest(Message, kw_only=True):
    topics: tuple[CreatableTopic, ...]
    timeout_ms: Int32 = 60000
    validate_only: bool = False


class CreatableTopicConfigs(Message, kw_only=True):
    name: str
    value: str | None
    read_only: bool
    config_source: Int8 = -1
    is_sensitive: bool


class CreatableTopicResult(Message, kw_only=True):
    name: str
    topic_id: Annotated[Uuid, since(7)] = ZERO_TOPIC_ID  # KIP-516
    error_code: Int16 = 0
    error_message: str | None = None
    topic_config_error_code: Annotated[Int16, since(5), tagged(0)] = 0  # KIP-525
    num_partitions: Annotated[Int32, since(5)] = -1
    replication_factor: Annotated[Int16, since(5)] = -1
    configs: Annotated[tuple[CreatableTopicConfigs, ...] | None, since(5)] = ()


class CreateTopicsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    topics: tuple[CreatableTopicResult, ...]


CREATE_TOPICS = ApiSchema(
    key=19,
    name="CreateTopics",
    oldest=2,
    newest=7,
    flexible_since=5,
    request=CreateTopicsRequest,
    response=CreateTopicsResponse,
)


class DeleteTopicState(Message, kw_only=True):
    name: str | None = None
    topic_id: Uuid


class DeleteTopicsRequest(Message, kw_only=True):
    topics: Annotated[tuple[DeleteTopicState, ...], since(6)] = ()  # KIP-516
    topic_names: Annotated[tuple[str, ...], until(5)] = ()
    timeout_ms: Int32


class DeletableTopicResult(Message, kw_only=True):
    name: Annotated[str | None, nullable_since(6)]
    topic_id: Annotated[Uuid, since(6)] = ZERO_TOPIC_ID
    error_code: Int16 = 0
    error_message: Annotated[str | None, since(5)] = None


class DeleteTopicsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    responses: tuple[DeletableTopicResult, ...]


DELETE_TOPICS = ApiSchema(
    key=20,
    name="DeleteTopics",
    oldest=1,
    newest=6,
    flexible_since=4,
    request=DeleteTopicsRequest,
    response=DeleteTopicsResponse,
)


class CreatePartitionsAssignment(Message, kw_only=True):
    broker_ids: tuple[Int32, ...]


class CreatePartitionsTopic(Message, kw_only=True):
    name: str
    count: Int32
    assignments: tuple[CreatePartitionsAssignment, ...] | None


class CreatePartitionsRequest(Message, kw_only=True):
    topics: tuple[CreatePartitionsTopic, ...]
    timeout_ms: Int32
    validate_only: bool


class CreatePartitionsTopicResult(Message, kw_only=True):
    name: str
    error_code: Int16 = 0
    error_message: str | None = None


class CreatePartitionsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[CreatePartitionsTopicResult, ...]


CREATE_PARTITIONS = ApiSchema(
    key=37,
    name="CreatePartitions",
    oldest=0,
    newest=3,
    flexible_since=2,
    request=CreatePartitionsRequest,
    response=CreatePartitionsResponse,
)


class DeleteRecordsPartition(Message, kw_only=True):
    partition_index: Int32
    offset: Int64


class DeleteRecordsTopic(Message, kw_only=True):
    name: str
    partitions: tuple[DeleteRecordsPartition, ...]


class DeleteRecordsRequest(Message, kw_only=True):
    topics: tuple[DeleteRecordsTopic, ...]
    timeout_ms: Int32


class DeleteRecordsPartitionResult(Message, kw_only=True):
    partition_index: Int32
    low_watermark: Int64
    error_code: Int16 = 0


class DeleteRecordsTopicResult(Message, kw_only=True):
    name: str
    partitions: tuple[DeleteRecordsPartitionResult, ...]


class DeleteRecordsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    topics: tuple[DeleteRecordsTopicResult, ...]


DELETE_RECORDS = ApiSchema(
    key=21,
    name="DeleteRecords",
    oldest=0,
    newest=2,
    flexible_since=2,
    request=DeleteRecordsRequest,
    response=DeleteRecordsResponse,
)

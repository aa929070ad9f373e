"""Where replicas are: Alter- (45) and ListPartitionReassignments (46), ElectLeaders (43).

Follows Kafka 4.4's AlterPartitionReassignments{Request,Response}.json,
ListPartitionReassignments{Request,Response}.json, ElectLeaders{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int8, Int16, Int32, Message, since


class ReassignablePartition(Message, kw_only=True):
    partition_index: Int32
    replicas: tuple[Int32, ...] | None = None


class ReassignableTopic(Message, kw_only=True):
    name: str
    partitions: tuple[ReassignablePartition, ...]


class AlterPartitionReassignmentsRequest(Message, kw_only=True):
    timeout_ms: Int32 = 60000
    allow_replication_factor_change: Annotated[bool, since(1)] = True  # KIP-860
    topics: tuple[ReassignableTopic, ...]


class ReassignablePartitionResponse(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class ReassignableTopicResponse(Message, kw_only=True):
    name: str
    partitions: tuple[ReassignablePartitionResponse, ...]


class AlterPartitionReassignmentsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Annotated[bool, since(1)] = True
    error_code: Int16 = 0
    error_message: str | None = None
    responses: tuple[ReassignableTopicResponse, ...]


ALTER_PARTITION_REASSIGNMENTS = ApiSchema(
    key=45,
    name="AlterPartitionReassignments",
    oldest=0,
    newest=1,
    flexible_since=0,
    request=AlterPartitionReassignmentsRequest,
    response=AlterPartitionReassignmentsResponse,
)


class ListPartitionReassignmentsTopics(Message, kw_only=True):
    name: str
    partition_indexes: tuple[Int32, ...]


class ListPartitionReassignmentsRequest(Message, kw_only=True):
    timeout_ms: Int32 = 60000
    topics: tuple[ListPartitionReassignmentsTopics, ...] | None = None


class OngoingPartitionReassignment(Message, kw_only=True):
    partition_index: Int32
    replicas: tuple[Int32, ...]
    adding_replicas: tuple[Int32, ...]
    removing_replicas: tuple[Int32, ...]


class OngoingTopicReassignment(Message, kw_only=True):
    name: str
    partitions: tuple[OngoingPartitionReassignment, ...]


class ListPartitionReassignmentsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    topics: tuple[OngoingTopicReassignment, ...]


LIST_PARTITION_REASSIGNMENTS = ApiSchema(
    key=46,
    name="ListPartitionReassignments",
    oldest=0,
    newest=0,
    flexible_since=0,
    request=ListPartitionReassignmentsRequest,
    response=ListPartitionReassignmentsResponse,
)


class TopicPartitions(Message, kw_only=True):
    topic: str
    partitions: tuple[Int32, ...]


class ElectLeadersRequest(Message, kw_only=True):
    election_type: Annotated[Int8, since(1)] = 0  # KIP-460; 0 preferred, 1 unclean
    topic_partitions: tuple[TopicPartitions, ...] | None
    timeout_ms: Int32 = 60000


class PartitionResult(Message, kw_only=True):
    partition_id: Int32
    error_code: Int16 = 0
    error_message: str | None = None


class ReplicaElectionResult(Message, kw_only=True):
    topic: str
    partition_result: tuple[PartitionResult, ...]


class ElectLeadersResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(1)] = 0
    replica_election_results: tuple[ReplicaElectionResult, ...]


ELECT_LEADERS = ApiSchema(
    key=43,
    name="ElectLeaders",
    oldest=0,
    newest=2,
    flexible_since=2,
    request=ElectLeadersRequest,
    response=ElectLeadersResponse,
)

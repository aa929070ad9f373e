"""Log directories: AlterReplicaLogDirs (34), DescribeLogDirs (35).

Follows Kafka 4.4's AlterReplicaLogDirs{Request,Response}.json,
DescribeLogDirs{Request,Response}.json.
"""

from typing import Annotated

from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Int16, Int32, Int64, Message, since


class AlterReplicaLogDirTopic(Message, kw_only=True):
    name: str
    partitions: tuple[Int32, ...]


class AlterReplicaLogDir(Message, kw_only=True):
    path: str
    topics: tuple[AlterReplicaLogDirTopic, ...]


class AlterReplicaLogDirsRequest(Message, kw_only=True):
    dirs: tuple[AlterReplicaLogDir, ...]


class AlterReplicaLogDirPartitionResult(Message, kw_only=True):
    partition_index: Int32
    error_code: Int16 = 0


class AlterReplicaLogDirTopicResult(Message, kw_only=True):
    topic_name: str
    partitions: tuple[AlterReplicaLogDirPartitionResult, ...]


class AlterReplicaLogDirsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: tuple[AlterReplicaLogDirTopicResult, ...]


ALTER_REPLICA_LOG_DIRS = ApiSchema(
    key=34,
    name="AlterReplicaLogDirs",
    oldest=1,
    newest=2,
    flexible_since=2,
    request=AlterReplicaLogDirsRequest,
    response=AlterReplicaLogDirsResponse,
)


class DescribableLogDirTopic(Message, kw_only=True):
    topic: str
    partitions: tuple[Int32, ...]


class DescribeLogDirsRequest(Message, kw_only=True):
    topics: tuple[DescribableLogDirTopic, ...] | None


class DescribeLogDirsPartition(Message, kw_only=True):
    partition_index: Int32
    partition_size: Int64
    offset_lag: Int64
    is_future_key: bool


class DescribeLogDirsTopic(Message, kw_only=True):
    name: str
    partitions: tuple[DescribeLogDirsPartition, ...]


class DescribeLogDirsResult(Message, kw_only=True):
    error_code: Int16 = 0
    log_dir: str
    topics: tuple[DescribeLogDirsTopic, ...]
    total_bytes: Annotated[Int64, since(4)] = -1  # KIP-827
    usable_bytes: Annotated[Int64, since(4)] = -1
    is_cordoned: Annotated[bool, since(5)] = False


class DescribeLogDirsResponse(Message, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, since(3)] = 0
    results: tuple[DescribeLogDirsResult, ...]


DESCRIBE_LOG_DIRS = ApiSchema(
    key=35,
    name="DescribeLogDirs",
    oldest=1,
    newest=5,
    flexible_since=2,
    request=DescribeLogDirsRequest,
    response=DescribeLogDirsResponse,
)

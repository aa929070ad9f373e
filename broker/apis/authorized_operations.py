"""What a client is told that it may do, as bits (KIP-430): everything, since nobody is refused."""

from enum import IntEnum

NOT_ASKED_FOR = -(1 << 31)


class Operation(IntEnum):
    """Kafka's AclOperation: the number is the bit."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


_ON_BOTH = (
    Operation.CREATE,
    Operation.ALTER,
    Operation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS,
    Operation.ALTER_CONFIGS,
)
ON_TOPIC = sum(
    1 << operation for operation in (*_ON_BOTH, Operation.READ, Operation.WRITE, Operation.DELETE)
)
ON_CLUSTER = sum(
    1 << operation
    for operation in (*_ON_BOTH, Operation.CLUSTER_ACTION, Operation.IDEMPOTENT_WRITE)
)

"""What a client's idea of the leader epoch (KIP-320) says of it."""

from minibroker.protocol.errors import ErrorCode
from minibroker.storage.partition import Partition


def leader_epoch_problem(current_leader_epoch: int, partition: Partition) -> ErrorCode:
    """74 for an older epoch than the partition's, 75 for one to come; -1 does not ask."""
    if current_leader_epoch < 0 or current_leader_epoch == partition.log.leader_epoch:
        return ErrorCode.NONE
    if current_leader_epoch < partition.log.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH

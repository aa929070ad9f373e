"""ListOffsets (2), v1-v11, and OffsetForLeaderEpoch (23), v2-v4.

ListOffsets by a timestamp: the first record that is not older, also inside batches, compressed ones
too. Special ones: -1 the end (of what is acknowledged), -2 the start, -3 the first record with the
greatest timestamp (v7, KIP-734), -4 the start of the local log (v8, KIP-405), -5 the end of what is
tiered (v9; none here), -6 the start of what is to be tiered (v11; the start). A partition that is
named twice is 42, as Kafka answers. OffsetForLeaderEpoch: where an epoch ended. There is one epoch
in a log in memory, so that is its end.
"""

from collections import Counter

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.list_offsets import (
    LIST_OFFSETS,
    OFFSET_FOR_LEADER_EPOCH,
    EpochEndOffset,
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from minibroker.storage.engine import OffsetAndTime
from minibroker.storage.partition import Partition

from ..client import Call
from ..registry import serve
from .leader_epoch import leader_epoch_problem

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = range(-1, -7, -1)
_NOWHERE = OffsetAndTime(-1, -1)


def list_offsets(request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
    """The offset that each partition has at a time."""
    counts = Counter(
        (topic.name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    )
    return ListOffsetsResponse(
        topics=tuple(
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=tuple(
                    _refused(asked, ErrorCode.INVALID_REQUEST)
                    if counts[topic.name, asked.partition_index] > 1
                    else _offset(topic.name, asked, call)
                    for asked in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _offset(name: str, asked: ListOffsetsPartition, call: Call) -> ListOffsetsPartitionResponse:
    partition = _find(name, asked.partition_index, call)
    if partition is None:
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if problem := leader_epoch_problem(asked.current_leader_epoch, partition):
        return _refused(asked, problem)
    found = _look_up(partition, asked.timestamp)
    if found is None:
        return _refused(asked, ErrorCode.UNSUPPORTED_VERSION)
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index,
        timestamp=found.timestamp,
        offset=found.offset,
        leader_epoch=partition.log.leader_epoch if found.offset >= 0 else -1,
    )


def _look_up(partition: Partition, timestamp: int) -> OffsetAndTime | None:
    """Where the timestamp points, or None for one that has no meaning."""
    log = partition.log
    if timestamp == LATEST:
        return OffsetAndTime(partition.high_watermark, -1)
    if timestamp in (EARLIEST, EARLIEST_LOCAL, EARLIEST_PENDING):
        return OffsetAndTime(log.log_start_offset, -1)
    if timestamp == LATEST_TIERED:
        return _NOWHERE
    if timestamp == MAX_TIMESTAMP:
        return log.max_timestamp() or _NOWHERE
    return None if timestamp < 0 else log.offset_at_or_after(timestamp) or _NOWHERE


def _find(name: str, index: int, call: Call) -> Partition | None:
    topic = call.services.catalog.find(name)
    return topic.partition(index) if topic else None


def _refused(asked: ListOffsetsPartition, error_code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=asked.partition_index, error_code=error_code
    )


def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, call: Call
) -> OffsetForLeaderEpochResponse:
    """Where each partition's epoch ended."""
    return OffsetForLeaderEpochResponse(
        topics=tuple(
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=tuple(
                    _epoch_end(asked, _find(topic.topic, asked.partition, call))
                    for asked in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


def _epoch_end(asked: OffsetForLeaderPartition, partition: Partition | None) -> EpochEndOffset:
    if partition is None:
        return EpochEndOffset(
            partition=asked.partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        )
    problem = leader_epoch_problem(asked.current_leader_epoch, partition)
    if problem or asked.leader_epoch != partition.log.leader_epoch:
        return EpochEndOffset(partition=asked.partition, error_code=problem)
    return EpochEndOffset(
        partition=asked.partition,
        leader_epoch=asked.leader_epoch,
        end_offset=partition.high_watermark,
    )


APIS = (
    serve(LIST_OFFSETS, list_offsets),
    serve(OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch),
)

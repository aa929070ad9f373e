"""DeleteRecords (21), v0-v2: moves the log start offset of partitions up.

-1 means the high watermark. Beyond the end, or below 0, is 1. A topic that is only compacted
refuses it with 44. What producers have written stays known.
"""

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.messages.topics import (
    DELETE_RECORDS,
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from minibroker.storage.catalog import Topic

from ..client import Call
from ..registry import serve

HIGH_WATERMARK = -1


def handle(request: DeleteRecordsRequest, call: Call) -> DeleteRecordsResponse:
    """Delete up to each offset; the low watermark of an answer is the new log start offset."""
    return DeleteRecordsResponse(
        topics=tuple(
            DeleteRecordsTopicResult(
                name=wanted.name,
                partitions=tuple(
                    _delete(call.services.catalog.find(wanted.name), partition)
                    for partition in wanted.partitions
                ),
            )
            for wanted in request.topics
        )
    )


def _delete(topic: Topic | None, wanted: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    partition = topic.partition(wanted.partition_index) if topic else None
    error_code = ErrorCode.NONE
    low_watermark = -1
    if partition is None:
        error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif not partition.config.deletes_old_segments:
        error_code = ErrorCode.POLICY_VIOLATION
    else:
        end = partition.high_watermark
        offset = end if wanted.offset == HIGH_WATERMARK else wanted.offset
        if 0 <= offset <= end:
            partition.log.trim(offset)
            partition.wake()
            low_watermark = partition.log.log_start_offset
        else:
            error_code = ErrorCode.OFFSET_OUT_OF_RANGE
    return DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=low_watermark, error_code=error_code
    )


APIS = (serve(DELETE_RECORDS, handle),)

"""What a batch must be before the idempotence rules look at it: the first problem answers.

 step        condition                                                        answer
 ----------  ---------------------------------------------------------------  ----------------------
 frame       neither null nor empty, not of magic 0 or 1, exactly one batch   87 INVALID_RECORD
             no other magic, no broken length                                 2 CORRUPT_MESSAGE
             a known codec; zstd not below Produce v7                         76 UNSUPPORTED_...
             base_offset is 0                                                 87
 size        at most max.message.bytes                                        10 MESSAGE_TOO_LARGE
 CRC         CRC-32C of byte 21 to the end                                    2
 content     last_offset_delta + 1 == records_count > 0; no control bit;      87
             with a producer id an epoch and a base sequence;
             a count that is plausible for the bytes
 timestamps  the producer's own; the first and the largest within             32 INVALID_TIMESTAMP
             message.timestamp.*.max.ms
 records     no null key on a compacted topic; all of them with               87, record_errors
             record.validation = full

Records are not walked otherwise: the header and the CRC vouch for them. The idempotence rules come
behind all of these (an exact duplicate of a stored batch is one whatever the topic's limits became
since: `Partition`).
"""

from collections.abc import Callable

from minibroker.protocol.errors import ErrorCode, Malformed
from minibroker.protocol.records import (
    BATCH_HEADER,
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    RecordProblem,
    check_records,
    crc32c,
    iter_records,
    parse_header,
)

from .outcome import NotWritten
from .topic_config import TopicConfig

ZSTD = 4
ZSTD_SINCE_PRODUCE = 7
"""KIP-110: older clients could not read it, so older versions may not write it."""
SMALLEST_RECORD_BYTES = 7
MOST_RECORDS_A_COMPRESSED_BYTE = 1000
MAX_RECORD_ERRORS = 100
"""Named in one answer: the peer decides how many there are."""
MAX_RECORDS_A_BATCH = 2**28
"""Five batches of this size do not go round the ring of 2^31 sequences."""

Fields = tuple[int, ...]
"""What BATCH_HEADER unpacks, in its order."""


def _invalid(message: str) -> NotWritten:
    return NotWritten(ErrorCode.INVALID_RECORD, message)


def _corrupt(message: str) -> NotWritten:
    return NotWritten(ErrorCode.CORRUPT_MESSAGE, message)


def frame_problem(records: memoryview | None, api_version: int) -> NotWritten | None:
    """Whether this is exactly one whole batch of magic 2 that this Produce version may carry."""
    if not records:
        what = "null records" if records is None else "none"
        return _invalid(f"expected one record batch, got {what}")
    size = len(records)
    if size <= MAGIC_AT:
        return _corrupt(f"expected one record batch, got {size} bytes")
    if (magic := records[MAGIC_AT]) != MAGIC:
        if magic < MAGIC:
            return _invalid(f"expected a record batch of magic 2, got message format {magic}")
        return _corrupt(f"expected a record batch of magic 2, got magic {magic}")
    if size < HEADER_BYTES:
        return _corrupt(f"expected a record batch header of {HEADER_BYTES} bytes, got {size}")
    fields = BATCH_HEADER.unpack_from(records)
    return _length_problem(fields[1] + LOG_OVERHEAD, size) or _header_problem(fields, api_version)


def _length_problem(stated: int, size: int) -> NotWritten | None:
    if stated == size:
        return None
    if HEADER_BYTES <= stated < size:
        return _invalid(f"expected exactly one record batch, got {size - stated} bytes behind it")
    return _corrupt(f"expected a record batch of {stated} bytes by its own length, got {size}")


def _header_problem(fields: Fields, api_version: int) -> NotWritten | None:
    codec = fields[5] & CODEC_MASK
    if codec > ZSTD or (codec == ZSTD and api_version < ZSTD_SINCE_PRODUCE):
        what = "zstd needs Produce v7" if codec == ZSTD else f"unknown compression codec {codec}"
        return NotWritten(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{what}, got v{api_version}")
    if fields[0] != 0:
        return _invalid(f"expected base offset 0 from a producer, got {fields[0]}")
    return None


def size_problem(size: int, max_message_bytes: int) -> NotWritten | None:
    """Whether the batch is larger than the topic allows."""
    if size <= max_message_bytes:
        return None
    return NotWritten(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"expected at most {max_message_bytes} bytes a batch (max.message.bytes), got {size}",
    )


def crc_problem(records: memoryview, crc: int) -> NotWritten | None:
    """Whether the bytes are those that the client sent."""
    if (actual := crc32c(records[21:])) == crc:
        return None
    return _corrupt(f"expected CRC-32C {crc:#010x} by the batch header, got {actual:#010x}")


def content_problem(fields: Fields, size: int) -> NotWritten | None:
    """Whether the header's facts go together."""
    _, _, _, _, _, attributes, last_delta, _, _, producer_id, epoch, base_sequence, count = fields
    if last_delta + 1 != count or count <= 0:
        return _invalid(
            f"expected last_offset_delta + 1 = records_count > 0,"
            f" got last_offset_delta {last_delta} and records_count {count}"
        )
    if attributes & CONTROL:
        return _invalid("control batches are written by brokers only")
    if producer_id >= 0 and (epoch < 0 or base_sequence < 0):
        return _invalid(
            f"expected an epoch and a base sequence with producer id {producer_id},"
            f" got epoch {epoch} and base sequence {base_sequence}"
        )
    payload = size - HEADER_BYTES
    if count > MAX_RECORDS_A_BATCH:
        return _invalid(f"expected at most {MAX_RECORDS_A_BATCH} records a batch, got {count}")
    if attributes & CODEC_MASK:
        is_plausible = count <= payload * MOST_RECORDS_A_COMPRESSED_BYTE
    else:
        is_plausible = count * SMALLEST_RECORD_BYTES <= payload
    return None if is_plausible else _invalid(f"{count} records cannot be in {payload} bytes")


def timestamp_problem(
    records: memoryview, fields: Fields, config: TopicConfig, now_ms: int
) -> NotWritten | None:
    """Whether the first and the largest timestamp are near enough to the broker's clock."""
    if fields[5] & LOG_APPEND_TIME:
        # Kafka lets it pass, and clears the bit, where the topic is CreateTime and the time right.
        message = "producers may not set the timestamp type LogAppendTime"
        return NotWritten(ErrorCode.INVALID_TIMESTAMP, message, (RecordProblem(0, message),))
    if config.is_log_append_time:
        return None
    earliest = now_ms - config.timestamp_before_max_ms
    latest = now_ms + config.timestamp_after_max_ms

    def is_wrong(timestamp: int) -> bool:
        return timestamp != NO_TIMESTAMP and not earliest <= timestamp <= latest

    if not is_wrong(fields[7]) and not is_wrong(fields[8]):
        return None
    wrong = fields[7] if is_wrong(fields[7]) else fields[8]
    message = (
        f"expected timestamps from {earliest} to {latest} ms"
        f" (message.timestamp.before.max.ms, message.timestamp.after.max.ms), got {wrong}"
    )
    return NotWritten(
        ErrorCode.INVALID_TIMESTAMP, message, _wrong_times(records, is_wrong, message)
    )


def _wrong_times(
    records: memoryview, is_wrong: Callable[[int], bool], message: str
) -> tuple[RecordProblem, ...]:
    """The records with wrong timestamps; the batch as a whole where it cannot be read."""
    try:
        times = [record.timestamp for record in iter_records(records)]
    except Malformed:
        return (RecordProblem(0, message),)
    wrong = [index for index, timestamp in enumerate(times) if is_wrong(timestamp)]
    wrong = wrong[:MAX_RECORD_ERRORS]
    return tuple(
        RecordProblem(index, f"timestamp {times[index]} is out of range") for index in wrong
    ) or (RecordProblem(0, message),)


def records_problem(records: memoryview, *, requires_keys: bool) -> NotWritten | None:
    """What only a look at each record can tell."""
    problems = check_records(records, parse_header(records), requires_keys=requires_keys)
    if not problems:
        return None
    return NotWritten(ErrorCode.INVALID_RECORD, problems[0].message, tuple(problems))


def is_transactional(records: bytes | memoryview | None) -> bool:
    """Whether the batch is of a transaction, which is refused for the whole request."""
    if records is None or len(records) < HEADER_BYTES or records[MAGIC_AT] != MAGIC:
        return False
    return bool(records[22] & TRANSACTIONAL)

"""What becomes of one batch that a producer sent to one partition."""

from typing import NamedTuple

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.records import RecordProblem


class Written(NamedTuple):
    """The batch is in the log, written now or by the request that this one repeats."""

    base_offset: int
    log_append_time_ms: int
    """-1 where the topic keeps the producer's timestamps."""
    is_duplicate: bool


class NotWritten(NamedTuple):
    """Nothing of the batch is in the log."""

    error_code: ErrorCode
    message: str
    record_errors: tuple[RecordProblem, ...] = ()


Outcome = Written | NotWritten

"""Batches of one producer that come right behind one another: the common case, judged in one go.

A producer with several requests in flight sends them in one piece. A run decides each batch on a
scratch state, the next sequence, and applies what was written to the producer's entry once, when it
is closed; nothing else of the partition may happen before. It takes only batches that every check
lets through and that row 5 accepts. Any other is refused here without an answer, and goes the long
way through `Partition.append`; that gives each batch of a run the same answer and leaves the same
state (tests/storage/test_run.py compares the two).
"""

from typing import TYPE_CHECKING

from minibroker.protocol.records import (
    CODEC_MASK,
    CONTROL,
    HEADER_BYTES,
    LOG_APPEND_TIME,
    MAGIC,
    TRANSACTIONAL,
    crc32c,
)

from .batch_checks import (
    MAX_RECORDS_A_BATCH,
    MOST_RECORDS_A_COMPRESSED_BYTE,
    SMALLEST_RECORD_BYTES,
)
from .engine import StorageFailed
from .idempotence import LAST_SEQUENCE, is_in_order
from .producer_entry import WINDOW_BATCHES, PlainBatch, ProducerEntry

if TYPE_CHECKING:
    from .partition import Partition

NOT_TAKEN = -1
_UNUSUAL = CONTROL | LOG_APPEND_TIME | TRANSACTIONAL | 4
"""Attribute bits that want the long way; 4 is zstd and every codec that does not exist."""


class Run:
    """Begin it with a known producer, append while it takes batches, and close it in any case."""

    __slots__ = (
        "_batches",
        "_config",
        "_earliest",
        "_entry",
        "_epoch",
        "_latest",
        "_log",
        "_max_message_bytes",
        "_max_timestamp",
        "_next_sequence",
        "_now_ms",
        "_partition",
        "producer_id",
    )

    def __init__(
        self, partition: "Partition", producer_id: int, entry: ProducerEntry, now_ms: int
    ) -> None:
        self.producer_id = producer_id
        self._partition = partition
        self._log = partition.log
        self._config = partition.config
        self._max_message_bytes = partition.config.max_message_bytes
        self._entry = entry
        self._epoch, self._next_sequence, *_ = entry.rule_fields()
        self._batches: list[PlainBatch] = []
        self._max_timestamp = -1
        self._start(now_ms)

    def _start(self, now_ms: int) -> None:
        self._now_ms = now_ms
        self._earliest = now_ms - self._config.timestamp_before_max_ms
        self._latest = now_ms + self._config.timestamp_after_max_ms

    def resume(self, now_ms: int) -> bool:
        """Go on after `close`, if nothing else has happened to the producer here since."""
        partition = self._partition
        if (
            partition.producers.entry(self.producer_id, now_ms) is not self._entry
            or partition.config is not self._config
            or partition.is_deleted
        ):
            return False
        self._start(now_ms)
        return True

    def append(
        self,
        batch: memoryview,
        base_offset: int,
        magic: int,
        crc: int,
        attributes: int,
        last_offset_delta: int,
        base_timestamp: int,
        max_timestamp: int,
        epoch: int,
        first: int,
        count: int,
    ) -> int:
        """Write the batch, whose header says this, and return its base offset; or NOT_TAKEN."""
        payload = len(batch) - HEADER_BYTES
        if (
            base_offset
            or magic != MAGIC
            or attributes & _UNUSUAL
            or last_offset_delta + 1 != count
            or not 0 < count <= MAX_RECORDS_A_BATCH
            or payload + HEADER_BYTES > self._max_message_bytes
            or not self._earliest <= base_timestamp <= self._latest
            or not self._earliest <= max_timestamp <= self._latest
            or not is_in_order(self._epoch, self._next_sequence, epoch, first)
            or crc32c(batch[21:]) != crc
        ):
            return NOT_TAKEN
        if attributes & CODEC_MASK:
            if count > payload * MOST_RECORDS_A_COMPRESSED_BYTE:
                return NOT_TAKEN
        elif count * SMALLEST_RECORD_BYTES > payload:
            return NOT_TAKEN
        try:
            offset = self._log.append(batch, count, max_timestamp)
        except StorageFailed:
            return NOT_TAKEN
        self._next_sequence = next_sequence = (first + count) & LAST_SEQUENCE
        last = (next_sequence - 1) & LAST_SEQUENCE
        self._max_timestamp = max_timestamp
        self._batches.append((first, last, offset, self._now_ms, crc))
        return offset

    def close(self) -> None:
        """Apply what was written."""
        if self._batches:
            self._entry = self._partition.producers.appended(
                self.producer_id,
                self._epoch,
                self._max_timestamp,
                self._batches[-WINDOW_BATCHES:],
            )
            self._batches = []
            if self._partition.watchers:
                self._partition.wake()

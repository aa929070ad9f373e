"""What a partition knows of one idempotent producer, packed into 158 bytes.

A hundred thousand producers are 100,000 `bytes` and not half a million objects: less than a third
of the memory, and nothing for the garbage collector to walk into.

    producer_epoch int16 · next_sequence int32 · last_timestamp int64 · 5 batches, the newest first
    a batch: (first sequence << 32 | last sequence) int64, -1 where there is none
             base_offset int64 · append_time int64 · CRC-32C as the client sent it uint32
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

WINDOW_BATCHES = 5
"""Kafka's limit of max.in.flight.requests.per.connection for idempotent producers."""

_HEAD = Struct(">hiq")
_BATCH = Struct(">qqqI")
_RULES = Struct(">hi8x" + "q20x" * WINDOW_BATCHES)
_NO_BATCH = _BATCH.pack(-1, -1, -1, 0)
_EMPTY_WINDOW = _NO_BATCH * WINDOW_BATCHES
_ENTRY_BYTES = _RULES.size


PlainBatch = tuple[int, int, int, int, int]
"""A WindowBatch without its names."""


class WindowBatch(NamedTuple):
    """One accepted batch of the window; sequences are on the ring, both included."""

    first: int
    last: int
    base_offset: int
    append_time_ms: int
    crc: int


class ProducerEntry(bytes):
    """An immutable entry. Its class methods are the only places that know the layout."""

    __slots__ = ()

    @classmethod
    def after(
        cls,
        entry: "ProducerEntry | None",
        producer_epoch: int,
        last_timestamp: int,
        batches: Sequence[PlainBatch],
    ) -> "ProducerEntry":
        """The entry once these batches were written, the newest last; no more than a window.

        Another epoch than before starts a window of its own.
        """
        next_sequence = (batches[-1][1] + 1) & 0x7FFFFFFF
        head = _HEAD.pack(producer_epoch, next_sequence, last_timestamp)
        window = b""
        for first, last, base_offset, append_time_ms, crc in batches:
            window = _BATCH.pack(first << 32 | last, base_offset, append_time_ms, crc) + window
        if entry is None or entry.producer_epoch != producer_epoch:
            older = _EMPTY_WINDOW
        else:
            older = entry[_HEAD.size :]
        return cls((head + window + older)[:_ENTRY_BYTES])

    def rule_fields(self) -> tuple[int, ...]:
        """Epoch, next sequence, and the sequence ranges of the window, the newest first."""
        return _RULES.unpack(self)

    def batch_at(self, index: int) -> tuple[int, int, int]:
        """Base offset, append time in ms and CRC of the window's batch `index`; 0: the newest."""
        _, base_offset, append_time_ms, crc = _BATCH.unpack_from(
            self, _HEAD.size + index * _BATCH.size
        )
        return base_offset, append_time_ms, crc

    def window(self) -> list[WindowBatch]:
        """The batches of the window, the newest first."""
        batches = _BATCH.iter_unpack(memoryview(self)[_HEAD.size :])
        return [
            WindowBatch(both >> 32, both & 0xFFFFFFFF, base_offset, append_time_ms, crc)
            for both, base_offset, append_time_ms, crc in batches
            if both >= 0
        ]

    @property
    def producer_epoch(self) -> int:
        """The latest epoch seen."""
        epoch: int = _HEAD.unpack_from(self)[0]
        return epoch

    @property
    def next_sequence(self) -> int:
        """The base sequence that is expected next."""
        sequence: int = _HEAD.unpack_from(self)[1]
        return sequence

    @property
    def last_timestamp(self) -> int:
        """The largest record timestamp of the newest batch, in ms."""
        timestamp: int = _HEAD.unpack_from(self)[2]
        return timestamp

    @property
    def last_append_ms(self) -> int:
        """When the newest batch was appended, by the broker's clock."""
        return self.batch_at(0)[1]


def sequence_range_of(first: int, last: int) -> int:
    """A batch's first and last sequence as the one number that the window holds."""
    return first << 32 | last

"""Memory for logs in memory: chunks of fixed sizes, within one limit, used again and again.

Appending to fresh memory costs more than writing to a file (each page is mapped at its first
touch), so a chunk that a log gives back serves the next one. Where the limit is reached the oldest
chunk of all logs goes, as retention would take it.
"""

import logging
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from operator import itemgetter
from typing import Protocol

from minibroker.protocol.records import BATCH_HEADER, LOG_OVERHEAD

from .engine import StorageFailed

logger = logging.getLogger(__name__)

SMALLEST_CHUNK_BYTES = 16 * 1024
"""A log's first chunk: ten thousand partitions that hold a few records each stay small."""
LARGEST_CHUNK_BYTES = 1024 * 1024
"""Each next chunk of a log is four times the one before, up to this; a larger batch gets one of its
own.
"""
_GROWTH = 4
_LEAST_CHUNKS = 8
"""A small limit is cut into as many, so that one log alone does not lose all of it at once."""
_INDEX_INTERVAL_BYTES = 4096
"""Kafka's index.interval.bytes: a look-up walks at most this far over batch headers."""


class ChunkOwner(Protocol):
    """Who holds a chunk and must let go of it when memory is short."""

    @property
    def name(self) -> str:
        """For the one warning that a topic loses its oldest records."""

    def evict_oldest(self) -> None:
        """Drop the first chunk; everything in it is gone."""


class Chunk:
    """Whole batches one behind the other, with a sparse index over them."""

    __slots__ = (
        "_buffer",
        "_index_max_timestamps",
        "_index_offsets",
        "_index_positions",
        "base_offset",
        "base_position",
        "capacity",
        "max_timestamp",
        "next_indexed_position",
        "size",
        "view",
    )

    def __init__(self, capacity: int) -> None:
        self._buffer = bytearray(capacity)
        self.capacity = capacity
        self.start(0, 0)

    def start(self, base_offset: int, base_position: int) -> None:
        """Make it an empty chunk of a log that continues at this offset and byte position."""
        self.view = memoryview(self._buffer)
        self.base_offset = base_offset
        self.base_position = base_position
        self.size = 0
        self.max_timestamp = -(2**63)  # a producer's may be below 0
        self.next_indexed_position = 0
        self._index_offsets: list[int] = []
        self._index_positions: list[int] = []
        self._index_max_timestamps: list[int] = []

    def release(self) -> bool:
        """Let go of the content; whether the memory is free, that is no connection still sends from
        it.
        """
        self.view.release()
        try:
            self._buffer.append(self._buffer.pop())  # refused while a view of it exists
        except BufferError:
            return False
        return True

    def index(self, base_offset: int, position: int) -> None:
        """A batch is about to be written at `position`, far enough from the last one indexed."""
        self._index_offsets.append(base_offset)
        self._index_positions.append(position)
        self._index_max_timestamps.append(self.max_timestamp)
        self.next_indexed_position = position + _INDEX_INTERVAL_BYTES

    @property
    def end_position(self) -> int:
        """The log's byte position behind the last batch."""
        return self.base_position + self.size

    def batches(self, position: int = 0) -> Iterator[tuple[int, int, int, int]]:
        """(base offset, last offset, max timestamp, position) of each batch from one at `position`
        on.
        """
        while position < self.size:
            fields = BATCH_HEADER.unpack_from(self.view, position)
            yield fields[0], fields[0] + fields[6], fields[8], position
            position += LOG_OVERHEAD + fields[1]

    def batch(self, position: int) -> memoryview:
        """The whole batch at `position`."""
        length: int = BATCH_HEADER.unpack_from(self.view, position)[1]
        return self.view[position : position + LOG_OVERHEAD + length]

    def position_of(self, offset: int) -> int:
        """Where the batch begins that holds `offset`, or the first one behind it; `size` if there
        is none.
        """
        slot = max(bisect_right(self._index_offsets, offset) - 1, 0)
        for _, last_offset, _, position in self.batches(self._indexed(slot)):
            if last_offset >= offset:
                return position
        return self.size

    def position_at_or_after(self, timestamp: int) -> int:
        """Where the first batch begins that has a timestamp not below `timestamp`; `size` if none
        has.
        """
        slot = max(bisect_right(self._index_max_timestamps, timestamp - 1) - 1, 0)
        for _, _, max_timestamp, position in self.batches(self._indexed(slot)):
            if max_timestamp >= timestamp:
                return position
        return self.size

    def positions_of_newest(self, start_offset: int) -> list[int]:
        """Where the batch is that holds the largest timestamp from `start_offset` on.

        In front of it, where `start_offset` is within a batch, that one, which must be looked into.
        """
        if start_offset <= self.base_offset:
            return [self.position_at_or_after(self.max_timestamp)]
        cut: list[int] = []
        whole: list[tuple[int, int]] = []
        for base_offset, _, max_timestamp, position in self.batches(self.position_of(start_offset)):
            if base_offset < start_offset:
                cut.append(position)
            else:
                whole.append((max_timestamp, position))
        if whole:
            cut.append(max(whole, key=itemgetter(0))[1])  # the first of those that have it
        return cut

    def whole_batches_end(self, start: int, limit: int) -> int:
        """The end of the last batch that begins at `start` or behind it and ends by `limit`."""
        if limit >= self.size:
            return self.size
        slot = bisect_right(self._index_positions, limit) - 1
        end = max(self._indexed(slot), start)
        for _, _, _, position in self.batches(end):
            if position > limit:
                break
            end = position
        return end

    def _indexed(self, slot: int) -> int:
        return self._index_positions[slot] if self._index_positions else 0


NO_CHUNK = Chunk(0)
"""What a log without batches has at its end: there is no room in it."""


class ChunkPool:
    """All chunks of a broker: those that logs hold, oldest first, and free ones to use again."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._largest_chunk_bytes = LARGEST_CHUNK_BYTES
        while SMALLEST_CHUNK_BYTES < self._largest_chunk_bytes > limit_bytes // _LEAST_CHUNKS:
            self._largest_chunk_bytes //= _GROWTH
        self.allocated_bytes = 0
        self._held: OrderedDict[Chunk, ChunkOwner] = OrderedDict()
        self._free: dict[int, list[Chunk]] = {}
        self._warned: set[str] = set()

    def take(self, owner: ChunkOwner, size: int, previous_capacity: int) -> Chunk:
        """A chunk with room for `size` bytes. Raises StorageFailed where the limit is lower."""
        largest = self._largest_chunk_bytes
        capacity = max(SMALLEST_CHUNK_BYTES, min(previous_capacity * _GROWTH, largest))
        while capacity < size and capacity < largest:
            capacity *= _GROWTH
        capacity = max(capacity, size)
        if capacity > self.limit_bytes:
            raise StorageFailed(
                f"a batch of {size} bytes needs a chunk of {capacity},"
                f" but memory.limit is {self.limit_bytes} bytes"
            )
        chunk = self._reuse(capacity) or self._allocate(capacity)
        self._held[chunk] = owner
        return chunk

    def give_back(self, chunk: Chunk) -> None:
        """A log needs the chunk no longer."""
        del self._held[chunk]
        if chunk.capacity <= self._largest_chunk_bytes and chunk.release():
            self._free.setdefault(chunk.capacity, []).append(chunk)
        else:
            self.allocated_bytes -= chunk.capacity

    def _reuse(self, capacity: int) -> Chunk | None:
        free = self._free.get(capacity)
        return free.pop() if free else None

    def _allocate(self, capacity: int) -> Chunk:
        while self.allocated_bytes + capacity > self.limit_bytes:
            if not self._drop_free():
                self._evict_oldest()
            if chunk := self._reuse(capacity):
                return chunk
        self.allocated_bytes += capacity
        return Chunk(capacity)

    def _drop_free(self) -> bool:
        for free in self._free.values():
            if free:
                self.allocated_bytes -= free.pop().capacity
                return True
        return False

    def _evict_oldest(self) -> None:
        owner = next(iter(self._held.values()))
        if owner.name not in self._warned:
            self._warned.add(owner.name)
            logger.warning(
                "memory.limit of %d bytes is reached: the oldest records go, of topic %s first,"
                " and its log start offset moves (raise it with --memory-limit)",
                self.limit_bytes,
                owner.name,
            )
        owner.evict_oldest()

"""The log in memory: batches in chunks of a shared pool, behind the engine seam."""

from bisect import bisect_right
from operator import attrgetter
from struct import Struct

from minibroker.protocol.errors import Malformed
from minibroker.protocol.records import (
    LOG_OVERHEAD,
    first_record_at_or_after,
    parse_header,
    record_with_max_timestamp,
)
from minibroker.protocol.types import TopicId

from .chunks import NO_CHUNK, Chunk, ChunkPool
from .engine import Buffer, OffsetAndTime

_PATCH = Struct(">qii")
"""Base offset, batch length, leader epoch: the length in between is written as it is."""
_base_offset = attrgetter("base_offset")


class MemoryEngine:
    """Every log of the broker is in memory, in chunks of one pool."""

    def __init__(self, limit_bytes: int) -> None:
        self.pool = ChunkPool(limit_bytes)
        self.leader_epoch = 0

    def create(self, topic_id: TopicId, topic: str, partition: int) -> "MemoryLog":
        """A new and empty log."""
        return MemoryLog(self.pool, topic, self.leader_epoch)


class MemoryLog:
    """One partition's batches; written is acknowledged, since nothing can become safer later."""

    def __init__(self, pool: ChunkPool, name: str, leader_epoch: int) -> None:
        self.name = name
        self.log_start_offset = 0
        self.end_offset = 0
        self.leader_epoch = leader_epoch
        self._pool = pool
        self._chunks: list[Chunk] = []
        self._newest = NO_CHUNK

    @property
    def acknowledged_offset(self) -> int:
        """The written end."""
        return self.end_offset

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches kept."""
        return self._newest.end_position - self._chunks[0].base_position if self._chunks else 0

    def append(self, batch: Buffer, records_count: int, max_timestamp: int) -> int:
        """Copy one whole batch to the end; see Log.append."""
        size = len(batch)
        chunk = self._newest
        position = chunk.size
        if position + size > chunk.capacity:
            chunk = self._next_chunk(size)
            position = 0
        base_offset = self.end_offset
        view = chunk.view
        view[position : position + size] = batch  # the one copy between the socket and the log
        _PATCH.pack_into(view, position, base_offset, size - LOG_OVERHEAD, self.leader_epoch)
        if position >= chunk.next_indexed_position:
            chunk.index(base_offset, position)
        if max_timestamp > chunk.max_timestamp:
            chunk.max_timestamp = max_timestamp
        chunk.size = position + size
        self.end_offset = base_offset + records_count
        return base_offset

    def read(self, offset: int, max_bytes: int, end: int) -> list[memoryview]:
        """Views of whole batches; see Log.read."""
        views: list[memoryview] = []
        if offset >= end or not self._chunks:
            return views
        for chunk in self._chunks[self._chunk_of(offset) :]:
            if chunk.base_offset >= end:
                break
            start = chunk.position_of(offset) if not views else 0
            stop = chunk.whole_batches_end(start, start + max(max_bytes, 0))
            if end < self.end_offset:
                stop = min(stop, chunk.position_of(end))
            if stop == start and not views:
                stop = start + len(chunk.batch(start))
            if stop > start:
                views.append(chunk.view[start:stop])
                max_bytes -= stop - start
            if stop < chunk.size or max_bytes <= 0:
                break
        return views

    def bytes_between(self, offset: int, end: int) -> int:
        """Bytes of the batches from the one that holds `offset` to the one before `end`."""
        if offset >= end or not self._chunks:
            return 0
        return self._position_of(end) - self._position_of(offset)

    def offset_at_or_after(self, timestamp: int) -> OffsetAndTime | None:
        """The first record whose timestamp is not below `timestamp`."""
        for chunk in self._chunks:
            if chunk.max_timestamp < timestamp:
                continue
            start = chunk.position_at_or_after(timestamp)
            for _, last_offset, max_timestamp, position in chunk.batches(start):
                if last_offset < self.log_start_offset or max_timestamp < timestamp:
                    continue
                found = _first_at_or_after(chunk.batch(position), timestamp, self.log_start_offset)
                if found:
                    return found
        return None

    def max_timestamp(self) -> OffsetAndTime | None:
        """The first record that has the largest timestamp."""
        newest: OffsetAndTime | None = None
        for chunk in self._chunks:
            if newest and chunk.max_timestamp <= newest.timestamp:
                continue
            for position in chunk.positions_of_newest(self.log_start_offset):
                found = _newest(chunk.batch(position), self.log_start_offset)
                if found and (newest is None or found.timestamp > newest.timestamp):
                    newest = found
        return newest

    def trim(self, offset: int) -> None:
        """Move the log start offset up to `offset`; chunks wholly below it go back to the pool."""
        self.log_start_offset = max(self.log_start_offset, min(offset, self.end_offset))
        while len(self._chunks) > 1 and self._chunks[1].base_offset <= self.log_start_offset:
            self._drop_oldest()
        if self._chunks and self.log_start_offset == self.end_offset:
            self._drop_oldest()

    def evict_oldest(self) -> None:
        """Drop the first chunk, since memory is short."""
        self._drop_oldest()
        first_kept = self._chunks[0].base_offset if self._chunks else self.end_offset
        self.log_start_offset = max(self.log_start_offset, first_kept)

    def close(self) -> None:
        """Give all chunks back."""
        while self._chunks:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        self._pool.give_back(self._chunks.pop(0))
        if not self._chunks:
            self._newest = NO_CHUNK

    def _next_chunk(self, size: int) -> Chunk:
        end_position = self._newest.end_position
        chunk = self._pool.take(self, size, self._newest.capacity)
        chunk.start(self.end_offset, end_position)
        self._chunks.append(chunk)
        self._newest = chunk
        return chunk

    def _chunk_of(self, offset: int) -> int:
        return max(bisect_right(self._chunks, offset, key=_base_offset) - 1, 0)

    def _position_of(self, offset: int) -> int:
        if offset >= self.end_offset:
            return self._newest.end_position
        chunk = self._chunks[self._chunk_of(offset)]
        return chunk.base_position + chunk.position_of(offset)


def _first_at_or_after(batch: memoryview, timestamp: int, start: int) -> OffsetAndTime | None:
    """The batch itself where its records cannot be read: its header promises one."""
    try:
        found = first_record_at_or_after(batch, timestamp, from_offset=start)
    except Malformed:
        return _batch_itself(batch, start)
    return OffsetAndTime(*found) if found else None


def _newest(batch: memoryview, start: int) -> OffsetAndTime | None:
    try:
        found = record_with_max_timestamp(batch, from_offset=start)
    except Malformed:
        return _batch_itself(batch, start)
    return OffsetAndTime(*found) if found else None


def _batch_itself(batch: memoryview, start: int) -> OffsetAndTime:
    header = parse_header(batch)
    return OffsetAndTime(max(header.base_offset, start), header.max_timestamp)

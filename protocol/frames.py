"""Bytes to frames: a four-byte size, then that many bytes.

All connections of a loop receive into one shared buffer, whose frames are handed out without a copy. Where a
read ends in the middle of a frame, a small rest is put in front of the next read, and a large frame gets a
buffer of its own, which grows with what has arrived: a peer gets at most 32 bytes of memory for each byte that
it sent, whatever size it announced.
"""

from struct import Struct

from .errors import FrameTooLarge

RECEIVE_BYTES = 256 * 1024
_LARGE_FRAME_BYTES = 32 * 1024
_GROWTH = 32
_POOLED_BYTES = 16 * 1024 * 1024
_SIZE = Struct(">i")


class ReceiveBuffers:
    """The shared receive buffer of a loop, and buffers of large frames to use again.

    A fresh buffer of 128 KB or more costs its page faults each time; that is why they are kept.
    """

    def __init__(self) -> None:
        self.shared = memoryview(bytearray(RECEIVE_BYTES))
        self._free: dict[int, list[bytearray]] = {}
        self._free_bytes = 0

    def take(self, at_least: int) -> bytearray:
        """A buffer of the next power of two."""
        capacity = 1 << (at_least - 1).bit_length()
        free = self._free.get(capacity)
        if not free:
            return bytearray(capacity)
        self._free_bytes -= capacity
        return free.pop()

    def give_back(self, buffer: bytearray) -> None:
        """Nothing reads from it any longer."""
        if self._free_bytes + len(buffer) <= _POOLED_BYTES:
            self._free_bytes += len(buffer)
            self._free.setdefault(len(buffer), []).append(buffer)


class FrameSplitter:
    """The frames of one connection.

    For each read: `space()`, then `received(count)`, then `next_frame()` until it is None or the caller is
    busy, then `keep()`. A frame is a view that is valid until `keep()`.
    """

    __slots__ = (
        "_buffers",
        "_end",
        "_large",
        "_large_end",
        "_large_filled",
        "_rest",
        "_start",
        "_view",
        "max_bytes",
    )

    def __init__(self, buffers: ReceiveBuffers, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._buffers = buffers
        self._view = buffers.shared
        self._start = self._end = 0
        self._rest = b""
        self._large: bytearray | None = None
        self._large_filled = self._large_end = 0

    @property
    def held_bytes(self) -> int:
        """Memory that this connection holds for what it has not sent whole, or what waits to be looked at."""
        return len(self._rest) if self._large is None else len(self._large)

    def space(self) -> memoryview:
        """Where the next bytes go."""
        if self._large is not None:
            return memoryview(self._large)[self._large_filled : self._large_end]
        if self._rest:
            self._buffers.shared[: len(self._rest)] = self._rest
            return self._buffers.shared[len(self._rest) :]
        return self._buffers.shared

    def received(self, count: int) -> None:
        """`count` bytes were put into `space()`."""
        self._start = 0
        if self._large is not None:
            self._large_filled += count
            self._view = memoryview(self._large)
            self._end = self._large_filled
        else:
            self._view = self._buffers.shared
            self._end = len(self._rest) + count
            self._rest = b""

    def reconsider(self) -> None:
        """Look again at what was kept while the caller was busy, without a read."""
        if self._large is None:
            self._view = memoryview(self._rest)
            self._start, self._end = 0, len(self._rest)
            self._rest = b""
        else:
            self.received(0)

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size. Raises FrameTooLarge, also for a negative size."""
        start = self._start
        if self._end - start < 4:
            return None
        (size,) = _SIZE.unpack_from(self._view, start)
        if not 0 <= size <= self.max_bytes:
            raise FrameTooLarge(f"expected a frame of at most {self.max_bytes} bytes, got {size}")
        stop = start + 4 + size
        if stop > self._end:
            return None
        self._start = stop
        return self._view[start + 4 : stop]

    def keep(self) -> None:
        """Save what is not consumed; the shared buffer belongs to the next connection."""
        rest = self._end - self._start
        if self._large is not None:
            self._keep_large()
        elif rest:
            self._keep_rest(rest)
        else:
            self._view = self._buffers.shared
        self._start = self._end = 0

    def close(self) -> None:
        """The connection is gone."""
        self._rest = b""
        self._drop_large()

    def _keep_large(self) -> None:
        assert self._large is not None
        if self._start:
            self._drop_large()  # its frame was handed out
        elif self._large_filled == self._large_end:
            total = 4 + _SIZE.unpack_from(self._large)[0]
            if self._large_filled < total:
                self._move(self._view[: self._large_filled], total)

    def _keep_rest(self, rest: int) -> None:
        view = self._view[self._start : self._end]
        total = 4 + _SIZE.unpack_from(view)[0] if rest >= 4 else 0
        if rest < total and rest >= _LARGE_FRAME_BYTES:
            self._move(view, total)
        else:
            self._rest = bytes(view)
        self._view = self._buffers.shared

    def _move(self, view: memoryview, total: int) -> None:
        """Put the beginning of a large frame into a buffer that has room for more of it."""
        larger = self._buffers.take(min(total, _GROWTH * len(view)))
        larger[: len(view)] = view
        filled = len(view)
        self._drop_large()
        self._large, self._large_filled = larger, filled
        self._large_end = min(total, len(larger))

    def _drop_large(self) -> None:
        if self._large is not None:
            self._view = self._buffers.shared
            self._buffers.give_back(self._large)
            self._large = None
            self._large_filled = 0

"""Bytes to frames: a four-byte size, then that many bytes.

All connections of a loop receive into one shared buffer, whose frames are handed out without a
copy. Where a read ends in the middle of a frame, a small rest is put in front of the next read,
and a large frame gets a buffer of its own, which grows with what has arrived: a peer gets less
than 32 bytes of memory for each byte that it sent, whatever size it announced.
"""

from struct import Struct

from .errors import FrameTooLarge

RECEIVE_BYTES = 256 * 1024
LARGE_FRAME_BYTES = 32 * 1024
"""From here on the beginning of a frame is not copied any more, but gets a buffer of its own."""
_GROWTH = 16  # and then up to the next power of two: less than 32
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
        """A buffer of the next power of two; what is in it is of no meaning."""
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

    For each read: `space()`, then `received(count)`, then `next_frame()` until it is None or the
    caller is busy, then `keep()`. A frame is a view that is valid until `keep()`. A caller that
    left frames behind, or did not let `keep()` grow, calls `reconsider()` before the next read.
    """

    __slots__ = (
        "_buffers",
        "_large",
        "_large_end",
        "_large_filled",
        "_max_bytes",
        "_rest",
        "end",
        "start",
        "view",
    )

    def __init__(self, buffers: ReceiveBuffers, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffers = buffers
        self.view = buffers.shared
        self.start = self.end = 0
        self._rest = b""
        self._large: bytearray | None = None
        self._large_filled = self._large_end = 0

    @property
    def is_empty(self) -> bool:
        """Whether everything that was received is consumed, and no memory is held."""
        return self.start == self.end and self._large is None

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
        self.start = 0
        if self._large is not None:
            self._large_filled += count
            self.view = memoryview(self._large)
            self.end = self._large_filled
        else:
            self.view = self._buffers.shared
            self.end = len(self._rest) + count
            self._rest = b""

    def reconsider(self) -> None:
        """Look again at what was kept, without a read."""
        if self._large is None:
            self.view = memoryview(self._rest)
            self.start, self.end = 0, len(self._rest)
            self._rest = b""
        else:
            self.received(0)

    def next_frame(self) -> memoryview | None:
        """The next whole frame without its size. Raises FrameTooLarge, also if it is negative."""
        start = self.start
        if self.end - start < 4:
            return None
        (size,) = _SIZE.unpack_from(self.view, start)
        if not 0 <= size <= self._max_bytes:
            raise FrameTooLarge(f"expected a frame of at most {self._max_bytes} bytes, got {size}")
        stop = start + 4 + size
        if stop > self.end:
            return None
        self.start = stop
        return self.view[start + 4 : stop]

    def keep(self, may_grow: bool = True) -> int:
        """Save what is not consumed, since the shared buffer belongs to the next connection.

        Without `may_grow` no large buffer is taken. Returns the bytes of memory that are held.
        """
        held_bytes = 0
        if self._large is not None:
            held_bytes = self._keep_large(may_grow)
        elif self.end > self.start:
            held_bytes = self._keep_rest(may_grow)
        self.view = self._buffers.shared
        self.start = self.end = 0
        return held_bytes

    def close(self) -> None:
        """The connection is gone."""
        self._rest = b""
        self._drop_large()

    def _keep_large(self, may_grow: bool) -> int:
        assert self._large is not None
        if self.start:
            self._drop_large()  # its frame was handed out
            return 0
        if self._large_filled == self._large_end and may_grow:
            total = 4 + _SIZE.unpack_from(self._large)[0]
            if self._large_filled < total:
                self._move(self.view[: self._large_filled], total)
        return len(self._large)

    def _keep_rest(self, may_grow: bool) -> int:
        view = self.view[self.start : self.end]
        if may_grow and len(view) >= LARGE_FRAME_BYTES:
            total = 4 + _SIZE.unpack_from(view)[0]
            if len(view) < total:
                return self._move(view, total)
        self._rest = bytes(view)
        return len(view)

    def _move(self, view: memoryview, total: int) -> int:
        """Put the beginning of a large frame into a buffer that has room for more of it."""
        larger = self._buffers.take(min(total, _GROWTH * len(view)))
        larger[: len(view)] = view
        self._drop_large()
        self._large, self._large_filled = larger, len(view)
        self._large_end = min(total, len(larger))
        return len(larger)

    def _drop_large(self) -> None:
        if self._large is not None:
            self._buffers.give_back(self._large)
            self._large = None
            self._large_filled = self._large_end = 0

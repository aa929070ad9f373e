"""A raw pipelined driver: ready-made frames, a fixed number in flight, only lengths are read."""

import selectors
import socket
import time
from collections.abc import Sequence
from struct import unpack_from

RECEIVE_BYTES = 1 << 20


class _Stream:
    """One connection's frames, and how many of them are answered."""

    def __init__(self, port: int, frames: Sequence[bytes], depth: int) -> None:
        self.socket = connect(port)
        self.frames = frames
        self.sent = 0
        self.answered = 0
        self.rest = b""
        self.refused = 0
        self.depth = depth

    def send(self) -> None:
        """Fill the pipeline."""
        count = min(self.depth - (self.sent - self.answered), len(self.frames) - self.sent)
        if count > 0:
            self.socket.sendall(b"".join(self.frames[self.sent : self.sent + count]))
            self.sent += count

    def receive(self) -> None:
        """Count whole answers."""
        data = self.rest + self.socket.recv(RECEIVE_BYTES)
        start = 0
        while len(data) - start >= 4:
            stop = start + 4 + unpack_from(">i", data, start)[0]
            if stop > len(data):
                break
            self.answered += 1
            start = stop
        self.rest = data[start:]


def connect(port: int) -> socket.socket:
    """A blocking connection without Nagle's delay."""
    connection = socket.create_connection(("127.0.0.1", port), 30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def drive(port: int, streams: Sequence[Sequence[bytes]], depth: int) -> float:
    """Send every stream on a connection of its own, `depth` frames in flight; seconds it took."""
    open_streams = [_Stream(port, frames, depth) for frames in streams]
    started = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        for stream in open_streams:
            selector.register(stream.socket, selectors.EVENT_READ, stream)
            stream.send()
        left = len(open_streams)
        while left:
            for key, _ in selector.select(30) or _timed_out():
                stream = key.data
                stream.receive()
                stream.send()
                if stream.answered == len(stream.frames):
                    selector.unregister(stream.socket)
                    left -= 1
    for stream in open_streams:
        stream.socket.close()
    return time.perf_counter() - started


def ping(port: int, frames: Sequence[bytes]) -> list[float]:
    """One in flight: the seconds of each round trip."""
    connection = connect(port)
    times = []
    for frame in frames:
        started = time.perf_counter()
        connection.sendall(frame)
        receive_answer(connection)
        times.append(time.perf_counter() - started)
    connection.close()
    return times


def call(port: int, frame: bytes) -> bytes:
    """One request on a connection of its own; the answer without its size."""
    with connect(port) as connection:
        connection.sendall(frame)
        return receive_answer(connection)


def receive_answer(connection: socket.socket) -> bytes:
    """One whole answer without its size."""
    data = bytearray()
    size = 4
    while len(data) < size:
        chunk = connection.recv(RECEIVE_BYTES)
        if not chunk:
            raise ConnectionError("closed before the answer was whole")
        data += chunk
        if len(data) >= 4:
            size = 4 + unpack_from(">i", data)[0]
    return bytes(data[4:])


def _timed_out() -> list[tuple[selectors.SelectorKey, int]]:
    raise TimeoutError("no answer within 30 s")

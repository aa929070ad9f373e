"""A connection without a socket: what the client sends is fed in, what it gets is collected."""

import asyncio
from collections.abc import Callable
from struct import pack, unpack_from
from typing import TypeVar

from minibroker.client import Call, Reply
from minibroker.config import Config, Listener
from minibroker.once import Once
from minibroker.protocol.frames import ReceiveBuffers
from minibroker.protocol.headers import RequestHeader, encode_request_header
from minibroker.protocol.schema import ApiSchema
from minibroker.protocol.types import Message
from minibroker.registry import Api, Registry
from minibroker.request_memory import RequestMemory
from minibroker.server import build_services
from minibroker.services import Environment
from minibroker.transport import ClientTransport

LISTENER = Listener(
    name="PLAINTEXT", host="h", port=1, advertised_host="localhost", advertised_port=1
)
RequestT = TypeVar("RequestT", bound=Message)
ResponseT = TypeVar("ResponseT", bound=Message)


class MemoryOwner:
    """What a Server is to its transports."""

    def __init__(
        self,
        registry: Registry,
        environment: Environment = Environment(),  # noqa: B008 - it is frozen
        memory_limit_bytes: int = 1 << 30,
    ) -> None:
        config = Config.of(topics=["t:2"], first_producer_id=1000, memory_limit="64MiB")
        self.services = build_services(config, environment)
        self.registry = registry
        self.unknown_requests = Once()
        self.buffers = ReceiveBuffers()
        self.request_memory = RequestMemory(memory_limit_bytes)
        self.open: set[ClientTransport] = set()

    def opened(self, transport: ClientTransport) -> bool:
        self.open.add(transport)
        return True

    def closed(self, transport: ClientTransport) -> None:
        self.open.discard(transport)


class MemoryTransport(asyncio.Transport):
    """The event loop's side. The client reads nothing while `window` bytes are unread."""

    def __init__(self, owner: MemoryOwner, window: float = float("inf")) -> None:
        super().__init__({"peername": ("client", 1)})
        self.protocol = ClientTransport(owner, LISTENER)
        self.window = window
        self.written: list[bytes] = []
        self.unread = 0
        self.unfed = b""
        self.is_paused = False
        self.is_over_window = False
        self.is_gone = False
        self._is_closing = False
        self.protocol.connection_made(self)

    def feed(self, data: bytes) -> None:
        """The client sends; the broker takes it when it reads."""
        self.unfed += data
        while self.unfed and not self.is_paused and not self._is_closing:
            space = self.protocol.get_buffer(-1)
            count = min(len(space), len(self.unfed))
            space[:count] = self.unfed[:count]
            self.unfed = self.unfed[count:]
            self.protocol.buffer_updated(count)

    def read_all(self) -> None:
        """The client reads what there is."""
        self.unread = 0
        if self.is_over_window:
            self.is_over_window = False
            self.protocol.resume_writing()
        self.feed(b"")

    def reset(self) -> None:
        """The client is gone."""
        self._end()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self._is_closing
        self.written.append(bytes(data))
        self.unread += len(data)
        if self.unread > self.window and not self.is_over_window:
            self.is_over_window = True
            self.protocol.pause_writing()

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False
        asyncio.get_running_loop().call_soon(self.feed, b"")

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._end()

    def abort(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            asyncio.get_running_loop().call_soon(self._lost)

    def _lost(self) -> None:
        self.is_gone = True
        self.protocol.connection_lost(None)

    @property
    def answers(self) -> list[bytes]:
        """The frames that were written, without their sizes; every one is whole."""
        data, frames = b"".join(self.written), []
        while data:
            (size,) = unpack_from(">i", data)
            assert len(data) >= 4 + size
            frames.append(data[4 : 4 + size])
            data = data[4 + size :]
        return frames

    @property
    def correlation_ids(self) -> list[int]:
        return [int.from_bytes(frame[:4], "big") for frame in self.answers]


def frame(
    schema: ApiSchema[RequestT, ResponseT],
    version: int,
    request: RequestT,
    correlation_id: int = 0,
    client_id: str | None = "c",
) -> bytes:
    """A request with its size in front."""
    header = RequestHeader(schema.key, version, correlation_id, client_id)
    body = encode_request_header(header, schema.is_flexible(version)) + schema.encode_request(
        version, request
    )
    return pack(">i", len(body)) + body


def small_frame(key: int, correlation_id: int, body: bytes = b"", version: int = 0) -> bytes:
    """A request of one of the APIs that tests bring."""
    content = pack(">hhih", key, version, correlation_id, -1) + body
    return pack(">i", len(content)) + content


def api(key: int, answer: Callable[[memoryview, Call], Reply]) -> Api:
    """An API of a test: what it answers is the body."""
    return Api(
        key=key,
        name=f"Test{key}",
        oldest=0,
        newest=0,
        advertised_oldest=0,
        flexible_since=None,
        has_flexible_response_header=False,
        answer=answer,
    )

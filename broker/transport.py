"""The only callbacks of the event loop: a BufferedProtocol between a socket and a connection."""

import asyncio
from typing import Protocol, cast

from minibroker.protocol.errors import Malformed
from minibroker.protocol.frames import FrameSplitter, ReceiveBuffers

from .client import Client
from .config import Listener
from .connection import Connection
from .registry import Registry
from .services import Services


class Owner(Protocol):
    """Who owns the connections of a broker."""

    services: Services
    registry: Registry
    buffers: ReceiveBuffers

    def opened(self, transport: "ClientTransport") -> bool:
        """A connection was made; whether there is room for it."""

    def closed(self, transport: "ClientTransport") -> None:
        """A connection is gone."""


class ClientTransport(asyncio.BufferedProtocol):
    """One socket: bytes in, frames to the connection, its answers out.

    It stops reading while the connection is busy or the client does not read its answers, so that
    either costs this client only.
    """

    __slots__ = (
        "_is_draining",
        "_is_reading",
        "_is_writable",
        "_splitter",
        "_transport",
        "connection",
        "listener",
        "owner",
    )

    def __init__(self, owner: Owner, listener: Listener) -> None:
        self.owner = owner
        self.listener = listener
        self._splitter = FrameSplitter(
            owner.buffers, owner.services.config.socket_request_max_bytes
        )
        self._is_writable = True
        self._is_reading = True
        self._is_draining = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._transport = cast(asyncio.Transport, transport)  # what every stream server gets
        peer = transport.get_extra_info("peername")
        address = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else str(peer)
        client = Client(address, self.listener)
        owner = self.owner
        self.connection = Connection(
            owner.services, owner.registry, client, self._transport, self._progressed
        )
        if not owner.opened(self):
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next read goes."""
        return self._splitter.space()

    def buffer_updated(self, nbytes: int) -> None:
        """A read has ended."""
        self._splitter.received(nbytes)
        self._process()

    def eof_received(self) -> bool:
        """The client sends no more; what it still waits for is answered (Kafka does too)."""
        return False

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """It has read them."""
        self._is_writable = True
        self._progressed()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed."""
        self.connection.lost()
        self._splitter.close()
        self.owner.closed(self)

    def close(self) -> None:
        """Take no more requests; end once everything is answered and sent."""
        self._is_draining = True
        self._pause_reading()
        self._progressed()

    def abort(self) -> None:
        """End now."""
        self._transport.abort()

    def _process(self) -> None:
        connection, splitter = self.connection, self._splitter
        try:
            while splitter.start < splitter.end:
                if not self._is_writable or connection.is_busy:
                    self._pause_reading()
                    break
                splitter.start = connection.take_common(splitter.view, splitter.start, splitter.end)
                frame = splitter.next_frame()
                if frame is None:
                    break
                connection.receive(frame)
        except Malformed as error:
            connection.hang_up(f"closing: {error}")
        splitter.keep()
        connection.flush()

    def _progressed(self) -> None:
        """Something was answered or sent: look at what has been waiting."""
        if self._is_draining:
            if not self.connection.has_unanswered:
                self._transport.close()
            return
        if self._is_reading or not self._is_writable or self._transport.is_closing():
            return
        self._splitter.reconsider()
        self._is_reading = True
        self._transport.resume_reading()
        self._process()

    def _pause_reading(self) -> None:
        if self._is_reading and not self._transport.is_closing():
            self._is_reading = False
            self._transport.pause_reading()

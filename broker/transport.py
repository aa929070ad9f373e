"""The only callbacks of the event loop: a BufferedProtocol between a socket and a connection."""

import asyncio
import logging
from typing import Protocol, cast

from minibroker.protocol.errors import FrameTooLarge
from minibroker.protocol.frames import LARGE_FRAME_BYTES, FrameSplitter, ReceiveBuffers
from minibroker.storage.engine import Buffer

from .client import Client
from .config import Listener
from .connection import Broker, Connection
from .request_memory import RequestMemory

logger = logging.getLogger(__name__)

PIECE_BYTES = 256 * 1024
"""Of a large answer; the event loop copies what the socket does not take of a piece."""


class Owner(Broker, Protocol):
    """Who owns the connections of a broker."""

    buffers: ReceiveBuffers
    request_memory: RequestMemory

    def opened(self, transport: "ClientTransport") -> bool:
        """A connection was made; whether there is room for it."""

    def closed(self, transport: "ClientTransport") -> None:
        """A connection is gone."""


class ClientTransport(asyncio.BufferedProtocol):
    """One socket: bytes in, frames to the connection, its answers out.

    It stops reading while the connection is busy, while the client does not read its answers, and
    while memory for requests is short, so that each costs this client only.
    """

    __slots__ = (
        "_held_bytes",
        "_is_draining",
        "_is_reading",
        "_is_writable",
        "_splitter",
        "_transport",
        "_unsent",
        "_was_active",
        "connection",
        "listener",
        "owner",
        "quiet_checks",
    )

    def __init__(self, owner: Owner, listener: Listener) -> None:
        self.owner = owner
        self.listener = listener
        self.quiet_checks = 0
        """How often in a row `check_activity` found that nothing had moved."""
        self._splitter = FrameSplitter(
            owner.buffers, owner.services.config.socket_request_max_bytes
        )
        self._held_bytes = 0
        self._unsent: list[memoryview] = []
        self._is_writable = True
        self._is_reading = True
        self._is_draining = False
        self._was_active = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is connected."""
        self._transport = cast(asyncio.Transport, transport)  # what every stream server gets
        peer = transport.get_extra_info("peername")
        address = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) else str(peer)
        self.connection = Connection(self.owner, Client(address, self.listener), self)
        if not self.owner.opened(self):
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next read goes."""
        return self._splitter.space()

    def buffer_updated(self, nbytes: int) -> None:
        """A read has ended."""
        self._was_active = True
        self._splitter.received(nbytes)
        self._process()

    def eof_received(self) -> bool:
        """The client sends no more: what is answered by now is sent, as Kafka does."""
        return False

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """It has read them."""
        self._was_active = True
        self._is_writable = True
        self._send_unsent()
        if self._is_writable:
            self.answered()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is closed; requests that were read whole are handled nevertheless."""
        connection, splitter = self.connection, self._splitter
        splitter.reconsider()
        try:
            while connection.is_open and (frame := splitter.next_frame()) is not None:
                connection.receive(frame)
        except FrameTooLarge as error:
            logger.debug("%s: %s", connection.client.address, error)
        connection.lost()
        splitter.close()
        self._unsent = []
        memory = self.owner.request_memory
        memory.changed(-self._held_bytes)
        memory.leave(self)
        self.owner.closed(self)

    def write(self, data: Buffer) -> None:
        """Send bytes behind those that are still unsent; what is large without a copy."""
        if self._transport.is_closing():
            return
        if self._is_writable and len(data) <= PIECE_BYTES:
            self._transport.write(data)
            return
        self._unsent.append(memoryview(data))
        self._send_unsent()

    def close(self) -> None:
        """Read no more; end once everything that was read is answered and sent."""
        self._is_draining = True
        self._read_on(False)
        self._end_if_drained()

    def answered(self) -> None:
        """Something was answered or sent: look at what has been waiting."""
        if not self._is_reading and self._is_writable and not self._transport.is_closing():
            self._splitter.reconsider()
            self._process()

    def go_on(self) -> None:
        """There is memory."""
        self.answered()

    def give_up(self, reason: str) -> None:
        """Close at once, and say why."""
        logger.warning("%s: closing: %s", self.connection.client.address, reason)
        self.abort()

    def abort(self) -> None:
        """End now."""
        self._transport.abort()

    def check_activity(self) -> None:
        """Count whether anything has moved since the last check, for connections.max.idle.ms.

        A client that waits for the broker's answer is not idle.
        """
        is_owed = self.connection.has_unanswered and self._is_writable
        self.quiet_checks = 0 if self._was_active or is_owed else self.quiet_checks + 1
        self._was_active = False

    def _process(self) -> None:
        """Handle what was read as far as possible."""
        connection, splitter = self.connection, self._splitter
        try:
            while self._is_writable and not connection.is_busy:
                splitter.start = connection.take_common(splitter.view, splitter.start, splitter.end)
                frame = splitter.next_frame() if splitter.start < splitter.end else None
                if frame is None:
                    break
                connection.receive(frame)
        except FrameTooLarge as error:
            connection.hang_up(str(error))
        connection.flush()
        is_done = splitter.is_empty and not self._held_bytes
        if not (is_done and self._is_reading and self._is_writable and not connection.is_busy):
            self._settle()

    def _settle(self) -> None:
        """Keep what is left, and see whether to read on."""
        connection, splitter, memory = self.connection, self._splitter, self.owner.request_memory
        may_grow = memory.has_room or memory.turn is self
        held_bytes = splitter.keep(may_grow)
        if held_bytes != self._held_bytes:
            memory.changed(held_bytes - self._held_bytes)
            self._held_bytes = held_bytes
        wants_more = self._is_writable and not connection.is_busy and not self._is_draining
        if wants_more and not may_grow and held_bytes >= LARGE_FRAME_BYTES:
            memory.wait(self)
            wants_more = False
        elif memory.turn is self and not (wants_more and held_bytes >= LARGE_FRAME_BYTES):
            memory.leave(self)
        if wants_more != self._is_reading:
            self._read_on(wants_more)
        if self._is_draining:
            self._end_if_drained()

    def _send_unsent(self) -> None:
        """As far as the socket takes it; nothing is unsent while it takes more."""
        unsent = self._unsent
        while unsent and self._is_writable:
            piece = unsent[0][:PIECE_BYTES]
            if len(piece) == len(unsent[0]):
                del unsent[0]
            else:
                unsent[0] = unsent[0][PIECE_BYTES:]
            self._transport.write(piece)

    def _read_on(self, is_wanted: bool) -> None:
        if self._is_reading == is_wanted or self._transport.is_closing():
            return
        self._is_reading = is_wanted
        if is_wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _end_if_drained(self) -> None:
        if not self.connection.has_unanswered and self._is_writable:
            self._transport.close()

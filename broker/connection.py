"""One connection: order, bounds, and the one error boundary.

Requests are handled in arrival order, and answered in arrival order whenever their answers are
ready. The connection knows no sockets: it is given frames and an `Output`.
"""

import logging
from asyncio import CancelledError, Future
from collections import deque
from functools import partial
from struct import Struct
from typing import Protocol

from minibroker.protocol.errors import Malformed
from minibroker.protocol.headers import decode_request_header, peek
from minibroker.protocol.messages.api_versions import API_VERSIONS, unsupported_version
from minibroker.protocol.schema import APART_FROM_BYTES, joined
from minibroker.storage.engine import Buffer

from .apis.produce_shortcut import ProduceShortcut
from .client import Buffers, Call, Client, Hangup
from .once import Once
from .registry import Api, Registry
from .services import Services

logger = logging.getLogger(__name__)

MAX_UNANSWERED = 100
"""Requests of one connection without an answer; then reading from it pauses."""

_RESUME_AT_UNANSWERED = MAX_UNANSWERED // 2
"""Not one by one: what has been waiting is copied each time that it has to wait again."""

FLUSH_BYTES = 64 * 1024
"""So much is sent at once, for then it shows whether the client reads its answers."""

_LOGGED_CHARACTERS = 100
"""Of what a client calls itself: it may be long."""

_HEAD = Struct(">ii")
_HEAD_WITH_TAGS = Struct(">iix")


class Output(Protocol):
    """Where answers go."""

    def write(self, data: Buffer) -> None:
        """Send bytes, in order, without blocking."""

    def close(self) -> None:
        """Close once everything is sent."""

    def answered(self) -> None:
        """Requests that had to wait were answered: there is room for others."""


class Broker(Protocol):
    """What the connections of a broker share."""

    services: Services
    registry: Registry
    unknown_requests: Once


class _Slot:
    """The place of one answer in the order of arrival."""

    __slots__ = ("buffers", "correlation_id", "future", "has_tags")

    def __init__(self, correlation_id: int, has_tags: bool) -> None:
        self.correlation_id = correlation_id
        self.has_tags = has_tags
        self.buffers: Buffers | None = None
        self.future: Future[Buffers] | None = None


class Connection:
    """One client's requests and answers."""

    __slots__ = (
        "_broker",
        "_has_large",
        "_output",
        "_ready",
        "_ready_bytes",
        "_shortcut",
        "_slots",
        "client",
        "is_open",
    )

    def __init__(self, broker: Broker, client: Client, output: Output) -> None:
        self.client = client
        self._broker = broker
        self._output = output
        self._slots: deque[_Slot] = deque()
        self._ready: list[Buffer] = []
        self._ready_bytes = 0
        self._has_large = False
        self._shortcut = ProduceShortcut(broker.services, client)
        self.is_open = True

    @property
    def is_busy(self) -> bool:
        """Whether the next request has to wait until earlier ones are answered."""
        return len(self._slots) >= MAX_UNANSWERED or not self.is_open

    @property
    def has_unanswered(self) -> bool:
        """Whether a request still waits for its answer."""
        return bool(self._slots)

    def take_common(self, view: memoryview, start: int, end: int) -> int:
        """Handle the frames from `start` on that need no dispatch; where the next one begins."""
        if self._slots or not self.is_open:
            return start
        try:
            return self._shortcut.answer(view, start, end, self._ready)
        except Exception as error:  # noqa: BLE001 - the error boundary
            self._fail(error)
            return end

    def receive(self, frame: memoryview) -> None:
        """Handle one frame; its answer goes out with the next `flush`, or when it is there."""
        try:
            self._dispatch(frame)
        except Exception as error:  # noqa: BLE001 - the error boundary
            self._fail(error)

    def flush(self) -> None:
        """Send the answers that are ready, small ones joined."""
        ready = self._ready
        if not ready:
            return
        self._ready = []
        self._ready_bytes = 0
        if self._has_large:
            self._has_large = False
            for piece in joined(ready):
                self._output.write(piece)
        else:
            self._output.write(b"".join(ready) if len(ready) > 1 else ready[0])

    def hang_up(self, reason: str) -> None:
        """Say why, send what is ready and close the connection."""
        logger.warning("%s: closing: %s", self.client.address, reason)
        self._end()

    def _fail(self, error: BaseException) -> None:
        """Whatever comes of a request costs this connection, and nobody else anything."""
        if isinstance(error, Hangup):
            self.hang_up(str(error))
        elif isinstance(error, Malformed):
            self.hang_up(f"a malformed request: {error}")
        else:
            logger.error("%s: closing: a bug", self.client.address, exc_info=error)
            self._end()

    def _end(self) -> None:
        self.flush()
        self.lost()
        self._output.close()

    def lost(self) -> None:
        """The other end is gone: nobody waits for what is still on its way."""
        self.is_open = False
        for slot in self._slots:
            if slot.future:
                slot.future.cancel()
        self._slots.clear()
        self._ready = []

    def _dispatch(self, frame: memoryview) -> None:
        key, version = peek(frame)
        api = self._broker.registry.find(key)
        if api is None or not api.oldest <= version <= api.newest:
            self._unknown(frame, api, key, version)
            return
        if len(frame) > api.max_request_bytes:
            raise Malformed(
                f"expected at most {api.max_request_bytes} bytes of {api.name}, got {len(frame)}"
            )
        header, offset = decode_request_header(frame, api.is_flexible(version))
        call = Call(self._broker.services, self.client, version, header.client_id)
        reply = api.answer(frame[offset:], call)
        if reply is None:
            return
        slot = _Slot(
            header.correlation_id, api.has_flexible_response_header and api.is_flexible(version)
        )
        if isinstance(reply, Future):
            self._slots.append(slot)
            slot.future = reply
            reply.add_done_callback(partial(self._answered, slot))
        elif self._slots:
            slot.buffers = reply
            self._slots.append(slot)
        else:
            self._write(slot, reply)
            if not key:
                self._shortcut.learn(frame, offset, call)

    def _write(self, slot: _Slot, body: Buffers) -> None:
        size = sum(map(len, body))
        if slot.has_tags:
            head = _HEAD_WITH_TAGS.pack(size + 5, slot.correlation_id)
        else:
            head = _HEAD.pack(size + 4, slot.correlation_id)
        self._ready.append(head)
        self._ready.extend(body)
        if size >= APART_FROM_BYTES:
            self._has_large = True
        self._ready_bytes += size
        if self._ready_bytes >= FLUSH_BYTES:
            self.flush()

    def _answered(self, slot: _Slot, future: "Future[Buffers]") -> None:
        """An answer has come later; send what is ready in front."""
        error = CancelledError() if future.cancelled() else future.exception()
        if not self.is_open:
            return
        if error:
            self._fail(error)
            return
        slot.buffers = future.result()
        slot.future = None
        self._send_prefix()
        if len(self._slots) <= _RESUME_AT_UNANSWERED:
            self._output.answered()

    def _send_prefix(self) -> None:
        slots = self._slots
        while slots and slots[0].buffers is not None:
            slot = slots.popleft()
            assert slot.buffers is not None
            self._write(slot, slot.buffers)
        self.flush()

    def _unknown(self, frame: memoryview, api: Api | None, key: int, version: int) -> None:
        """An unknown API or version: an own answer for ApiVersions, else the end (KIP-511)."""
        header, _ = decode_request_header(frame, flexible=False)
        if key == API_VERSIONS.key and api is not None:
            slot = _Slot(header.correlation_id, has_tags=False)
            slot.buffers = (unsupported_version(),)
            self._slots.append(slot)
            self._send_prefix()
            return
        served = f"{api.name} has versions {api.oldest} to {api.newest}" if api else "unknown"
        client_id, software = header.client_id, self.client.software
        line = (
            f"API {key} version {version} ({served}) was asked for by client id"
            f" {client_id and client_id[:_LOGGED_CHARACTERS]!r}"
            f" with software {software[:_LOGGED_CHARACTERS]!r}"
        )
        if self._broker.unknown_requests.is_new(line):
            self.hang_up(line)
        else:
            self._end()

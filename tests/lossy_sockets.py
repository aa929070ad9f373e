"""TCP that cuts connections instead of some answers: done as asked, unknown to the client."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from minibroker.sockets import Connected, SystemSockets, TcpListening

IsLost = Callable[[], bool]


class LossySockets(SystemSockets):
    """The machine's sockets; `is_lost` is asked before each write."""

    def __init__(self, is_lost: IsLost) -> None:
        self.is_lost = is_lost

    def bind(self, host: str, port: int) -> "LossyListening":
        """Take an address."""
        return LossyListening(super().bind(host, port), self.is_lost)


class LossyListening(TcpListening):
    """An address whose connections lose answers."""

    def __init__(self, inner: TcpListening, is_lost: IsLost) -> None:
        self.port = inner.port
        self._inner = inner
        self._is_lost = is_lost

    async def serve(self, connected: Connected) -> None:
        """Accept connections from now on."""

        def lossy() -> asyncio.BaseProtocol:
            return LossyProtocol(cast(asyncio.BufferedProtocol, connected()), self._is_lost)

        await self._inner.serve(lossy)

    def close(self) -> None:
        """Accept no more."""
        self._inner.close()


class LossyProtocol(asyncio.BufferedProtocol):
    """Hands everything on to the broker's protocol, and it a transport that loses answers."""

    def __init__(self, inner: asyncio.BufferedProtocol, is_lost: IsLost) -> None:
        self.inner = inner
        self.is_lost = is_lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.inner.connection_made(LossyTransport(cast(asyncio.Transport, transport), self.is_lost))

    def get_buffer(self, sizehint: int) -> memoryview:
        return cast(memoryview, self.inner.get_buffer(sizehint))

    def buffer_updated(self, nbytes: int) -> None:
        self.inner.buffer_updated(nbytes)

    def eof_received(self) -> bool | None:
        return self.inner.eof_received()

    def pause_writing(self) -> None:
        self.inner.pause_writing()

    def resume_writing(self) -> None:
        self.inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.inner.connection_lost(exc)


class LossyTransport(asyncio.Transport):
    """A transport that is aborted where an answer is to be lost."""

    def __init__(self, inner: asyncio.Transport, is_lost: IsLost) -> None:
        super().__init__()
        self.inner = inner
        self.is_lost = is_lost

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.is_lost():
            self.inner.abort()
        else:
            self.inner.write(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # as in asyncio
        return self.inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self.inner.is_closing()

    def pause_reading(self) -> None:
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        self.inner.resume_reading()

    def close(self) -> None:
        self.inner.close()

    def abort(self) -> None:
        self.inner.abort()

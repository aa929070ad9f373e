"""The sockets seam: how a broker is given what it listens on. Here are the machine's."""

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol

_BACKLOG = 1024

Connected = Callable[[], asyncio.BaseProtocol]
"""Makes the protocol of a connection."""


class Listening(Protocol):
    """An address that is the broker's."""

    @property
    def port(self) -> int:
        """The port, also where any free one was asked for."""

    async def serve(self, connected: Connected) -> None:
        """Accept connections from now on."""

    def close(self) -> None:
        """Accept no more; connections stay."""


class Sockets(Protocol):
    """Where connections come from."""

    def bind(self, host: str, port: int) -> Listening:
        """Take an address; 0 is any free port. Raises OSError."""


class SystemSockets:
    """TCP."""

    __slots__ = ()

    def bind(self, host: str, port: int) -> "TcpListening":
        """Take an address; 0 is any free port. Raises OSError."""
        return TcpListening(_bind(host, port))


class TcpListening:
    """A bound socket, and then a listening one."""

    def __init__(self, bound: socket.socket) -> None:
        self.port: int = bound.getsockname()[1]
        self._socket = bound
        self._server: asyncio.Server | None = None

    async def serve(self, connected: Connected) -> None:
        """Accept connections from now on."""
        self._server = await asyncio.get_running_loop().create_server(
            connected, sock=self._socket, backlog=_BACKLOG
        )

    def close(self) -> None:
        """Accept no more; connections stay."""
        if self._server:
            self._server.close()
        else:
            self._socket.close()


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound

"""A broker inside a Python program: in its event loop, in a thread, in a process of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .config import Config
from .config_sources import Option
from .server import Server


class Broker:
    """A broker that is running."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def bootstrap(self) -> str:
        """HOST:PORT, what clients take as bootstrap servers."""
        return self._server.bootstrap


@asynccontextmanager
async def running(**options: Option) -> AsyncIterator[Broker]:
    """A broker in the running event loop, on a free port unless one is given.

    Options are those of the command line and Kafka's broker keys, as `Config.of` takes them.
    """
    server = Server(Config.of(**options))
    await server.start()
    try:
        yield Broker(server)
    finally:
        await server.stop()

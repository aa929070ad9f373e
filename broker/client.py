"""One connected client, as far as handlers know it, and one call that it makes."""

from asyncio import Future
from collections.abc import Sequence
from typing import NamedTuple

from minibroker.storage.engine import Buffer
from minibroker.storage.turned_away import TurnedAway

from .config import Listener
from .services import Services

Buffers = Sequence[Buffer]
Reply = Buffers | Future[Buffers] | None
"""The body of an answer now, or later; None where the client wants none."""


class Client:
    """What is known of the other end of a connection."""

    __slots__ = ("address", "listener", "software", "turned_away")

    def __init__(self, address: str, listener: Listener) -> None:
        self.address = address
        self.listener = listener
        """The listener that it came in by; it is told that listener's advertised address."""
        self.software = ""
        """Name and version that it gave in ApiVersions."""
        self.turned_away = TurnedAway()


class Call(NamedTuple):
    """One request's surroundings."""

    services: Services
    client: Client
    api_version: int
    client_id: str | None


class Hangup(Exception):  # noqa: N818 - not an error: the answer is to close the connection
    """Close this connection, for a reason that is no fault of the frame."""

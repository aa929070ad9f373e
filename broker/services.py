"""What handlers may touch: one frozen bundle, and the seams that a simulation replaces.

Nothing in the broker asks for the time, for randomness or for a file by itself: it comes in here.
Timers and futures are those of the running event loop, which a simulation brings as well.
"""

import os
import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from minibroker.storage.catalog import Catalog

from .config import Config
from .sockets import Sockets, SystemSockets
from .waiting import LongPolls


class Clock(Protocol):
    """The broker's clock; it may step, as real ones do."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""


class SystemClock:
    """The machine's clock."""

    __slots__ = ()

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000


class Environment(Struct, frozen=True):
    """Where everything comes from that is not deterministic.

    Files and the executor of their syncs come in here as well, with segment files.
    """

    clock: Clock = SystemClock()
    random_bytes: Callable[[int], bytes] = os.urandom
    sockets: Sockets = SystemSockets()


class Services(Struct, frozen=True):
    """What a handler gets."""

    config: Config
    clock: Clock
    catalog: Catalog
    cluster_id: str
    long_polls: LongPolls

"""The virtual network: ordered within a connection, and otherwise as bad as networks are.

A pipe delivers any prefix of what is on its way, after any delay. It may stall for a while, go
silent for ever (half-open), or be cut behind its nth byte, which cuts the other direction as well.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from minibroker.sockets import Connected, Listening

from .world import World

HIGH_WATER_BYTES = 8192
LOW_WATER_BYTES = 2048
ROUND_TRIP_S = 0.002


class Weather(NamedTuple):
    """What goes wrong on one connection: which pipe, what, behind which byte, for how long."""

    to_server: bool
    kind: str
    at_byte: int
    stall_s: float


CLEAR = Weather(False, "clear", 0, 0.0)


class CutError(ConnectionError):
    """The connection is no more."""


class Pipe:
    """One direction of a connection."""

    def __init__(
        self, world: World, name: str, cut: Callable[[str], None], struck: Callable[[str], None]
    ) -> None:
        self.world = world
        self.name = name
        self._struck = struck
        self.weather = CLEAR
        self.deliver: Callable[[bytes], int] = len
        """Hands bytes to the receiver; how many it took."""
        self.drained: Callable[[], None] = lambda: None
        self.ended: Callable[[], None] = lambda: None
        self.on_its_way = bytearray()
        self.delivered_bytes = 0
        self.is_ended = False
        self.is_dead = False
        self._is_scheduled = False
        self._stalled_until_s = 0.0
        self._is_struck = False
        self._cut = cut

    def send(self, data: bytes | bytearray | memoryview) -> None:
        self.on_its_way += data
        self.move()

    def end(self) -> None:
        """Nothing follows; what is on its way arrives first."""
        self.is_ended = True
        self.move()

    def move(self) -> None:
        """Deliver something soon, if it is not about to already."""
        if self._is_scheduled or self.is_dead or not (self.on_its_way or self.is_ended):
            return
        self._is_scheduled = True
        delay_s = self.world.random.expovariate(2 / ROUND_TRIP_S)
        self.world.call_later(delay_s, self._arrive)

    def _arrive(self) -> None:
        self._is_scheduled = False
        if self.is_dead or self._is_bad_weather():
            return
        if not self.on_its_way:
            if self.is_ended:
                self.is_dead = True
                self.ended()
            return
        most = len(self.on_its_way)
        if self.weather.kind != "clear":
            most = min(most, self.weather.at_byte - self.delivered_bytes)
        count = most if self.world.random.random() < 0.7 else self.world.random.randint(1, most)
        taken = self.deliver(bytes(self.on_its_way[:count]))
        del self.on_its_way[:taken]
        self.delivered_bytes += taken
        self.world.note(f"{self.name} {taken}")
        if taken:
            if len(self.on_its_way) <= LOW_WATER_BYTES:
                self.drained()
            self.move()

    def _is_bad_weather(self) -> bool:
        """Whether nothing arrives now."""
        kind, at_byte = self.weather.kind, self.weather.at_byte
        if self.world.time() < self._stalled_until_s:
            return True
        if kind == "clear" or self.delivered_bytes < at_byte:
            return False
        if not self._is_struck:
            self._is_struck = True
            self._struck(kind)
            self.world.note(f"{self.name} {kind} at byte {at_byte}")
        if kind == "cut":
            self._cut(self.name)
        elif kind == "stall":
            stall_s, self.weather = self.weather.stall_s, CLEAR
            self._stalled_until_s = self.world.time() + stall_s
            self.world.call_at(self._stalled_until_s, self.move)
        return True  # "silent": for ever


class Link:
    """A connection: two pipes, a client and the broker's protocol."""

    def __init__(
        self, network: "Network", number: int, connected: Connected, weather: Weather
    ) -> None:
        self.world = world = network.world
        self.to_server = Pipe(world, f"{number}>", self.cut, network.count("request"))
        self.to_client = Pipe(world, f"{number}<", self.cut, network.count("answer"))
        (self.to_server if weather.to_server else self.to_client).weather = weather
        self.client = ClientEnd(world, self)
        self.server = ServerEnd(world, self, number, connected)

    def cut(self, why: str) -> None:
        """Both ends learn of it, each in its time."""
        for pipe in (self.to_server, self.to_client):
            pipe.is_dead = True
        self.world.call_later(self.world.random.random() * ROUND_TRIP_S, self.client.lost)
        self.world.call_later(self.world.random.random() * ROUND_TRIP_S, self.server.lost)


class ServerEnd(asyncio.Transport):
    """What the broker's protocol is given for a socket."""

    def __init__(self, world: World, link: Link, number: int, connected: Connected) -> None:
        super().__init__({"peername": ("client", number)})
        self._world = world
        self._link = link
        self._is_closing = self._is_lost = False
        self._is_reading = True
        self._is_over_high_water = False
        protocol = connected()
        assert isinstance(protocol, asyncio.BufferedProtocol)
        self._protocol = protocol
        link.to_server.deliver = self._deliver
        link.to_server.ended = self._ended
        link.to_client.drained = self._drained
        protocol.connection_made(self)

    def _deliver(self, data: bytes) -> int:
        if not self._is_reading or self._is_closing:
            return 0
        space = memoryview(self._protocol.get_buffer(-1))
        count = min(len(space), len(data))
        space[:count] = data[:count]
        self._protocol.buffer_updated(count)
        return count

    def _ended(self) -> None:
        if not self._is_closing and not self._protocol.eof_received():
            self.close()

    def _drained(self) -> None:
        if self._is_over_high_water and not self._is_lost:
            self._is_over_high_water = False
            self._protocol.resume_writing()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self._is_closing, "a write behind the end"
        self._link.to_client.send(data)
        if len(self._link.to_client.on_its_way) > HIGH_WATER_BYTES:
            self._is_over_high_water = True
            self._protocol.pause_writing()

    def pause_reading(self) -> None:
        assert self._is_reading
        self._is_reading = False

    def resume_reading(self) -> None:
        assert not self._is_reading
        self._is_reading = True
        self._link.to_server.move()

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._link.to_client.end()
            self._world.call_soon(self.lost)

    def abort(self) -> None:
        self._is_closing = True
        self._link.cut("abort")

    def lost(self) -> None:
        if not self._is_lost:
            self._is_closing = self._is_lost = True
            self._protocol.connection_lost(None)


class ClientEnd:
    """A client's socket."""

    def __init__(self, world: World, link: Link) -> None:
        self._world = world
        self._link = link
        self._received = bytearray()
        self._is_lost = False
        self._changed = asyncio.Event()
        link.to_client.deliver = self._deliver
        link.to_client.ended = self.lost

    def _deliver(self, data: bytes) -> int:
        self._received += data
        self._changed.set()
        return len(data)

    def lost(self) -> None:
        self._is_lost = True
        self._changed.set()

    def send(self, data: bytes) -> None:
        """Raises CutError."""
        if self._is_lost:
            raise CutError
        self._link.to_server.send(data)

    async def receive_frame(self) -> bytes:
        """Raises CutError."""
        while True:
            size = int.from_bytes(self._received[:4], "big")
            if len(self._received) >= 4 and len(self._received) >= 4 + size:
                frame = bytes(self._received[4 : 4 + size])
                del self._received[: 4 + size]
                return frame
            if self._is_lost:
                raise CutError
            self._changed.clear()
            await self._changed.wait()  # the caller has the deadline

    def close(self) -> None:
        """What was sent may still arrive, much later."""
        self._is_lost = True
        self._link.to_client.is_dead = True
        self._link.to_server.end()


class Network:
    """The sockets of the world, and its weather."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.weather: Callable[[], Weather] = lambda: CLEAR
        self.links = 0
        self.faults: Counter[str] = Counter()
        """What has struck, on which side."""
        self._listening: dict[int, VirtualListening] = {}

    def count(self, side: str) -> Callable[[str], None]:
        """Counts what strikes on a side."""

        def struck(kind: str) -> None:
            self.faults[f"{kind} {side}"] += 1

        return struck

    def bind(self, host: str, port: int) -> Listening:
        """The broker's seam: see minibroker.sockets."""
        port = port or 9092 + len(self._listening)
        listening = self._listening.get(port)
        if listening is None:
            listening = self._listening[port] = VirtualListening(port)
        return listening

    async def connect(self, port: int) -> ClientEnd:
        """Raises CutError."""
        await asyncio.sleep(self.world.random.random() * ROUND_TRIP_S)
        listening = self._listening.get(port)
        if listening is None or listening.connected is None:
            raise CutError
        self.links += 1
        weather = self.weather()
        self.world.note(f"{self.links} connects, {weather}")
        return Link(self, self.links, listening.connected, weather).client


class VirtualListening:
    """An address of the broker; both loopback addresses are one here."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.connected: Connected | None = None

    async def serve(self, connected: Connected) -> None:
        self.connected = connected

    def close(self) -> None:
        self.connected = None

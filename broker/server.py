"""The broker's life: build it, listen last, own its connections, end in order."""

import asyncio
import errno
import logging
from functools import partial

import msgspec

from minibroker.protocol.frames import ReceiveBuffers
from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.producer_ids import ProducerIds, first_producer_id
from minibroker.storage.producers import ProducerLimits

from .config import Config, Listener
from .once import Once
from .request_memory import RequestMemory
from .services import Environment, Services
from .serving import all_apis
from .sockets import Listening
from .transport import ClientTransport
from .waiting import LongPolls

logger = logging.getLogger(__name__)

DRAIN_S = 5.0
"""How long a stop waits for answers that are still to be sent."""
EXPIRY_INTERVAL_S = 600.0
"""Kafka's producer.id.expiration.check.interval.ms: how often what has expired is dropped."""
IDLE_CHECKS = 4
"""In one connections.max.idle.ms: an idle connection lives up to a quarter longer."""
SHORTEST_IDLE_CHECK_S = 0.1
ANY_PORT_ATTEMPTS = 20
_LOOPBACK = ("127.0.0.1", "::1")
_NO_IPV6 = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def build_services(config: Config, environment: Environment) -> Services:
    """Everything behind the sockets, with the topics of the configuration."""
    limits = ProducerLimits(
        expiration_ms=config.producer_id_expiration_ms,
        max_producers=config.max_producers_per_partition,
        gap_timeout_ms=config.producer_gap_timeout_ms,
    )
    first_id = config.first_producer_id
    if first_id is None:
        first_id = first_producer_id(environment.clock.now_ms())
    catalog = Catalog(
        engine=MemoryEngine(config.memory_limit_bytes),
        producer_ids=ProducerIds(first_id, reserve=lambda start, end: None),
        defaults=Defaults(config.broker_defaults, limits),
        random_bytes=environment.random_bytes,
    )
    for topic in config.topics:
        catalog.create(topic.name, topic.partitions or config.num_partitions, {})
    return Services(
        config=config,
        clock=environment.clock,
        catalog=catalog,
        cluster_id=_cluster_id(environment),
        long_polls=LongPolls(),
    )


class Server:
    """A running broker: its listeners and its connections."""

    def __init__(self, config: Config, environment: Environment | None = None) -> None:
        environment = environment or Environment()
        self.services = build_services(config, environment)
        self.registry = all_apis()
        self.unknown_requests = Once()
        self.buffers = ReceiveBuffers()
        self.request_memory = RequestMemory(config.queued_max_request_bytes)
        self.listeners: tuple[Listener, ...] = ()
        """Those of the configuration, with the ports that were bound."""
        self._sockets = environment.sockets
        self._listening: list[tuple[Listening, Listener]] = []
        self._transports: dict[ClientTransport, None] = {}
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._is_stopping = False
        self._is_full = False

    async def start(self) -> None:
        """Listen. Raises OSError with the address in its text where one is taken."""
        try:
            self.listeners = tuple(map(self._bind, self.services.config.listeners))
            for listening, listener in self._listening:
                await listening.serve(partial(ClientTransport, self, listener))
        except OSError:
            await self.stop()
            raise
        self._expire_producers()
        self._close_idle()

    async def stop(self) -> None:
        """Accept no more, answer what was asked, close."""
        self._is_stopping = True
        for timer in self._timers.values():
            timer.cancel()
        for listening, _ in self._listening:
            listening.close()
        for transport in tuple(self._transports):
            transport.close()
        self.services.long_polls.end()
        try:
            async with asyncio.timeout(DRAIN_S):
                await self._all_closed.wait()
        except TimeoutError:
            logger.warning("%d connections did not end by themselves", len(self._transports))
            for transport in tuple(self._transports):
                transport.abort()
            await self._all_closed.wait()  # no deadline: an abort is on its way in this loop
        for topic in self.services.catalog.topics():
            for partition in topic.partitions:
                partition.log.close()

    @property
    def bootstrap(self) -> str:
        """HOST:PORT of the first listener, as clients are told."""
        first = self.listeners[0]
        host = (
            f"[{first.advertised_host}]" if ":" in first.advertised_host else first.advertised_host
        )
        return f"{host}:{first.advertised_port}"

    def opened(self, transport: ClientTransport) -> bool:
        """A connection was made; whether it may stay.

        Above max.connections it may not. Kafka stops accepting instead, and then nobody, not even
        `minibroker ready`, learns why.
        """
        limit = self.services.config.max_connections
        was_full, self._is_full = self._is_full, len(self._transports) >= limit
        if self._is_full and not was_full:
            logger.warning("max.connections = %d is reached: more are closed at once", limit)
        if self._is_full or self._is_stopping:
            return False
        self._transports[transport] = None
        self._all_closed.clear()
        return True

    def closed(self, transport: ClientTransport) -> None:
        """A connection is gone."""
        self._transports.pop(transport, None)
        if not self._transports:
            self._all_closed.set()

    def _bind(self, listener: Listener) -> Listener:
        """Take a listener's addresses, all with the same port."""
        attempts = 1 if listener.port else ANY_PORT_ATTEMPTS
        taken: list[Listening] = []
        while not taken:
            attempts -= 1
            try:
                self._take_addresses(listener, taken)
            except OSError as error:
                for listening in taken:
                    listening.close()
                taken = []
                if error.errno != errno.EADDRINUSE or not attempts:
                    raise  # else: what was free on one address was not on the other
        port = taken[0].port
        bound = msgspec.structs.replace(
            listener, port=port, advertised_port=listener.advertised_port or port
        )
        self._listening += [(listening, bound) for listening in taken]
        return bound

    def _take_addresses(self, listener: Listener, taken: list[Listening]) -> None:
        """`localhost` is both loopback addresses: clients try either first."""
        for host in _LOOPBACK if listener.host == "localhost" else (listener.host,):
            port = taken[0].port if taken else listener.port
            try:
                taken.append(self._sockets.bind(host, port))
            except OSError as error:
                if taken and error.errno in _NO_IPV6:
                    logger.debug("no IPv6 loopback: %s", error)
                    continue
                place = f"cannot listen on {host}:{port}"
                raise type(error)(error.errno, f"{place}: {error.strerror}") from error

    def _expire_producers(self) -> None:
        now_ms = self.services.clock.now_ms()
        for topic in self.services.catalog.topics():
            for partition in topic.partitions:
                partition.producers.expire(now_ms)
        self._timers["producers"] = asyncio.get_running_loop().call_later(
            EXPIRY_INTERVAL_S, self._expire_producers
        )

    def _close_idle(self) -> None:
        """connections.max.idle.ms; negative: never."""
        idle_ms = self.services.config.connections_max_idle_ms
        if idle_ms < 0:
            return
        for transport in tuple(self._transports):
            transport.check_activity()
            if transport.quiet_checks >= IDLE_CHECKS:
                logger.debug("%s: closing: idle", transport.connection.client.address)
                transport.abort()
        interval_s = max(idle_ms / 1000 / IDLE_CHECKS, SHORTEST_IDLE_CHECK_S)
        self._timers["idle"] = asyncio.get_running_loop().call_later(interval_s, self._close_idle)


def _cluster_id(environment: Environment) -> str:
    """22 characters, as Kafka's."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(environment.random_bytes(16)).rstrip(b"=").decode()

"""The broker's life: build it, listen last, own its connections, end in order."""

import asyncio
import logging
import socket
from collections.abc import Iterable

import msgspec

from minibroker.protocol.frames import ReceiveBuffers
from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.producer_ids import ProducerIds, first_producer_id
from minibroker.storage.producers import ProducerLimits

from .config import Config, Listener
from .services import Environment, Services
from .serving import all_apis
from .transport import ClientTransport

logger = logging.getLogger(__name__)

DRAIN_S = 5.0
"""How long a stop waits for answers that are still to be sent."""
EXPIRY_INTERVAL_S = 600.0
"""Kafka's producer.id.expiration.check.interval.ms: how often what has expired is dropped."""
_BACKLOG = 1024
_LOOPBACK = ("127.0.0.1", "::1")


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
    )


class Server:
    """A running broker: its listeners and its connections."""

    def __init__(self, config: Config, environment: Environment | None = None) -> None:
        self.services = build_services(config, environment or Environment())
        self.registry = all_apis()
        self.buffers = ReceiveBuffers()
        self.listeners: tuple[Listener, ...] = ()
        """Those of the configuration, with the ports that were bound."""
        self._servers: list[asyncio.Server] = []
        self._transports: set[ClientTransport] = set()
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._expiry: asyncio.TimerHandle | None = None
        self._warned_of_limit = False

    async def start(self) -> None:
        """Listen. Raises OSError with the address in its text where one is taken."""
        bound = []
        try:
            for listener in self.services.config.listeners:
                bound.append(await self._listen(listener))
        except OSError:
            await self.stop()
            raise
        self.listeners = tuple(bound)
        self._expire_regularly()

    async def stop(self) -> None:
        """Accept no more, answer what was asked, close."""
        if self._expiry:
            self._expiry.cancel()
        for server in self._servers:
            server.close()
        for transport in tuple(self._transports):
            transport.close()
        try:
            async with asyncio.timeout(DRAIN_S):
                await self._all_closed.wait()
        except TimeoutError:
            for transport in tuple(self._transports):
                transport.abort()
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
        """A connection was made; whether max.connections has room for it."""
        limit = self.services.config.max_connections
        if len(self._transports) >= limit:
            if not self._warned_of_limit:
                logger.warning("max.connections = %d is reached: more are closed at once", limit)
            self._warned_of_limit = True
            return False
        self._transports.add(transport)
        self._all_closed.clear()
        return True

    def closed(self, transport: ClientTransport) -> None:
        """A connection is gone."""
        self._transports.discard(transport)
        if not self._transports:
            self._all_closed.set()

    async def _listen(self, listener: Listener) -> Listener:
        """Bind a listener's addresses, all with the same port."""
        port = listener.port
        for host in _addresses(listener.host):
            try:
                bound = _bind(host, port)
            except OSError as error:
                if host == "::1" and port:
                    logger.debug("no IPv6 loopback: %s", error)
                    continue
                raise OSError(error.errno, f"cannot listen on {host}:{port}: {error}") from error
            port = bound.getsockname()[1]
            advertised = msgspec.structs.replace(
                listener, port=port, advertised_port=listener.advertised_port or port
            )
            loop = asyncio.get_running_loop()
            self._servers.append(
                await loop.create_server(
                    lambda advertised=advertised: ClientTransport(self, advertised),  # type: ignore[misc]  # mypy cannot infer a lambda's default
                    sock=bound,
                    backlog=_BACKLOG,
                )
            )
        return advertised

    def _expire_regularly(self) -> None:
        now_ms = self.services.clock.now_ms()
        for topic in self.services.catalog.topics():
            for partition in topic.partitions:
                partition.producers.expire(now_ms)
        loop = asyncio.get_running_loop()
        self._expiry = loop.call_later(EXPIRY_INTERVAL_S, self._expire_regularly)


def _addresses(host: str) -> Iterable[str]:
    """`localhost` is both loopback addresses: clients try either first."""
    return _LOOPBACK if host == "localhost" else (host,)


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


def _cluster_id(environment: Environment) -> str:
    """22 characters, as Kafka's."""
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(environment.random_bytes(16)).rstrip(b"=").decode()

"""The broker's life: what it listens on, how many it lets in, and how it ends."""

import asyncio
import errno
import logging
import random
import socket

import pytest

from minibroker import running
from minibroker.config import Config
from minibroker.protocol.messages.api_versions import API_VERSIONS, ApiVersionsRequest
from minibroker.protocol.messages.fetch import (
    FETCH,
    FetchPartition,
    FetchRequest,
    FetchTopic,
)
from minibroker.server import Server
from minibroker.services import Environment
from minibroker.sockets import SystemSockets, TcpListening
from minibroker.storage.partition import Sender
from minibroker.storage.turned_away import TurnedAway
from tests.batches import batch, now_ms
from tests.wire import Closed, Wire, connected


async def started(environment: Environment | None = None, **options: str | int) -> Server:
    server = Server(Config.of(topics=["t"], **options), environment)
    await server.start()
    return server


def fetch(wait_ms: int, topic: str = "t") -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    wanted = FetchTopic(topic=topic, partitions=(partition,))
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=(wanted,))


async def open_wire(host: str, port: int) -> Wire:
    return Wire(*await asyncio.open_connection(host, port))


async def test_localhost_is_both_loopback_addresses_on_one_port() -> None:
    server = await started()
    host, port = server.bootstrap.split(":")

    assert host == "localhost"
    for address in ("127.0.0.1", "::1"):
        wire = await open_wire(address, int(port))
        assert (await wire.call(API_VERSIONS, 0, ApiVersionsRequest())).error_code == 0
        wire.writer.close()
    await server.stop()


async def test_a_taken_port_is_named_and_nothing_is_left_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(OSError, match=f"cannot listen on 127.0.0.1:{port}") as refused:
            await started(port=port)

    assert refused.value.errno == errno.EADDRINUSE
    await (await started(port=port)).stop()


async def test_a_port_that_another_program_has_on_ipv6_alone_is_taken_too() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        port = other.getsockname()[1]

        with pytest.raises(OSError, match=f"cannot listen on ::1:{port}"):
            await started(port=port)


class Crowded:
    """Sockets of a machine where the first free port of one address is taken on the other."""

    def __init__(self, error_number: int, failures: int) -> None:
        self.error_number = error_number
        self.failures = failures
        self.taken: list[TcpListening] = []

    def bind(self, host: str, port: int) -> TcpListening:
        if host == "::1" and self.failures:
            self.failures -= 1
            raise OSError(self.error_number, "no")
        self.taken.append(SystemSockets().bind(host, port))
        return self.taken[-1]


async def test_any_free_port_is_one_that_is_free_on_both_addresses() -> None:
    sockets = Crowded(errno.EADDRINUSE, failures=2)

    server = await started(Environment(sockets=sockets))

    assert len(sockets.taken) == 4
    await server.stop()


async def test_without_ipv6_the_other_address_does() -> None:
    sockets = Crowded(errno.EADDRNOTAVAIL, failures=1)

    server = await started(Environment(sockets=sockets))

    assert len(sockets.taken) == 1
    await server.stop()


async def test_above_max_connections_more_are_closed_with_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(max_connections=2) as broker:
        async with connected(broker.bootstrap) as one, connected(broker.bootstrap) as two:
            for wire in (one, two):
                await wire.call(API_VERSIONS, 0, ApiVersionsRequest())
            for _ in range(3):
                async with connected(broker.bootstrap) as third:
                    with pytest.raises(Closed):
                        await third.receive_frame()
            await one.call(API_VERSIONS, 0, ApiVersionsRequest())
        assert [record.getMessage() for record in caplog.records] == [
            "max.connections = 2 is reached: more are closed at once"
        ]


async def test_a_stop_answers_what_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    server = await started()
    wire = await open_wire("127.0.0.1", server.listeners[0].port)
    await wire.call(API_VERSIONS, 0, ApiVersionsRequest())
    wire.send(FETCH, 4, fetch(wait_ms=50))
    wire.send(API_VERSIONS, 0, ApiVersionsRequest())
    # Seen by the server once it has answered something that was sent behind, on the same loop.
    other = await open_wire("127.0.0.1", server.listeners[0].port)
    await other.call(API_VERSIONS, 0, ApiVersionsRequest())

    await server.stop()

    assert (await wire.receive(FETCH, 4)).responses[0].partitions[0].error_code == 0
    await wire.receive(API_VERSIONS, 0)
    for one in (wire, other):
        with pytest.raises(Closed):
            await one.receive_frame()
        one.writer.close()
    assert caplog.records == []


async def test_a_stop_does_not_wait_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("minibroker.server.DRAIN_S", 0.05)
    server = await started()
    (partition,) = server.services.catalog.create("unread", 1, {}).partitions
    large = memoryview(batch(0, 0, values=[random.randbytes(1_000_000)]))
    partition.append(large, Sender(9, TurnedAway()), now_ms())
    async with connected(server.bootstrap) as wire:
        for _ in range(50):  # more than the sockets' buffers hold, and nobody reads it
            wire.send(FETCH, 4, fetch(wait_ms=0, topic="unread"))
        async with connected(server.bootstrap) as other:
            await other.call(API_VERSIONS, 0, ApiVersionsRequest())

            async with asyncio.timeout(10):
                await server.stop()

    assert [record.levelno for record in caplog.records] == [logging.WARNING]


async def test_after_a_stop_nobody_gets_in() -> None:
    server = await started()
    port = server.listeners[0].port

    await server.stop()

    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_idle_connections_are_closed_and_waiting_ones_are_not() -> None:
    async with (
        running(connections_max_idle_ms=200, topics=["t"]) as broker,
        connected(broker.bootstrap) as idle,
        connected(broker.bootstrap) as waiting,
    ):
        await idle.call(API_VERSIONS, 0, ApiVersionsRequest())
        waiting.send(FETCH, 4, fetch(wait_ms=900))

        with pytest.raises(Closed):
            await idle.receive_frame()
        assert (await waiting.receive(FETCH, 4)).responses[0].partitions[0].error_code == 0


async def test_a_negative_idle_time_is_for_ever() -> None:
    async with (
        running(connections_max_idle_ms=-1) as broker,
        connected(broker.bootstrap) as wire,
    ):
        await wire.call(API_VERSIONS, 0, ApiVersionsRequest())

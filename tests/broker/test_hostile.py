"""Noise and malice on the port: it costs its sender the connection, and nobody else anything.

CVE-2026-111115 (tags) and CVE-2026-111108 (arrays) made brokers allocate on the sender's word.
"""

import asyncio
import logging
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from struct import pack

import pytest

from minibroker import Broker, running
from minibroker.protocol.headers import RequestHeader, encode_request_header
from minibroker.protocol.messages import all_schemas
from minibroker.protocol.messages.api_versions import API_VERSIONS, ApiVersionsRequest
from minibroker.protocol.schema import AnySchema
from minibroker.serving import all_apis
from tests.broker.memory_transport import MemoryOwner, MemoryTransport
from tests.broker.test_connection import settle
from tests.fuzz.explorer import mutated
from tests.fuzz.fuzz_frame import FRAMES
from tests.protocol.test_messages_hostile import swollen
from tests.wire import Closed, Wire, connected

TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(180))
HTTP = b"GET / HTTP/1.1\r\nHost: localhost:9092\r\nUser-Agent: curl/8.5.0\r\n\r\n"
NOISE = {
    "http": HTTP,
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls": TLS_HELLO,
    "ssh": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing but a negative size": pack(">i", -1),
    "an empty frame": pack(">i", 0),
    "half a header": pack(">ihh", 4, 18, 0),
    "an enormous client id": pack(">ihhih", 10, 18, 0, 1, 32767),
    "the largest size": b"\x7f\xff\xff\xff",
    "zeros": bytes(100),
    "ones": b"\xff" * 100,
}
MEMORY_PER_BYTE = 64
ONCE = 16 * 1024
"""Of a connection's own objects, an exception with its traceback and a line in the log."""
ANSWERS_PER_BYTE = {
    0: 130,
    1: 75,
    2: 110,
    10: 1100,
    21: 110,
    23: 110,
    32: 280,
    33: 330,
    44: 330,
    61: 210,
    65: 800,
    66: 120,
}
"""Too much, as measured: an element of one byte or two is answered with a value and a sentence."""
MAKES_TOPICS = {3, 19, 37}
"""What these requests ask for is kept, and larger than what it is asked for with."""


@asynccontextmanager
async def undisturbed(broker: Broker) -> AsyncIterator[None]:
    """A client that was there before is served all the same, and so is a new one."""
    async with connected(broker.bootstrap) as before:
        await before.call(API_VERSIONS, 0, ApiVersionsRequest())
        yield
        await before.call(API_VERSIONS, 0, ApiVersionsRequest())
    async with connected(broker.bootstrap) as new:
        await new.call(API_VERSIONS, 3, ApiVersionsRequest())


async def until_closed(wire: Wire) -> None:
    """Whatever comes, the broker closes in the end."""
    try:
        while True:
            await wire.receive_frame()
    except Closed:
        return


@pytest.mark.parametrize("noise", NOISE.values(), ids=NOISE)
async def test_noise_is_closed_with_one_line(
    noise: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running() as broker, undisturbed(broker), connected(broker.bootstrap) as wire:
        wire.writer.write(noise)
        await until_closed(wire)

    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is None
    assert len(record.getMessage()) < 300


@pytest.mark.parametrize("begun", [b"", HTTP[:2], pack(">i", 100), pack(">i", 100) + bytes(50)])
async def test_port_checks_and_halves_leave_no_line(
    begun: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with running() as broker, undisturbed(broker):
        for _ in range(20):
            async with connected(broker.bootstrap) as wire:
                wire.writer.write(begun)
                await wire.writer.drain()

    assert caplog.records == []


async def test_damaged_requests_cost_at_most_their_own_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    random, frames = Random(1), FRAMES.seeds()
    async with running(topics=["t"], memory_limit="16MiB") as broker, undisturbed(broker):
        for _ in range(200):
            async with connected(broker.bootstrap) as wire:
                for _ in range(4):
                    wire.send_frame(mutated(random.choice(frames), frames, random))
                wire.writer.write(HTTP)
                await until_closed(wire)

    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def test_a_connection_that_breaks_off_in_a_large_request_gives_back_its_memory() -> None:
    owner = MemoryOwner(all_apis())

    for _ in range(3):
        transport = MemoryTransport(owner)
        transport.feed(pack(">i", 50_000_000) + bytes(3_000_000))
        assert owner.request_memory.used_bytes <= 32 * 3_000_000
        transport.reset()
        await settle()

    assert owner.request_memory.used_bytes == 0
    assert owner.open == set()


def served() -> list[AnySchema]:
    keys = {api.api_key for api in all_apis().advertised()}
    return [schema for schema in all_schemas() if schema.key in keys]


each_served = pytest.mark.parametrize(
    "schema", [pytest.param(one, id=one.name) for one in served()]
)


@each_served
async def test_many_small_elements_cost_little_memory_over_a_connection(
    schema: AnySchema,
) -> None:
    version = schema.newest
    if schema.key in MAKES_TOPICS:
        pytest.skip("what it asks for is kept")
    header = encode_request_header(
        RequestHeader(schema.key, version, 1, "c"), schema.is_flexible(version)
    )
    for content in (b"", b"ab"):
        for value in swollen(schema.request, version, content, elements=2000):
            whole = header + schema.encode_request(version, value)
            data = pack(">i", len(whole)) + whole
            await peak_of_serving(data)
            peak = await peak_of_serving(data)
            per_byte = ANSWERS_PER_BYTE.get(schema.key, MEMORY_PER_BYTE)
            assert peak <= per_byte * len(data) + ONCE, value


@each_served
async def test_a_request_whose_answer_would_be_enormous_is_not_looked_at(
    schema: AnySchema,
) -> None:
    """Whatever an answer costs for each byte, all of it stays below 128 MB."""
    api = all_apis().find(schema.key)
    assert api
    per_byte = ANSWERS_PER_BYTE.get(schema.key, MEMORY_PER_BYTE)
    if schema.key != 0:
        assert api.max_request_bytes * per_byte <= 128 << 20
        owner = MemoryOwner(all_apis())
        transport = MemoryTransport(owner)
        head = pack(">hhih", schema.key, schema.newest, 1, -1)
        transport.feed(pack(">i", api.max_request_bytes + 1))
        transport.feed((head + bytes(api.max_request_bytes))[: api.max_request_bytes + 1])
        await settle()
        assert owner.open == set()


async def peak_of_serving(data: bytes) -> int:
    """The most memory that was held at once by a new connection that sends this."""
    owner = MemoryOwner(all_apis())
    tracemalloc.start()
    try:
        transport = MemoryTransport(owner)
        transport.feed(data)
        _, peak = tracemalloc.get_traced_memory()
        await settle()
        transport.reset()
        await settle()
    finally:
        tracemalloc.stop()
    return peak


async def test_tags_cost_nothing_over_a_connection() -> None:
    many = b"".join(bytes([tag, 0]) for tag in range(20, 84))
    for tags in (b"\x41" + many, b"\xff\xff\xff\xff\x0f" + many * 100):
        head = pack(">hhih", 18, 3, 1, -1)
        data = pack(">i", len(head + tags)) + head + tags

        assert await peak_of_serving(data) <= ONCE
    assert asyncio.all_tasks() == {asyncio.current_task()}

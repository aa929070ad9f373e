"""queued.max.request.bytes: memory runs short, and yet everyone gets on."""

import asyncio
import logging
from struct import pack

import pytest

from minibroker.client import Call, Reply
from minibroker.protocol.frames import LARGE_FRAME_BYTES
from minibroker.registry import Registry
from minibroker.request_memory import RequestMemory
from tests.broker.memory_transport import MemoryOwner, MemoryTransport, api, small_frame
from tests.broker.test_connection import NOW, Handlers, settle

LIMIT_BYTES = 400_000
SIZE = 300_000


def owner_of(handlers: Handlers, turn_s: float = 60.0) -> MemoryOwner:
    owner = MemoryOwner(handlers.registry)
    owner.request_memory = RequestMemory(LIMIT_BYTES, turn_s)
    return owner


def large_frame(mark: bytes) -> bytes:
    return small_frame(NOW, 1, mark + bytes(SIZE - len(mark)))


async def test_what_is_held_is_counted_and_given_back() -> None:
    owner = owner_of(Handlers())
    transport = MemoryTransport(owner)
    frame = large_frame(b"x")

    transport.feed(frame[:20])
    assert owner.request_memory.used_bytes == 20
    transport.feed(frame[20:100_000])
    assert 100_000 <= owner.request_memory.used_bytes <= 32 * 100_000
    transport.feed(frame[100_000:])
    assert owner.request_memory.used_bytes == 0
    transport.feed(frame[:50_000])
    transport.reset()
    await settle()
    assert owner.request_memory.used_bytes == 0


async def test_above_the_limit_large_requests_wait_and_small_ones_do_not() -> None:
    handlers = Handlers()
    owner = owner_of(handlers)
    stalled, next_one, waiting, small = (MemoryTransport(owner) for _ in range(4))
    stalled.feed(large_frame(b"1")[: SIZE // 2])
    next_one.feed(large_frame(b"2")[: SIZE // 2])
    assert owner.request_memory.used_bytes >= LIMIT_BYTES

    waiting.feed(large_frame(b"3")[: SIZE // 2])
    await settle()
    small.feed(small_frame(NOW, 5, b"small"))
    small.feed(small_frame(NOW, 6, b"x" * 1000)[:500])

    assert handlers.handled == [b"small"]
    assert not small.is_paused


async def test_halves_that_hold_all_memory_end_one_behind_the_other() -> None:
    handlers = Handlers()
    owner = owner_of(handlers)
    transports = [MemoryTransport(owner) for _ in range(12)]
    frames = [large_frame(b"%2d" % at) for at in range(12)]

    for start in range(0, SIZE + 18, 40_000):
        for transport, frame in zip(transports, frames, strict=True):
            transport.feed(frame[start : start + 40_000])
    for _ in range(50):
        await settle()

    assert {body[:2] for body in handlers.handled} == {b"%2d" % at for at in range(12)}
    assert owner.request_memory.used_bytes == 0


async def test_memory_that_is_held_has_a_bound() -> None:
    owner = owner_of(Handlers())
    transports = [MemoryTransport(owner) for _ in range(40)]

    for start in range(0, SIZE - 40_000, 40_000):
        for transport in transports:
            transport.feed(large_frame(b"x")[start : start + 40_000])
        await settle()

    one_read_each = 40 * (40_000 + LARGE_FRAME_BYTES)
    one_growth = 32 * 72_000
    assert owner.request_memory.used_bytes <= LIMIT_BYTES + one_read_each + one_growth


async def test_who_has_the_turn_and_stalls_is_closed_when_others_wait(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handled = asyncio.Event()

    def note(body: memoryview, call: Call) -> Reply:
        assert bytes(body[:5]) == b"whole"
        handled.set()
        return []

    owner = MemoryOwner(Registry([api(NOW, note)]))
    owner.request_memory = RequestMemory(LIMIT_BYTES, turn_s=0.01)
    holder, stalled, waiting = (MemoryTransport(owner) for _ in range(3))
    for transport in (holder, stalled):
        transport.feed(large_frame(b"half")[:200_000])
        await settle()
    waiting.feed(large_frame(b"whole"))

    async with asyncio.timeout(10):
        await handled.wait()

    assert [one.is_gone for one in (holder, stalled, waiting)] == [False, True, False]
    (record,) = caplog.records
    assert "others wait" in record.getMessage()


async def test_the_turn_has_no_end_while_nobody_else_waits() -> None:
    owner = owner_of(Handlers(), turn_s=0.001)
    holder, alone = MemoryTransport(owner), MemoryTransport(owner)
    holder.feed(large_frame(b"half")[:200_000])
    alone.feed(large_frame(b"half")[:200_000])
    await asyncio.sleep(0.01)

    assert not alone.is_gone
    alone.reset()
    holder.reset()
    await settle()
    assert owner.request_memory.turn is None


async def test_a_frame_beyond_the_limit_is_never_begun(caplog: pytest.LogCaptureFixture) -> None:
    owner = MemoryOwner(Registry([]))
    most = owner.services.config.socket_request_max_bytes

    for size in (most + 1, -1):
        transport = MemoryTransport(owner)
        transport.feed(pack(">i", size))
        await settle()
        assert transport.is_gone

    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    allowed = MemoryTransport(owner)
    allowed.feed(pack(">i", most))
    await settle()
    assert not allowed.is_gone

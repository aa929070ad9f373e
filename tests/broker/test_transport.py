"""Between the event loop and a connection: large answers, ends, and quiet connections."""

import asyncio

from minibroker.client import Call, Reply
from minibroker.registry import Registry
from minibroker.transport import PIECE_BYTES
from tests.broker.memory_transport import MemoryOwner, MemoryTransport, api, small_frame
from tests.broker.test_connection import LATER, NOW, Handlers, settle

LARGE_BYTES = 5 * PIECE_BYTES + 7
HUGE = 300


def large_answers(window: float) -> MemoryTransport:
    content = memoryview(bytes(LARGE_BYTES))

    def huge(body: memoryview, call: Call) -> Reply:
        return [b"head", content, b"tail"]

    handlers = Handlers()
    registry = Registry([api(HUGE, huge), api(NOW, handlers.now)])
    return MemoryTransport(MemoryOwner(registry), window)


async def test_a_large_answer_leaves_in_pieces_as_the_client_reads_them() -> None:
    transport = large_answers(window=PIECE_BYTES)
    transport.feed(small_frame(HUGE, 1) + small_frame(NOW, 2, b"x"))

    assert sum(map(len, transport.written)) <= 2 * PIECE_BYTES + 100
    for _ in range(10):
        transport.read_all()
        await settle()

    first, second = transport.answers
    assert first[4:] == b"head" + bytes(LARGE_BYTES) + b"tail"
    assert second[4:] == b"x"


async def test_a_client_that_closes_with_much_unsent_leaves_nothing_behind() -> None:
    transport = large_answers(window=PIECE_BYTES)
    transport.feed(small_frame(HUGE, 1))

    transport.reset()
    await settle()

    assert transport.is_gone


async def test_hanging_up_sends_first_what_was_answered() -> None:
    transport = large_answers(window=PIECE_BYTES)
    transport.feed(small_frame(HUGE, 1) + small_frame(12345, 2))
    for _ in range(10):
        transport.read_all()
        await settle()

    assert transport.is_gone
    assert transport.correlation_ids == [1]


async def test_draining_waits_for_a_client_that_reads_slowly() -> None:
    transport = large_answers(window=PIECE_BYTES)
    transport.feed(small_frame(HUGE, 1))

    transport.protocol.close()
    await settle()
    assert not transport.is_gone
    for _ in range(10):
        transport.read_all()
        await settle()

    assert transport.is_gone
    assert len(transport.answers) == 1


async def test_quiet_checks_count_only_when_nothing_moves() -> None:
    handlers = Handlers()
    transport = MemoryTransport(MemoryOwner(handlers.registry))
    protocol = transport.protocol

    counts = []
    for step in ("opened", "", "half a frame", "", "", "a request", "", "", "its answer", "", ""):
        match step:
            case "half a frame":
                transport.feed(small_frame(LATER, 1)[:5])
            case "a request":
                transport.feed(small_frame(LATER, 1)[5:])
            case "its answer":
                handlers.waiting[0].set_result([])
                await settle()
        protocol.check_activity()
        counts.append(protocol.quiet_checks)

    assert counts == [0, 1, 0, 1, 2, 0, 0, 0, 1, 2, 3]


async def test_a_client_that_does_not_read_is_quiet_though_it_is_owed_answers() -> None:
    transport = large_answers(window=100)
    transport.feed(small_frame(HUGE, 1))

    for _ in range(3):
        transport.protocol.check_activity()

    assert transport.protocol.quiet_checks == 2


async def test_connections_that_share_a_buffer_do_not_mix() -> None:
    handlers = Handlers()
    owner = MemoryOwner(handlers.registry)
    transports = [MemoryTransport(owner) for _ in range(3)]
    frames = [b"".join(small_frame(NOW, one, bytes([one]) * size) for size in (3, 70_000, 1, 999))
              for one in range(3)]  # fmt: skip

    for start in range(0, 80_000, 777):
        for transport, data in zip(transports, frames, strict=True):
            transport.feed(data[start : start + 777])

    for one, transport in enumerate(transports):
        assert [set(answer[4:]) for answer in transport.answers] == [{one}] * 4
    assert asyncio.all_tasks() == {asyncio.current_task()}

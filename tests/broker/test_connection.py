"""One connection: order, bounds, and what a bad request costs."""

import asyncio
from struct import pack

import pytest

from minibroker.client import Buffers, Call, Hangup, Reply
from minibroker.connection import FLUSH_BYTES, MAX_UNANSWERED
from minibroker.protocol.errors import Malformed
from minibroker.registry import Registry
from minibroker.serving import all_apis
from tests.broker.memory_transport import MemoryOwner, MemoryTransport, api, small_frame

NOW, LATER, BAD, BYE, BUG, SILENT, LARGE = range(200, 207)


class Handlers:
    """APIs that answer at once, later, or not as they should."""

    def __init__(self) -> None:
        self.handled: list[bytes] = []
        self.waiting: list[asyncio.Future[Buffers]] = []
        self.registry = Registry(
            [
                api(NOW, self.now),
                api(LATER, self.later),
                api(BAD, self.bad),
                api(BYE, self.bye),
                api(BUG, self.bug),
                api(SILENT, self.silent),
                api(LARGE, self.large),
            ]
        )

    def now(self, body: memoryview, call: Call) -> Reply:
        self.handled.append(bytes(body))
        return [bytes(body)]

    def later(self, body: memoryview, call: Call) -> Reply:
        self.handled.append(bytes(body))
        self.waiting.append(asyncio.get_running_loop().create_future())
        return self.waiting[-1]

    def bad(self, body: memoryview, call: Call) -> Reply:
        raise Malformed("no such thing")

    def bye(self, body: memoryview, call: Call) -> Reply:
        raise Hangup("had enough")

    def bug(self, body: memoryview, call: Call) -> Reply:
        raise ZeroDivisionError("a slip")

    def silent(self, body: memoryview, call: Call) -> Reply:
        self.handled.append(bytes(body))
        return None

    def large(self, body: memoryview, call: Call) -> Reply:
        self.handled.append(bytes(body))
        return [b"head", memoryview(bytes(100_000)), b"tail"]


async def settle() -> None:
    """Until what was put off with call_soon has run."""
    for _ in range(10):
        await asyncio.sleep(0)


def connection(window: float = float("inf")) -> tuple[Handlers, MemoryTransport]:
    handlers = Handlers()
    return handlers, MemoryTransport(MemoryOwner(handlers.registry), window)


async def test_answers_leave_in_arrival_order_however_late_they_are() -> None:
    handlers, transport = connection()
    transport.feed(b"".join(small_frame(key, at) for at, key in enumerate(
        [NOW, LATER, NOW, LATER, SILENT, LATER, NOW])))  # fmt: skip

    assert transport.correlation_ids == [0]
    handlers.waiting[2].set_result([b"5"])
    handlers.waiting[1].set_result([b"3"])
    await settle()
    assert transport.correlation_ids == [0]
    handlers.waiting[0].set_result([b"1"])
    await settle()
    assert transport.correlation_ids == [0, 1, 2, 3, 5, 6]


async def test_an_answer_is_the_correlation_id_and_the_body() -> None:
    handlers, transport = connection()

    transport.feed(small_frame(NOW, -7, b"body") + small_frame(LATER, 8) + small_frame(LARGE, 9))
    handlers.waiting[0].set_result([b"bo", b"dy"])
    await settle()

    assert transport.answers == [
        pack(">i", -7) + b"body",
        pack(">i", 8) + b"body",
        pack(">i", 9) + b"head" + bytes(100_000) + b"tail",
    ]


async def test_answers_that_are_ready_together_are_written_together() -> None:
    _, transport = connection()

    transport.feed(b"".join(small_frame(NOW, at) for at in range(50)))

    assert len(transport.written) == 1
    assert transport.correlation_ids == list(range(50))


async def test_many_answers_are_sent_before_all_are_made() -> None:
    handlers, transport = connection(window=FLUSH_BYTES)

    transport.feed(b"".join(small_frame(NOW, at, bytes(1000)) for at in range(250)))

    assert len(handlers.handled) <= 2 * FLUSH_BYTES / 1000
    while not transport.is_gone and len(handlers.handled) < 250:
        before = len(handlers.handled)
        transport.read_all()
        await settle()
        assert len(handlers.handled) > before
    assert transport.correlation_ids == list(range(250))


async def test_with_100_unanswered_the_rest_waits_and_then_goes_on() -> None:
    handlers, transport = connection()
    transport.feed(b"".join(small_frame(LATER, at, b"%d" % at) for at in range(250)))

    assert len(handlers.handled) == MAX_UNANSWERED
    assert transport.is_paused
    done = 0
    while done < 250:
        handlers.waiting[done].set_result([])
        done += 1
        await settle()
        assert len(handlers.handled) <= done + MAX_UNANSWERED
    assert handlers.handled == [b"%d" % at for at in range(250)]
    assert transport.correlation_ids == list(range(250))
    assert not transport.is_paused


async def test_a_client_that_does_not_read_stops_being_read() -> None:
    handlers, transport = connection(window=1000)
    transport.feed(b"".join(small_frame(LARGE, at, b"%d" % at) for at in range(5)))

    assert handlers.handled == [b"0"]
    assert transport.is_paused
    for _ in range(4):
        transport.read_all()
        await settle()
    transport.feed(small_frame(NOW, 5))
    transport.read_all()
    await settle()

    assert transport.correlation_ids == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("key", "said"),
    [(BAD, "a malformed request: no such thing"), (BYE, "had enough"), (BUG, "a bug")],
)
async def test_a_bad_request_costs_the_connection_and_says_so_in_one_line(
    key: int, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    handlers, transport = connection()

    transport.feed(small_frame(NOW, 0) + small_frame(key, 1) + small_frame(NOW, 2, b"behind"))
    await settle()

    assert transport.is_gone
    assert transport.correlation_ids == [0]
    assert b"behind" not in handlers.handled
    (record,) = caplog.records
    assert record.getMessage() == f"client:1: closing: {said}"
    assert bool(record.exc_info) is (key == BUG)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("a slip"), Hangup("had enough"), Malformed("no"), None]
)
async def test_a_bad_answer_that_comes_late_costs_the_connection(
    error: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    handlers, transport = connection()
    transport.feed(small_frame(LATER, 0) + small_frame(LATER, 1))

    if error:
        handlers.waiting[0].set_exception(error)
    else:
        handlers.waiting[0].cancel()
    await settle()

    assert transport.is_gone
    assert transport.answers == []
    assert handlers.waiting[1].cancelled()
    (record,) = caplog.records
    assert bool(record.exc_info) is (error is None or isinstance(error, ZeroDivisionError))


async def test_whoever_waited_for_a_lost_connection_waits_no_more() -> None:
    handlers, transport = connection()
    transport.feed(small_frame(LATER, 0))

    transport.reset()
    await settle()

    assert handlers.waiting[0].cancelled()


@pytest.mark.parametrize("answered", [0, 1, MAX_UNANSWERED])
async def test_requests_that_were_read_whole_are_handled_though_the_client_is_gone(
    answered: int,
) -> None:
    handlers, transport = connection()
    frames = [small_frame(LATER, at, b"%d" % at) for at in range(130)]
    transport.feed(b"".join(frames) + small_frame(NOW, 0, b"cut off")[:-1])
    for future in handlers.waiting[:answered]:
        future.set_result([])

    transport.reset()
    await settle()

    assert handlers.handled == [b"%d" % at for at in range(130)]


async def test_a_bad_request_among_those_of_a_lost_connection_ends_them() -> None:
    handlers, transport = connection()
    transport.feed(
        b"".join(small_frame(LATER, at) for at in range(MAX_UNANSWERED))
        + small_frame(NOW, 0, b"before") + small_frame(BAD, 1) + small_frame(NOW, 2, b"behind")
    )  # fmt: skip

    transport.reset()
    await settle()

    assert b"before" in handlers.handled
    assert b"behind" not in handlers.handled


async def test_draining_answers_what_was_read_and_reads_no_more() -> None:
    handlers, transport = connection()
    transport.feed(b"".join(small_frame(LATER, at) for at in range(120)))

    transport.protocol.close()
    transport.feed(small_frame(NOW, 1000))
    await settle()
    assert not transport.is_gone
    for at in range(120):
        handlers.waiting[at].set_result([])
        await settle()

    assert transport.is_gone
    assert transport.correlation_ids == list(range(120))


async def test_draining_ends_an_idle_connection_at_once() -> None:
    _, transport = connection()

    transport.protocol.close()
    await settle()

    assert transport.is_gone


async def test_an_unknown_request_is_logged_once_and_closes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner = MemoryOwner(all_apis())

    for key, version in [(77, 0), (77, 0), (77, 1), (3, 99), (77, 0)]:
        transport = MemoryTransport(owner)
        header = pack(">hhih", key, version, 1, 3) + b"c\nd"
        transport.feed(pack(">i", len(header)) + header)
        await settle()
        assert transport.is_gone
        assert transport.answers == []

    assert [record.getMessage() for record in caplog.records] == [
        f"client:1: closing: API {asked} was asked for by client id 'c\\nd' with software ''"
        for asked in (
            "77 version 0 (unknown)",
            "77 version 1 (unknown)",
            "3 version 99 (Metadata has versions 0 to 13)",
        )
    ]


async def test_a_long_client_id_is_not_remembered_whole(caplog: pytest.LogCaptureFixture) -> None:
    transport = MemoryTransport(MemoryOwner(all_apis()))
    header = pack(">hhih", 77, 0, 1, 30_000) + b"x" * 30_000

    transport.feed(pack(">i", len(header)) + header)
    await settle()

    assert len(caplog.records[0].getMessage()) < 300

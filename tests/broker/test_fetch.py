"""Fetch over a real socket: limits, long polls, errors, and clients that do not read."""

import asyncio
from collections.abc import AsyncIterator, Callable
from struct import unpack_from

import pytest

from minibroker.config import Config
from minibroker.protocol.compression import Codec
from minibroker.protocol.messages.fetch import (
    FETCH,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from minibroker.protocol.records import recompress
from minibroker.protocol.types import TopicId
from minibroker.server import Server
from minibroker.storage.outcome import Written
from minibroker.storage.partition import Partition, Sender
from minibroker.storage.turned_away import TurnedAway
from tests.batches import batch, now_ms
from tests.wire import Wire, connected

TOPIC = "fetched"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A broker with a topic of two partitions."""
    one = Server(Config.of(topic=f"{TOPIC}:2"))
    await one.start()
    yield one
    await one.stop()


@pytest.fixture
async def wire(server: Server) -> AsyncIterator[Wire]:
    async with connected(server.bootstrap) as one:
        yield one


def partition_of(server: Server, index: int = 0) -> Partition:
    topic = server.services.catalog.find(TOPIC)
    assert topic
    return topic.partitions[index]


def append(server: Server, value: bytes = b"v", *, count: int = 1, index: int = 0) -> int:
    """Append a batch; its size in the log."""
    sent = batch(0, count - 1, values=[value] * count, producer_id=-1, epoch=-1)
    outcome = partition_of(server, index).append(
        memoryview(sent), Sender(9, TurnedAway()), now_ms()
    )
    assert isinstance(outcome, Written)
    return len(sent)


def asking(
    *wanted: FetchPartition,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 30,
    isolation_level: int = 0,
    session_id: int = 0,
    session_epoch: int = -1,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=(FetchTopic(topic=TOPIC, partitions=wanted),),
    )


def at(
    offset: int, *, index: int = 0, max_bytes: int = 1 << 20, leader_epoch: int = -1
) -> FetchPartition:
    return FetchPartition(
        partition=index,
        fetch_offset=offset,
        partition_max_bytes=max_bytes,
        current_leader_epoch=leader_epoch,
    )


async def fetch(wire: Wire, request: FetchRequest, version: int = 11) -> tuple[PartitionData, ...]:
    return partitions(await wire.call(FETCH, version, request))


def partitions(response: FetchResponse) -> tuple[PartitionData, ...]:
    assert response.error_code == 0
    return response.responses[0].partitions


def offsets(answer: PartitionData) -> list[tuple[int, int]]:
    """The first and last offset of each batch."""
    records = bytes(answer.records or b"")
    found, position = [], 0
    while position < len(records):
        base_offset, length = unpack_from(">qi", records, position)
        (last_delta,) = unpack_from(">i", records, position + 23)
        found.append((base_offset, base_offset + last_delta))
        position += 12 + length
    assert position == len(records), "only whole batches"
    return found


async def seen(server: Server, condition: Callable[[], bool]) -> None:
    """The server has come to what was sent to it: each round trip lets it do all that it can."""
    async with asyncio.timeout(10), connected(server.bootstrap) as other:
        while not condition():
            await fetch(other, asking(at(0)))


@pytest.mark.parametrize("version", range(4, 13))
async def test_batches_come_whole_from_the_one_that_holds_the_offset(
    server: Server, wire: Wire, version: int
) -> None:
    for _ in range(3):
        append(server, count=3)

    for offset, expected in (
        (0, [(0, 2), (3, 5), (6, 8)]),
        (2, [(0, 2), (3, 5), (6, 8)]),
        (4, [(3, 5), (6, 8)]),
        (8, [(6, 8)]),
        (9, []),
    ):
        (answer,) = await fetch(wire, asking(at(offset)), version)
        assert offsets(answer) == expected
        assert (answer.high_watermark, answer.last_stable_offset) == (9, 9)


async def test_the_limit_of_a_partition_cuts_behind_whole_batches(
    server: Server, wire: Wire
) -> None:
    size = append(server)
    for _ in range(4):
        append(server)

    for limit, count in ((size, 1), (2 * size - 1, 1), (2 * size, 2), (4 * size + 1, 4)):
        (answer,) = await fetch(wire, asking(at(0, max_bytes=limit)))
        assert len(offsets(answer)) == count


async def test_the_first_batch_is_whole_whatever_the_limits(server: Server, wire: Wire) -> None:
    append(server, bytes(5000))
    append(server, bytes(5000), index=1)

    first, second = await fetch(
        wire, asking(at(0, max_bytes=1), at(0, index=1, max_bytes=1), max_bytes=1)
    )

    assert offsets(first) == [(0, 0)]
    assert offsets(second) == []


async def test_the_first_batch_may_be_that_of_a_later_partition(server: Server, wire: Wire) -> None:
    append(server, bytes(5000), index=1)

    first, second = await fetch(wire, asking(at(0), at(0, index=1, max_bytes=1), max_bytes=1))

    assert (offsets(first), offsets(second)) == ([], [(0, 0)])


async def test_the_limit_of_the_request_goes_over_its_partitions(
    server: Server, wire: Wire
) -> None:
    size = append(server)
    append(server, index=1)

    for limit, counts in ((size, (1, 0)), (2 * size - 1, (1, 0)), (2 * size, (1, 1))):
        answers = await fetch(wire, asking(at(0), at(0, index=1), max_bytes=limit))
        assert tuple(len(offsets(answer)) for answer in answers) == counts


async def test_a_log_of_many_chunks_is_read_from_end_to_end(server: Server, wire: Wire) -> None:
    for number in range(300):
        append(server, b"%d" % number * 2000)

    got: list[int] = []
    while len(got) < 300:
        (answer,) = await fetch(wire, asking(at(len(got), max_bytes=200_000)))
        assert 0 < len(answer.records or b"") <= 200_000
        got += [base for base, _ in offsets(answer)]

    assert got == list(range(300))


async def test_what_is_asked_for_must_be_there(server: Server, wire: Wire) -> None:
    for _ in range(5):
        append(server)
    partition_of(server).log.trim(2)

    for wanted, error_code in (
        (at(1), 1),
        (at(2), 0),
        (at(5), 0),
        (at(6), 1),
        (at(0, index=7), 3),
        (at(2, leader_epoch=0), 0),
        (at(2, leader_epoch=1), 75),
    ):
        (answer,) = await fetch(wire, asking(wanted, max_wait_ms=60_000, min_bytes=0))
        assert answer.error_code == error_code
        if error_code == 1:
            assert (answer.high_watermark, answer.log_start_offset) == (5, 2)
            assert not answer.records


async def test_an_error_in_one_partition_answers_at_once(server: Server, wire: Wire) -> None:
    wanted = asking(at(0), at(0, index=9), max_wait_ms=60_000)

    good, bad = await fetch(wire, wanted)

    assert (good.error_code, bad.error_code) == (0, 3)


async def test_an_unknown_topic_is_3_and_an_unknown_id_is_100(server: Server, wire: Wire) -> None:
    topic = server.services.catalog.find(TOPIC)
    assert topic
    append(server)

    def by_id(topic_id: TopicId) -> FetchRequest:
        wanted = FetchTopic(topic_id=topic_id, partitions=(at(0), at(0, index=5)))
        return FetchRequest(max_wait_ms=0, min_bytes=1, topics=(wanted,))

    for version in range(13, 19):
        found, missing = await fetch(wire, by_id(topic.topic_id), version)
        assert (found.error_code, offsets(found), missing.error_code) == (0, [(0, 0)], 3)
        for answer in await fetch(wire, by_id(TopicId(bytes(15) + b"\x07")), version):
            assert answer.error_code == 100
    gone = FetchRequest(
        max_wait_ms=0, min_bytes=1, topics=(FetchTopic(topic="gone", partitions=(at(0),)),)
    )
    (answer,) = await fetch(wire, gone)
    assert answer.error_code == 3


async def test_read_committed_reads_to_the_high_watermark(server: Server, wire: Wire) -> None:
    append(server)

    (answer,) = await fetch(wire, asking(at(0), isolation_level=1))

    assert offsets(answer) == [(0, 0)]
    assert (answer.last_stable_offset, answer.preferred_read_replica) == (1, -1)


async def test_zstd_is_not_for_versions_that_cannot_read_it(server: Server, wire: Wire) -> None:
    sent = recompress(memoryview(batch(0, 0, producer_id=-1, epoch=-1)), Codec.ZSTD, None)
    partition_of(server).append(memoryview(sent), Sender(9, TurnedAway()), now_ms())

    (old,) = await fetch(wire, asking(at(0)), 9)
    (new,) = await fetch(wire, asking(at(0)), 10)

    assert (old.error_code, old.records) == (76, b"")
    assert (new.error_code, bytes(new.records or b"")[16:]) == (0, bytes(sent)[16:])


async def test_there_are_no_sessions_and_none_can_be_continued(wire: Wire) -> None:
    wanted = asking(at(0), session_epoch=0)
    response = await wire.call(FETCH, 11, wanted)
    assert (response.error_code, response.session_id) == (0, 0)

    continued = asking(at(0), session_id=5, session_epoch=3)
    assert (await wire.call(FETCH, 11, continued)).error_code == 70


async def test_an_append_wakes_a_long_poll(server: Server, wire: Wire) -> None:
    wire.send(FETCH, 11, asking(at(0), at(0, index=1), max_wait_ms=60_000))
    await seen(server, lambda: bool(partition_of(server, 1).watchers))

    append(server, index=1)

    _, answer = partitions(await wire.receive(FETCH, 11))
    assert offsets(answer) == [(0, 0)]


async def test_a_long_poll_waits_for_min_bytes(server: Server, wire: Wire) -> None:
    size = append(server)
    wire.send(FETCH, 11, asking(at(0), max_wait_ms=60_000, min_bytes=3 * size))
    async with connected(server.bootstrap) as other:
        await fetch(other, asking(at(0)))  # by now the first is seen

        append(server)
        await fetch(other, asking(at(0)))
        assert partition_of(server).watchers
        append(server)

        (answer,) = partitions(await wire.receive(FETCH, 11))
    assert len(offsets(answer)) == 3
    assert not partition_of(server).watchers


async def test_a_long_poll_ends_in_time_with_what_there_is(server: Server, wire: Wire) -> None:
    append(server)

    (answer,) = await fetch(wire, asking(at(0), max_wait_ms=30, min_bytes=1 << 20))

    assert offsets(answer) == [(0, 0)]
    assert not partition_of(server).watchers


async def test_a_long_poll_learns_that_its_topic_is_gone(server: Server, wire: Wire) -> None:
    wire.send(FETCH, 11, asking(at(0), max_wait_ms=60_000))
    async with connected(server.bootstrap) as other:
        await fetch(other, asking(at(0)))
    topic = server.services.catalog.find(TOPIC)
    assert topic

    server.services.catalog.delete(topic)

    (answer,) = partitions(await wire.receive(FETCH, 11))
    assert answer.error_code == 3


async def test_a_thousand_waiting_consumers_cost_nothing_while_idle(server: Server) -> None:
    """They only watch; nothing runs until an append answers all of them."""
    wires = []
    for _ in range(100):
        reader, writer = await asyncio.open_connection(*server.bootstrap.split(":"))
        wires.append(Wire(reader, writer))
        for _ in range(10):
            wires[-1].send(FETCH, 11, asking(at(0), max_wait_ms=60_000))
    await seen(server, lambda: len(partition_of(server).watchers) == 1000)

    append(server)

    for wire in wires:
        for _ in range(10):
            (answer,) = partitions(await wire.receive(FETCH, 11))
            assert offsets(answer) == [(0, 0)]
        wire.writer.close()
    assert not partition_of(server).watchers


async def test_a_waiting_consumer_that_leaves_is_forgotten(server: Server) -> None:
    async with connected(server.bootstrap) as leaving:
        leaving.send(FETCH, 11, asking(at(0), max_wait_ms=60_000))
        await seen(server, lambda: bool(partition_of(server).watchers))

    await seen(server, lambda: not partition_of(server).watchers)


async def test_a_client_that_does_not_read_stops_only_itself(server: Server, wire: Wire) -> None:
    for _ in range(8):
        append(server, bytes(1_000_000))
    async with connected(server.bootstrap) as deaf:
        for _ in range(200):  # asks for 1.6 GB, and reads nothing of it
            deaf.send(FETCH, 11, asking(at(0)))

        for offset in range(8):
            (answer,) = await fetch(wire, asking(at(offset)))
            assert offsets(answer)[0] == (offset, offset)

        (transport,) = (
            one for one in server._transports if one.connection.client.address.endswith(_port(deaf))
        )
        assert len(transport._unsent) <= 2, "an answer or two, and not two hundred"


def _port(wire: Wire) -> str:
    return f":{wire.writer.get_extra_info('sockname')[1]}"

"""The shortcut gives the bytes that the long way gives, and leaves the same state."""

import random
from collections import defaultdict
from collections.abc import Callable
from struct import pack
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minibroker.client import Client
from minibroker.connection import Connection
from minibroker.protocol.messages.produce import (
    PRODUCE,
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.services import Environment
from minibroker.serving import all_apis
from minibroker.storage.engine import Buffer
from tests.batches import batch
from tests.broker.memory_transport import LISTENER, MemoryOwner, frame

NOW_MS = 1_800_000_000_000
TOPICS = ("t", "a.topic-with_a.longer-name", "deleted", "missing")
USUALLY = 9


class FixedClock:
    """Time stands still, so that both ways see the same."""

    def now_ms(self) -> int:
        return NOW_MS


class Request(NamedTuple):
    """One Produce request of one partition, as far as a burst does not say it already."""

    sequence: str
    records_count: int
    acks: int
    wrong_crc: bool
    attributes: int
    behind: bytes


class Burst(NamedTuple):
    """Requests that are sent in one piece."""

    connection: int
    version: int
    topic: str
    partition: int
    producer_id: int
    client_id: str | None
    requests: list[Request]


class Change(NamedTuple):
    """Something that happens to a topic between bursts."""

    topic: str
    overrides: dict[str, str]
    kind: str


REQUESTS = st.builds(
    Request,
    sequence=st.sampled_from(["next"] * USUALLY + ["again", "gap", "new epoch", "old epoch"]),
    records_count=st.integers(1, 3),
    acks=st.sampled_from([-1] * USUALLY + [1, 0, 5]),
    wrong_crc=st.sampled_from([False] * USUALLY + [True]),
    attributes=st.sampled_from([0] * USUALLY + [8, 16, 32, 4]),
    behind=st.sampled_from([b""] * USUALLY + [b"\0", b"\0\0\0\0"]),
)
BURSTS = st.builds(
    Burst,
    connection=st.integers(0, 1),
    version=st.sampled_from([3, 7, 8, 9, 9, 12, 12, 13, 13]),
    topic=st.sampled_from([TOPICS[0]] * 3 + list(TOPICS)),
    partition=st.sampled_from([0] * USUALLY + [1, 5]),
    producer_id=st.sampled_from([7, 7, 7, 8, 1000, -1]),
    client_id=st.sampled_from(["c", "c", "another", "", None]),
    requests=st.lists(REQUESTS, min_size=1, max_size=8),
)
CHANGES = st.builds(
    Change,
    topic=st.sampled_from(TOPICS),
    overrides=st.sampled_from(
        [{}, {"max.message.bytes": "100"}, {"message.timestamp.type": "LogAppendTime"}]
    ),
    kind=st.sampled_from(["delete", "create", "alter"]),
)


class Way:
    """A broker whose requests go one of the two ways."""

    def __init__(self, takes_shortcut: bool) -> None:
        environment = Environment(clock=FixedClock(), random_bytes=random.Random(1).randbytes)
        self.owner = MemoryOwner(all_apis(), environment)
        for name in TOPICS[1:3]:
            self.owner.services.catalog.create(name, 2, {})
        self.owner.services.catalog.producer_ids.allocate()
        self.takes_shortcut = takes_shortcut
        self.short_frames = 0
        self.sent: list[bytes] = []
        self.clients: list[Client] = []
        self.connections = [self.connect(), self.connect()]

    def connect(self) -> Connection:
        self.clients.append(Client("client:1", LISTENER))
        return Connection(self.owner, self.clients[-1], self)

    def write(self, data: Buffer) -> None:
        self.sent.append(bytes(data))

    def close(self) -> None:
        self.sent.append(b"closed")

    def answered(self) -> None:
        raise AssertionError("nothing waits here")

    def feed(self, at: int, data: bytes) -> None:
        """What arrives in one piece; a connection that was closed is opened again."""
        if not self.connections[at].is_open:
            self.connections[at] = self.connect()
        connection = self.connections[at]
        view, start = memoryview(data), 0
        while start < len(data) and connection.is_open:
            if self.takes_shortcut:
                after = connection.take_common(view, start, len(data))
                self.short_frames += after > start
                start = after
                if start == len(data):
                    break
            size = int.from_bytes(view[start : start + 4], "big")
            connection.receive(view[start + 4 : start + 4 + size])
            start += 4 + size
        connection.flush()

    def change(self, change: Change) -> None:
        catalog = self.owner.services.catalog
        topic = catalog.find(change.topic)
        if topic is None:
            if change.kind == "create":
                catalog.create(change.topic, 2, change.overrides)
        elif change.kind == "delete":
            catalog.delete(topic)
        elif change.kind == "alter":
            catalog.alter(topic, change.overrides)

    def state(self) -> list[object]:
        """Logs, entries, and what the connections are about to send again."""
        logs: list[object] = []
        for topic in self.owner.services.catalog.topics():
            for partition in topic.partitions:
                end = partition.log.end_offset
                logs.append((topic.name, topic.topic_id, end))
                logs.append(b"".join(partition.log.read(0, 1 << 30, end)))
                logs.append(list(partition.producers.unexpired(NOW_MS)))
        return [*logs, *(list(client.turned_away._order) for client in self.clients)]


class Numbers:
    """Epoch and next sequence of each producer in each partition, as a client counts them."""

    def __init__(self) -> None:
        self.epochs: defaultdict[tuple[object, ...], int] = defaultdict(int)
        self.next: defaultdict[tuple[object, ...], int] = defaultdict(int)

    def batch(self, burst: Burst, wanted: Request) -> bytes:
        key = (burst.producer_id, burst.topic, burst.partition)
        epoch, first = self.epochs[key], self.next[key]
        match wanted.sequence:
            case "new epoch":
                self.epochs[key] = epoch = epoch + 1
                first = 0
            case "old epoch":
                epoch -= 1
            case "again":
                first = max(first - wanted.records_count, 0)
            case "gap":
                first += 2
        if wanted.sequence in ("next", "new epoch"):
            self.next[key] = first + wanted.records_count
        if burst.producer_id < 0:
            epoch = first = -1
        return batch(
            first,
            first + wanted.records_count - 1,
            producer_id=burst.producer_id,
            epoch=epoch,
            timestamp=NOW_MS,
            wrong_crc=wanted.wrong_crc,
            attributes=wanted.attributes,
        )


def request_bytes(way: Way, burst: Burst, wanted: Request, records: bytes, at: int) -> bytes:
    topic = way.owner.services.catalog.find(burst.topic)
    data = TopicProduceData(
        name=burst.topic,
        topic_id=topic.topic_id if topic else ZERO_TOPIC_ID,
        partition_data=(PartitionProduceData(index=burst.partition, records=records),),
    )
    request = ProduceRequest(acks=wanted.acks, timeout_ms=1000, topic_data=(data,))
    whole = frame(PRODUCE, burst.version, request, at, burst.client_id)[4:] + wanted.behind
    return pack(">i", len(whole)) + whole


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(BURSTS, BURSTS, BURSTS, CHANGES), max_size=12))
def test_the_shortcut_and_the_long_way_agree(steps: list[Burst | Change]) -> None:
    short, long, numbers = Way(takes_shortcut=True), Way(takes_shortcut=False), Numbers()
    correlation_id = 0

    for step in steps:
        if isinstance(step, Change):
            short.change(step)
            long.change(step)
            continue
        pieces = b""
        for wanted in step.requests:
            correlation_id += 1
            records = numbers.batch(step, wanted)
            pieces += request_bytes(long, step, wanted, records, correlation_id)
        short.feed(step.connection, pieces)
        long.feed(step.connection, pieces)

    assert b"".join(short.sent) == b"".join(long.sent)
    assert short.state() == long.state()


def test_a_pipelined_producer_takes_the_shortcut() -> None:
    for version in (5, 8, 9, 12, 13):
        short, long, numbers = Way(takes_shortcut=True), Way(takes_shortcut=False), Numbers()
        usual = Request("next", 1, -1, False, 0, b"")
        burst = Burst(0, version, "t", 0, 7, "c", [usual] * 20)
        pieces = [
            request_bytes(long, burst, usual, numbers.batch(burst, usual), at) for at in range(20)
        ]

        for way in (short, long):
            for piece in pieces[:10]:
                way.feed(0, piece)
            way.feed(0, b"".join(pieces[10:]))

        assert short.short_frames == 9 + 1, version
        assert b"".join(short.sent) == b"".join(long.sent)
        assert short.state() == long.state()


USUAL = Request("next", 1, -1, False, 0, b"")
TWISTS: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda piece: piece,
    "bytes behind": lambda piece: resized(piece + b"\0"),
    "cut short": lambda piece: resized(piece[:-1]),
    "a batch that claims more": lambda piece: shifted_length(piece, 1),
    "a batch that claims less": lambda piece: shifted_length(piece, -1),
    "another tag count": lambda piece: resized(piece[:-1] + b"\1\x09\0"),
    "a tag that is not there": lambda piece: piece[:-1] + b"\1",
    "another version": lambda piece: piece[:6] + pack(">h", 99) + piece[8:],
}


def resized(piece: bytes) -> bytes:
    return pack(">i", len(piece) - 4) + piece[4:]


def shifted_length(piece: bytes, by: int) -> bytes:
    """The length that the batch itself states, in front of leader epoch and magic."""
    at = piece.index(b"\xff\xff\xff\xff\x02") - 4
    length = int.from_bytes(piece[at : at + 4], "big") + by
    return piece[:at] + pack(">i", length) + piece[at + 4 :]


@pytest.mark.parametrize("version", [5, 8, 9, 12, 13])
@pytest.mark.parametrize("twist", TWISTS)
def test_what_is_not_as_it_seems_goes_the_long_way(version: int, twist: str) -> None:
    both, numbers = (Way(takes_shortcut=True), Way(takes_shortcut=False)), Numbers()
    burst = Burst(0, version, "t", 0, 7, "c", [])
    pieces = [
        request_bytes(both[1], burst, USUAL, numbers.batch(burst, USUAL), at) for at in range(9)
    ]
    pieces[6] = TWISTS[twist](pieces[6])

    for way in both:
        way.feed(0, pieces[0])
        way.feed(0, b"".join(pieces[1:]))

    assert b"".join(both[0].sent) == b"".join(both[1].sent)
    assert both[0].state() == both[1].state()


@pytest.mark.parametrize("version", [5, 9, 13])
@pytest.mark.parametrize("kinds", [["delete"], ["delete", "create"], ["alter"]])
def test_a_topic_that_changes_is_looked_up_again(version: int, kinds: list[str]) -> None:
    both, numbers = (Way(takes_shortcut=True), Way(takes_shortcut=False)), Numbers()
    burst = Burst(0, version, "t", 0, 7, "c", [])
    pieces = [
        request_bytes(both[1], burst, USUAL, numbers.batch(burst, USUAL), at) for at in range(9)
    ]

    for way in both:
        for piece in pieces[:5]:
            way.feed(0, piece)
        for kind in kinds:
            way.change(Change("t", {"max.message.bytes": "50"}, kind))
        way.feed(0, b"".join(pieces[5:]))

    assert b"".join(both[0].sent) == b"".join(both[1].sent)
    assert both[0].state() == both[1].state()


@pytest.mark.parametrize("version", [5, 9, 13])
def test_producers_and_partitions_that_take_turns_are_told_apart(version: int) -> None:
    both, numbers = (Way(takes_shortcut=True), Way(takes_shortcut=False)), Numbers()
    bursts = [
        Burst(0, version, "t", partition, producer_id, "c", [])
        for partition in (0, 1)
        for producer_id in (7, 8, -1)
    ]
    ahead = bursts[1]  # its next sequence is the one that comes behind its neighbour's
    pieces = [
        request_bytes(both[1], burst, USUAL, numbers.batch(burst, USUAL), at)
        for at, burst in enumerate([ahead, *bursts * 5])
    ]

    for way in both:
        for piece in pieces[:7]:
            way.feed(0, piece)
        way.feed(0, b"".join(pieces[7:]))

    assert both[0].short_frames > 0
    assert b"".join(both[0].sent) == b"".join(both[1].sent)
    assert both[0].state() == both[1].state()

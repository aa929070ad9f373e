"""Runs one producer against the real catalog, partition and rules, through a schedule of faults.

A schedule says what happens at which request (counted as they reach the broker). Everything else is
as fair as can be: what is pending is sent again, in order, until it is settled.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from minibroker.storage.catalog import Catalog, Defaults, Topic
from minibroker.storage.engine import Buffer, StorageFailed
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.outcome import NotWritten
from minibroker.storage.partition import Sender, note_turned_away
from minibroker.storage.producer_ids import ProducerIds
from minibroker.storage.producers import ProducerLimits
from minibroker.storage.turned_away import ProducerHere, TurnedAway
from tests.batches import batch

from .clients import KINDS, Answer, Batch, Producer

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
ROUNDS = 14

FAULTS = (
    "answer lost",
    "cut before",
    "append fails",
    "arrives twice",
    "topic deleted",
    "topic recreated",
    "restarted empty",
    "expired",
    "refused for good",
)
LOSES_STATE = {"expired"}
LOSES_LOG = {"topic deleted", "topic recreated", "restarted empty"}

Schedule = tuple[tuple[int, str], ...]


class Rules(NamedTuple):
    """Which rules the broker has: its own, or others as a control."""

    accepts_every_gap: bool = False
    """Rows 8 and 9 accept, as in Apache Kafka 4.4."""
    forgets_turned_away: bool = False


class _Forgetful(TurnedAway):
    """A connection that does not know what it turned away."""

    __slots__ = ()

    def add(self, producer: ProducerHere, base: int) -> None:
        """Forget it."""


class Broker:
    """One topic on the real storage room, with a switch for each fault."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.now_ms = NOW_MS
        self.next_first_id = 1000
        self.fails_next = False
        self.start()

    def start(self) -> None:
        """An empty broker, whose ids are new."""
        self.ids = ProducerIds(self.next_first_id, lambda start, end: None)
        self.next_first_id += 1_000_000
        limits = ProducerLimits(DAY_MS, 1000, 300_000)
        self.catalog = Catalog(
            MemoryEngine(1 << 22), self.ids, Defaults({}, limits), random.Random(1).randbytes
        )
        if self.rules.accepts_every_gap:
            self.ids.is_issued = lambda producer_id: False  # type: ignore[method-assign]  # a control
        self.create()

    def create(self) -> None:
        """The topic, unless it is there."""
        if self.catalog.find("t") is None:
            self.catalog.create("t", 1, {"max.message.bytes": "1000"})

    def delete(self) -> None:
        """No topic, for now."""
        if topic := self.catalog.find("t"):
            self.catalog.delete(topic)

    def recreate(self) -> None:
        """A new topic of the same name."""
        self.delete()
        self.create()

    def connection(self) -> TurnedAway:
        """What a new connection knows."""
        forgets = self.rules.forgets_turned_away or self.rules.accepts_every_gap
        return _Forgetful() if forgets else TurnedAway()

    def send(self, one: Batch, on: TurnedAway, *, is_too_large: bool) -> int:
        """The error code of a batch."""
        self.now_ms += 1
        value = b"%d" % one.number + bytes(2000 if is_too_large else 0)
        sent = memoryview(
            batch(
                one.sequence,
                one.sequence,
                producer_id=one.producer_id,
                epoch=one.epoch,
                values=[value],
                timestamp=NOW_MS,
            )
        )
        topic = self.catalog.find("t")
        if topic is None:
            note_turned_away(on, "t", 0, sent)
            return 3
        if self.fails_next:
            self.fails_next = False
            _fail_once(topic)
        outcome = topic.partitions[0].append(sent, Sender(9, on), self.now_ms)
        return int(outcome.error_code) if isinstance(outcome, NotWritten) else 0

    def stored(self) -> list[int]:
        """The numbers in the log, in its order."""
        topic = self.catalog.find("t")
        if topic is None:
            return []
        log = topic.partitions[0].log
        data = b"".join(log.read(0, 1 << 22, log.end_offset))
        numbers, at = [], 0
        while at < len(data):
            size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
            numbers.append(int(data[at + 68 : at + size - 1]))
            at += size
        return numbers


def _fail_once(topic: Topic) -> None:
    """The log's next append fails."""
    log = topic.partitions[0].log
    append = log.append

    def fail(batch: Buffer, records_count: int, max_timestamp: int) -> int:
        log.append = append  # type: ignore[method-assign]  # it was one failure
        raise StorageFailed("the disk says no")

    log.append = fail  # type: ignore[method-assign]  # a log that fails


class Run(NamedTuple):
    """How it ended."""

    producer: Producer
    stored: list[int]
    lasting: set[int]
    """Acknowledged in the incarnation that the log is of."""
    trace: tuple[str, ...]


def run(kind: str, schedule: Schedule, rules: Rules, batches: int = 3) -> Run:
    """One life."""
    broker = Broker(rules)
    producer = KINDS[kind](broker.ids.allocate(), batches, fresh_id=900)
    faults = dict(schedule)
    trace: list[str] = []
    acknowledged_in: dict[int, int] = {}
    requests = incarnation = 0
    is_unsettled = False
    connection = broker.connection()
    for _ in range(ROUNDS):
        sent = producer.to_send()
        if producer.is_dead or not sent:
            break
        answers: list[Answer] = []
        answered_in: dict[int, int] = {}
        for one in sent:
            fault = faults.get(requests, "")
            if fault == "expired" and (answers or is_unsettled):
                fault = ""  # a day does not pass while something is on its way
            requests += 1
            incarnation += fault in LOSES_LOG
            answer = _request(broker, one, connection, fault)
            answered_in[one.number] = incarnation
            trace.append(f"{one} {fault}: {answer}")
            answers.append(answer)
            if answer is None:
                connection = broker.connection()
                break
        answers += [None] * (len(sent) - len(answers))
        is_unsettled |= any(answer != 0 for answer in answers)
        before = len(producer.acknowledged)
        producer.answered(sent, answers)
        for number in producer.acknowledged[before:]:
            acknowledged_in[number] = answered_in.get(number, incarnation)
        if faults.get(requests - 1) != "topic deleted":
            broker.create()  # whoever deleted the topic makes it again, soon
    lasting = {number for number, one in acknowledged_in.items() if one == incarnation}
    return Run(producer, broker.stored(), lasting, tuple(trace))


def _request(broker: Broker, one: Batch, connection: TurnedAway, fault: str) -> Answer:
    """One request with what befalls it."""
    before: dict[str, Callable[[], None]] = {
        "topic deleted": broker.delete,
        "topic recreated": broker.recreate,
        "restarted empty": broker.start,
    }
    if fault in before:
        before[fault]()
    if fault in ("cut before", "restarted empty"):
        return None
    if fault == "expired":
        broker.now_ms += DAY_MS
    broker.fails_next = fault == "append fails"
    answer = broker.send(one, connection, is_too_large=fault == "refused for good")
    if fault == "arrives twice":
        broker.send(one, connection, is_too_large=False)
    return None if fault == "answer lost" else answer


def problem(kind: str, schedule: Schedule, rules: Rules, batches: int = 3) -> str | None:
    """What is wrong with the end of a life, and how it came to it; None if nothing is."""
    end = run(kind, schedule, rules, batches)
    what = _problem(kind, schedule, end)
    # The spec's exception: aiokafka's hole behind a refused batch is 45, as on Kafka.
    has_hole = kind == "aiokafka" and any(fault == "refused for good" for _, fault in schedule)
    if what is None and end.producer.is_dead and not rules.accepts_every_gap and not has_hole:
        as_kafka = Rules(accepts_every_gap=True)
        if not run(kind, schedule, as_kafka, batches).producer.is_dead:
            what = "killed where Kafka 4.4 lets it live"
    if what is None:
        return None
    return "\n".join((f"{kind} {schedule}: {what}; stored {end.stored}", *end.trace))


def _problem(kind: str, schedule: Schedule, end: Run) -> str | None:
    faults = {fault for _, fault in schedule}
    if lost := [number for number in sorted(end.lasting) if number not in end.stored]:
        return f"acknowledged and not there: {lost}"
    # A client that numbers anew what it has no answer for writes it twice, on any broker.
    numbers_anew = kind != "aiokafka" and faults & {"refused for good", "arrives twice"}
    may_repeat = faults & LOSES_STATE or numbers_anew or kind == "franz-go"
    if len(set(end.stored)) != len(end.stored) and not may_repeat:
        return "stored twice"
    if end.stored != sorted(end.stored) and not may_repeat:
        return "out of order"
    return None


def schedules(requests: int, faults_each: int) -> Iterator[Schedule]:
    """Every way to have so many faults at so many requests."""
    single = [(at, fault) for at in range(requests) for fault in FAULTS]
    for count in range(1, faults_each + 1):
        for chosen in combinations(single, count):
            if len({at for at, _ in chosen}) == count:
                yield chosen

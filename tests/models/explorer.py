"""Runs one producer against the real catalog, partition and rules, through a schedule of faults.

A schedule says what happens at which request (counted as they reach the broker). Everything else is
as fair as can be: what is pending is sent again, in order, until it is settled.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import combinations
from typing import NamedTuple

from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.engine import Buffer, Log, StorageFailed
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
ROUNDS = 40
LATE_BY_REQUESTS = 2

FAULTS = (
    "answer lost",
    "cut before",
    "arrives late",
    "arrives twice",
    "arrives corrupt",
    "append fails",
    "topic deleted",
    "topic recreated",
    "restarted empty",
    "expired",
    "too large",
    "wrong time",
)
REFUSALS = {"too large", "wrong time"}
UNANSWERED = {"answer lost", "arrives late"}
"""Faults behind which a batch is stored and its producer does not know it."""
LOSES_LOG = {"topic deleted", "topic recreated", "restarted empty"}

Schedule = tuple[tuple[int, str], ...]


class Rules(NamedTuple):
    """Which rules the broker has: its own, or others as a control."""

    accepts_every_gap: bool = False
    """Rows 8 and 9 accept, as in Apache Kafka 4.4."""
    forgets_turned_away: bool = False


class Start(NamedTuple):
    """What a life begins with."""

    sizes: tuple[int, ...] = (1, 1, 1)
    """How many records each batch has."""
    is_foreign: bool = False
    """The producer id is of another broker."""


PLAIN = Start()


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

    def send(self, one: Batch, on: TurnedAway, fault: str = "") -> int:
        """The error code of a batch."""
        self.now_ms += 1
        sent = memoryview(_bytes_of(one, fault))
        topic = self.catalog.find("t")
        if topic is None:
            note_turned_away(on, "t", 0, sent)
            return 3
        partition = topic.partitions[0]
        with _failing(partition.log) if fault == "append fails" else nullcontext():
            outcome = partition.append(sent, Sender(9, on), self.now_ms)
        return int(outcome.error_code) if isinstance(outcome, NotWritten) else 0

    def stored(self) -> list[int]:
        """The numbers in the log, in its order."""
        topic = self.catalog.find("t")
        if topic is None:
            return []
        log = topic.partitions[0].log
        data = b"".join(log.read(0, 1 << 22, log.end_offset))
        numbers: list[int] = []
        at = 0
        while at < len(data):
            size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
            count = int.from_bytes(data[at + 57 : at + 61], "big")
            # Each record has nine bytes, the last but one of which is its value.
            numbers += data[at + 61 : at + size][7::9][:count]
            at += size
        return numbers


def _bytes_of(one: Batch, fault: str) -> bytes:
    large = bytes(2000 if fault == "too large" else 0)
    return batch(
        one.sequence,
        one.sequence + len(one.numbers) - 1,
        producer_id=one.producer_id,
        epoch=one.epoch,
        values=[bytes([number]) + large for number in one.numbers],
        timestamp=NOW_MS + (1000 * DAY_MS if fault == "wrong time" else 0),
        wrong_crc=fault == "arrives corrupt",
    )


@contextmanager
def _failing(log: Log) -> Iterator[None]:
    """Nothing can be appended."""

    def fail(batch: Buffer, records_count: int, max_timestamp: int) -> int:
        raise StorageFailed("the disk says no")

    append = log.append
    log.append = fail  # type: ignore[method-assign]  # a log that fails
    yield
    log.append = append  # type: ignore[method-assign]  # and one that does not


class Run(NamedTuple):
    """How it ended."""

    producer: Producer
    stored: list[int]
    lasting: set[int]
    """Acknowledged in the incarnation that the log is of."""
    stored_before: set[int]
    """In logs that were lost."""
    trace: tuple[str, ...]


class Life:
    """A producer, its connection, and what befalls its requests."""

    def __init__(self, kind: str, schedule: Schedule, rules: Rules, start: Start) -> None:
        self.broker = Broker(rules)
        self.producer = KINDS[kind](self.broker.ids.allocate(), start.sizes, fresh_id=900)
        if start.is_foreign:
            self.broker.start()  # another one, on the same port
        self.faults = dict(schedule)
        self.connection = self.broker.connection()
        self.requests = 0
        self.incarnation = 0
        """How often the log was lost."""
        self.stored_before: set[int] = set()
        self.is_unsettled = False
        self.late: list[tuple[int, Batch, TurnedAway]] = []
        """At which request, what, and on which connection, which is cut."""
        self.trace: list[str] = []

    def run(self) -> Run:
        """Until everything is settled, or the producer is dead."""
        acknowledged_in: dict[int, int] = {}
        for _ in range(ROUNDS):
            sent = self.producer.to_send()
            if self.producer.is_dead or not sent:
                break
            answers, answered_in = self._round(sent)
            before = len(self.producer.acknowledged)
            self.producer.answered(sent, answers)
            for number in self.producer.acknowledged[before:]:
                acknowledged_in[number] = answered_in.get(number, self.incarnation)
            if self.faults.get(self.requests - 1) != "topic deleted":
                self.broker.create()  # whoever deleted the topic makes it again, soon
        self.broker.create()
        self._deliver_late(until=self.requests + LATE_BY_REQUESTS)
        lasting = {number for number, one in acknowledged_in.items() if one == self.incarnation}
        return Run(
            self.producer, self.broker.stored(), lasting, self.stored_before, tuple(self.trace)
        )

    def _round(self, sent: list[Batch]) -> tuple[list[Answer], dict[int, int]]:
        """The answers to what is sent in one go, and in which incarnation each was given."""
        answers: list[Answer] = []
        answered_in: dict[int, int] = {}
        for one in sent:
            self._deliver_late(until=self.requests)
            fault = self.faults.get(self.requests, "")
            if fault == "expired" and (answers or self.is_unsettled or self.late):
                fault = ""  # a day does not pass while something is on its way
            self.requests += 1
            if fault in LOSES_LOG:
                self.incarnation += 1
                self.stored_before |= set(self.broker.stored())
            answer = self._request(one, fault)
            answered_in |= dict.fromkeys(one.numbers, self.incarnation)
            self.trace.append(f"{one} {fault}: {answer}")
            answers.append(answer)
            if answer is None:
                self.connection = self.broker.connection()
                break
        answers += [None] * (len(sent) - len(answers))
        self.is_unsettled |= any(answer != 0 for answer in answers)
        return answers, answered_in

    def _deliver_late(self, until: int) -> None:
        for due in [one for one in self.late if one[0] <= until]:
            self.late.remove(due)
            _, one, connection = due
            self.trace.append(f"{one} at last: {self.broker.send(one, connection)}")

    def _request(self, one: Batch, fault: str) -> Answer:
        """One request with what befalls it."""
        broker = self.broker
        before: dict[str, Callable[[], None]] = {
            "topic deleted": broker.delete,
            "topic recreated": broker.recreate,
            "restarted empty": broker.start,
        }
        if fault in before:
            before[fault]()
        if fault == "restarted empty":
            self.late.clear()
            return None
        if fault == "cut before":
            return None
        if fault == "arrives late":
            self.late.append((self.requests + LATE_BY_REQUESTS, one, self.connection))
            return None
        if fault == "expired":
            broker.now_ms += DAY_MS
        answer = broker.send(one, self.connection, fault)
        if fault == "arrives twice":
            broker.send(one, self.connection)
        return None if fault == "answer lost" else answer


def run(kind: str, schedule: Schedule, rules: Rules, start: Start = PLAIN) -> Run:
    """One life."""
    return Life(kind, schedule, rules, start).run()


def problem(kind: str, schedule: Schedule, rules: Rules, start: Start = PLAIN) -> str | None:
    """What is wrong with the end of a life, and how it came to it; None if nothing is.

    Losing and no end are never excused. A producer may die where it does so under
    Kafka's own table too. One that numbers anew what it has no answer for may write it twice on any
    broker, or late, if it gave it up in between.
    """
    end = run(kind, schedule, rules, start)
    found = problems_of(end)
    faults = {fault for _, fault in schedule}
    if kind != "aiokafka" and faults & UNANSWERED and faults - UNANSWERED:
        found -= {"stored twice"}
        if "arrives late" in faults and faults & REFUSALS:
            found -= {"out of order"}
    if "killed" in found and not rules.accepts_every_gap:
        found -= problems_of(run(kind, schedule, Rules(accepts_every_gap=True), start)) & {"killed"}
        if kind == "aiokafka" and faults & REFUSALS:
            found -= {"killed"}  # the specification's exception: its hole is 45
    if not found:
        return None
    what = ", ".join(sorted(found))
    return "\n".join((f"{kind} {schedule} {start}: {what}; stored {end.stored}", *end.trace))


def problems_of(end: Run) -> set[str]:
    """What must not be."""
    # What an earlier log had is only repeated in this one, by a client without an answer.
    firsts = [number for number in dict.fromkeys(end.stored) if number not in end.stored_before]
    checks = {
        "lost": not end.lasting <= set(end.stored),
        "never stored": not set(end.producer.acknowledged) <= {*end.stored, *end.stored_before},
        "stored twice": len(set(end.stored)) != len(end.stored),
        "out of order": firsts != sorted(firsts),
        "killed": end.producer.is_dead,
        "never finished": bool(end.producer.pending) and not end.producer.is_dead,
    }
    return {what for what, is_so in checks.items() if is_so}


def schedules(requests: int, faults_each: int) -> Iterator[Schedule]:
    """Every way to have so many faults at so many requests."""
    single = [(at, fault) for at in range(requests) for fault in FAULTS]
    for count in range(1, faults_each + 1):
        for chosen in combinations(single, count):
            if len({at for at, _ in chosen}) == count:
                yield chosen


def some_life(random_source: random.Random) -> tuple[str, Schedule, Start]:
    """A longer one, by chance."""
    sizes = tuple(random_source.choice((1, 1, 1, 2, 3)) for _ in range(random_source.randint(2, 7)))
    requests = random_source.sample(range(10), random_source.randint(2, 4))
    schedule = tuple(sorted((at, random_source.choice(FAULTS)) for at in requests))
    start = Start(sizes, is_foreign=random_source.random() < 0.5)
    return random_source.choice(list(KINDS)), schedule, start

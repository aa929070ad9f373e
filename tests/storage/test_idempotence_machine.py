"""Random lives of producers against an oracle that was written from the rules and shares no code.

One rule of the machine aims at each row of the table and at each explanation; what really happens
is for the oracle to say. A run in which a row or an explanation never came up fails.
"""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from minibroker.storage.turned_away import TurnedAway

from .test_idempotence import DAY_MS, GAP_MS, World

RING = 2147483648
LIMIT = 3000
FOREIGN = (101, 102)
ISSUED = (5000, 5001, 5002)


@dataclass
class Known:
    """A producer's entry: batches as (first, last, offset), the newest last."""

    epoch: int
    batches: list[tuple[int, int, int]]
    at_ms: int

    @property
    def next(self) -> int:
        last = self.batches[-1][1]
        return 0 if last == RING - 1 else last + 1


@dataclass
class Waiting:
    """What row 9 has met."""

    epoch: int
    since_ms: int
    first: int
    seen: set[int]
    is_retried: bool = False


@dataclass
class Incarnation:
    """The topic as it is now."""

    floor: int
    known: dict[int, Known] = field(default_factory=dict)
    former: dict[int, Known] = field(default_factory=dict)
    behind: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    gaps: dict[int, Waiting] = field(default_factory=dict)
    end: int = 0


def is_before(one: int, other: int) -> bool:
    distance = (other - one) % RING
    return 0 < distance < RING // 2


class Oracle:
    """The rules, from the words of the specification."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.topic: Incarnation | None = Incarnation(floor=0)
        self.kept = Incarnation(floor=0)
        self.rows: Counter[str] = Counter()

    def expire(self) -> None:
        if self.topic is None:
            return
        for producer, known in list(self.topic.known.items()):
            if self.now_ms - known.at_ms >= DAY_MS:
                del self.topic.known[producer]
                self.topic.floor = max(self.topic.floor, producer + 1)

    def send(
        self,
        producer: int,
        epoch: int,
        first: int,
        last: int,
        awaited: set[tuple[int, int, int]],
        *,
        is_too_large: bool,
    ) -> tuple[int, int]:
        topic = self.topic
        here = (producer, epoch, first)
        if topic is None:
            awaited.add(here)
            return 3, -1
        self.expire()
        known = topic.known.get(producer)
        row, offset = self.judge(topic, known, producer, epoch, first, last, awaited)
        self.rows[row] += 1
        if row == "1":
            awaited.discard(here)
            return 0, offset
        is_single = first == last
        accepts = row in ("3", "5", "7") or row.startswith("8")
        if is_too_large:
            if is_single:
                awaited.discard(here)
                if accepts and known is None:
                    seen_epoch, bases = topic.behind.get(producer, (epoch, set()))
                    if seen_epoch != epoch:
                        bases = set()
                    topic.behind[producer] = (epoch, bases | {(last + 1) % RING})
            return 10, -1
        if not accepts:
            if row == "9":
                awaited.add(here)
                self.note_gap(topic, producer, epoch, first)
            return (47 if row == "2" else 45), -1
        awaited.discard(here)
        offset = topic.end
        topic.end += (last - first) % RING + 1
        older = known.batches if known and known.epoch == epoch else []
        topic.known[producer] = Known(epoch, [*older, (first, last, offset)][-5:], self.now_ms)
        if known is None:
            topic.behind.pop(producer, None)
            topic.gaps.pop(producer, None)
        return 0, offset

    def judge(
        self,
        topic: Incarnation,
        known: Known | None,
        producer: int,
        epoch: int,
        first: int,
        last: int,
        awaited: set[tuple[int, int, int]],
    ) -> tuple[str, int]:
        if known is not None:
            if epoch < known.epoch:
                return "2", -1
            if epoch > known.epoch:
                return ("3" if first == 0 else "4"), -1
            for stored in known.batches:
                if stored[:2] == (first, last):
                    return "1", stored[2]
            return ("5" if first == known.next else "6"), -1
        if first == 0:
            return "7", -1
        return self.explain(topic, producer, epoch, first, awaited), -1

    def explain(
        self,
        topic: Incarnation,
        producer: int,
        epoch: int,
        first: int,
        awaited: set[tuple[int, int, int]],
    ) -> str:
        gap = topic.gaps.get(producer)
        if gap and gap.epoch == epoch and not gap.is_retried:
            is_retry = first in gap.seen or is_before(first, gap.first)
            if not is_retry and self.now_ms - gap.since_ms >= GAP_MS:
                return "8 waited out"
        if any(one[:2] == (producer, epoch) and is_before(one[2], first) for one in awaited):
            return "9"
        former = topic.former.get(producer)
        is_forgotten = former is not None and self.now_ms - former.at_ms >= DAY_MS
        if is_forgotten:
            former = None
        if producer in FOREIGN:
            return "8 foreign"
        if producer < topic.floor or is_forgotten:
            return "8 below the floor"
        goes_on = (former.next, *(stored[0] for stored in former.batches)) if former else ()
        if former and former.epoch == epoch and first in goes_on:
            return "8 continues"
        seen_epoch, bases = topic.behind.get(producer, (epoch, set()))
        if seen_epoch == epoch and first in bases:
            return "8 behind a refusal"
        return "9"

    def note_gap(self, topic: Incarnation, producer: int, epoch: int, first: int) -> None:
        gap = topic.gaps.get(producer)
        if gap is None or gap.epoch != epoch:
            topic.gaps[producer] = Waiting(epoch, self.now_ms, first, {first})
            return
        if first in gap.seen or is_before(first, gap.first):
            gap.is_retried = True
        gap.seen.add(first)

    def delete(self) -> None:
        topic = self.topic
        assert topic
        self.kept = Incarnation(
            floor=max(topic.floor, self.kept.floor),
            former={**self.kept.former, **topic.known},
            behind={**self.kept.behind, **topic.behind},
        )
        self.topic = None

    def create(self) -> None:
        kept = self.kept
        self.topic = Incarnation(
            floor=kept.floor, former=dict(kept.former), behind=dict(kept.behind)
        )


ROWS: Counter[str] = Counter()

EXPECTED_ROWS = {
    *"12345679",
    "8 foreign",
    "8 below the floor",
    "8 continues",
    "8 behind a refusal",
    "8 waited out",
}

producers = st.sampled_from(FOREIGN + ISSUED)
counts = st.integers(1, 3)
connections = st.integers(0, 1)


class Lives(RuleBasedStateMachine):
    """Producers, connections, a topic, and time."""

    @initialize(near_the_wrap=st.booleans())
    def start(self, near_the_wrap: bool) -> None:
        self.world = World()
        self.world.configure(max_message_bytes=str(LIMIT))
        for _ in ISSUED:
            self.world.issued()
        self.oracle = Oracle()
        self.oracle.now_ms = self.world.now_ms
        self.connections = [TurnedAway(), TurnedAway()]
        self.awaited: list[set[tuple[int, int, int]]] = [set(), set()]
        if near_the_wrap:
            self.send(FOREIGN[0], 0, RING - 4, 2, 0)

    def send(
        self,
        producer: int,
        epoch: int,
        first: int,
        count: int,
        connection: int,
        *,
        is_too_large: bool = False,
    ) -> None:
        first %= RING
        last = (first + count - 1) % RING
        got = self.world.send(
            first,
            last,
            producer,
            epoch,
            on=self.connections[connection],
            size=LIMIT if is_too_large else 1,
        )
        expected = self.oracle.send(
            producer, epoch, first, last, self.awaited[connection], is_too_large=is_too_large
        )
        assert got == expected, (producer, epoch, first, last)

    def known(self, producer: int) -> Known | None:
        return self.oracle.topic.known.get(producer) if self.oracle.topic else None

    def epoch_of(self, producer: int) -> int:
        known = self.known(producer)
        return known.epoch if known else 0

    @rule(producer=producers, which=st.integers(0, 6), connection=connections)
    def row_1_a_batch_again(self, producer: int, which: int, connection: int) -> None:
        if known := self.known(producer):
            first, last, _ = known.batches[which % len(known.batches)]
            self.send(producer, known.epoch, first, (last - first) % RING + 1, connection)

    @rule(producer=producers, count=counts, connection=connections)
    def row_2_an_older_epoch(self, producer: int, count: int, connection: int) -> None:
        known = self.known(producer)
        if known and known.epoch:
            self.send(producer, known.epoch - 1, known.next, count, connection)

    @rule(producer=producers, count=counts, first=st.sampled_from([0, 0, 1, 7]))
    def row_3_and_4_a_newer_epoch(self, producer: int, count: int, first: int) -> None:
        self.send(producer, self.epoch_of(producer) + 1, first, count, 0)

    @rule(producer=producers, count=counts, connection=connections)
    def row_5_the_next(self, producer: int, count: int, connection: int) -> None:
        known = self.known(producer)
        self.send(producer, self.epoch_of(producer), known.next if known else 0, count, connection)

    @rule(
        producer=producers,
        shift=st.sampled_from([-9, -4, -3, -2, -1, 1, 2, 9]),
        count=counts,
        connection=connections,
    )
    def row_6_anything_else(self, producer: int, shift: int, count: int, connection: int) -> None:
        if known := self.known(producer):
            self.send(producer, known.epoch, known.next + shift, count, connection)

    @rule(producer=producers, count=counts, connection=connections)
    def row_7_the_first(self, producer: int, count: int, connection: int) -> None:
        self.send(producer, self.epoch_of(producer), 0, count, connection)

    @rule(
        producer=producers,
        first=st.integers(1, 8),
        count=counts,
        connection=connections,
    )
    def row_8_and_9_in_the_middle(
        self, producer: int, first: int, count: int, connection: int
    ) -> None:
        self.send(producer, self.epoch_of(producer), first, count, connection)

    @rule(producer=producers, which=st.integers(0, 5), connection=connections)
    def row_8_goes_on_as_before_the_deletion(
        self, producer: int, which: int, connection: int
    ) -> None:
        former = self.oracle.topic.former.get(producer) if self.oracle.topic else None
        if former:
            bases = [former.next, *(stored[0] for stored in former.batches)]
            self.send(producer, former.epoch, bases[which % len(bases)], 1, connection)

    @rule(producer=producers, first=st.integers(0, 4), count=st.sampled_from([1, 1, 1, 2]))
    def row_8_refused_for_its_size(self, producer: int, first: int, count: int) -> None:
        self.send(producer, self.epoch_of(producer), first, count, 0, is_too_large=True)

    @rule(producer=st.sampled_from(ISSUED), chain=st.integers(1, 2), connection=connections)
    def row_8_behind_refusals(self, producer: int, chain: int, connection: int) -> None:
        epoch = self.epoch_of(producer)
        for first in range(chain):
            self.send(producer, epoch, first, 1, connection, is_too_large=True)
        self.send(producer, epoch, chain, 1, connection)

    @rule(producer=st.sampled_from(ISSUED), beyond=st.integers(1, 3), connection=connections)
    def row_8_waited_out(self, producer: int, beyond: int, connection: int) -> None:
        gap = self.oracle.topic.gaps.get(producer) if self.oracle.topic else None
        epoch, first = (gap.epoch, max(gap.seen) + beyond) if gap else (0, 4)
        self.send(producer, epoch, first, 1, connection)
        self.time_passes(GAP_MS)
        self.send(producer, epoch, first + 1, 1, connection)

    @rule(ms=st.sampled_from([1, 1000, GAP_MS - 1, GAP_MS, DAY_MS - 1, DAY_MS]))
    def some_time_passes(self, ms: int) -> None:
        self.time_passes(ms)

    def time_passes(self, ms: int) -> None:
        self.world.now_ms = self.oracle.now_ms = self.oracle.now_ms + ms

    @precondition(lambda self: self.oracle.topic is not None)
    @rule()
    def the_topic_is_deleted(self) -> None:
        self.oracle.expire()
        topic = self.world.catalog.find("t")
        assert topic
        topic.partitions[0].producers.expire(self.world.now_ms)
        self.world.delete()
        self.oracle.delete()

    @precondition(lambda self: self.oracle.topic is None)
    @rule()
    def the_topic_is_created(self) -> None:
        self.world.catalog.create("t", 1, {"max.message.bytes": str(LIMIT)})
        self.oracle.create()

    @rule(connection=connections)
    def a_connection_is_made_anew(self, connection: int) -> None:
        self.connections[connection] = TurnedAway()
        self.awaited[connection] = set()

    @invariant()
    def the_state_is_the_oracles(self) -> None:
        if not hasattr(self, "oracle") or self.oracle.topic is None:
            return
        self.oracle.expire()
        topic = self.world.catalog.find("t")
        assert topic
        assert topic.partitions[0].log.end_offset == self.oracle.topic.end
        got = {
            producer: (
                entry.producer_epoch,
                entry.next_sequence,
                [(one.first, one.last, one.base_offset) for one in reversed(entry.window())],
                entry.last_append_ms,
            )
            for producer, entry in topic.partitions[0].producers.unexpired(self.world.now_ms)
        }
        assert got == {
            producer: (known.epoch, known.next, known.batches, known.at_ms)
            for producer, known in self.oracle.topic.known.items()
        }

    def teardown(self) -> None:
        if hasattr(self, "oracle"):
            ROWS.update(self.oracle.rows)


def explore(examples: int) -> None:
    ROWS.clear()
    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    missing = EXPECTED_ROWS - set(ROWS)
    assert not missing, f"never came up: {missing}"


def test_producers_live_as_the_oracle_says() -> None:
    explore(150)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_producers_live_longer_as_the_oracle_says() -> None:
    explore(3000)

"""Random lives of producers against an oracle that was written from the rules and shares no code.

One rule of the machine aims at each row of the table and at each explanation; what really happens
is for the oracle to say. A run in which a row or an explanation never came up fails.
"""

from collections import Counter

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

from .oracle import RING, Known, Oracle
from .world import DAY_MS, GAP_MS, World

LIMIT = 3000
FOREIGN = (101, 102)
ISSUED = (5000, 5001, 5002)

ROWS: Counter[str] = Counter()

EXPECTED_ROWS = {
    *"12345679",
    "8 foreign",
    "8 below the floor",
    "8 continues",
    "8 behind a refusal",
    "8 waited out",
    "corrupt",
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
        self.oracle = Oracle(frozenset(FOREIGN), DAY_MS, GAP_MS)
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
        is_corrupt: bool = False,
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
            wrong_crc=is_corrupt,
        )
        expected = self.oracle.send(
            producer,
            epoch,
            first,
            last,
            self.awaited[connection],
            is_too_large=is_too_large,
            is_corrupt=is_corrupt,
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

    @rule(producer=producers, connection=connections)
    def two_batches_in_flight_of_which_one_is_turned_away(
        self, producer: int, connection: int
    ) -> None:
        """And once the topic is there anew, the second one comes first."""
        known = self.known(producer)
        epoch, first = (known.epoch, known.next) if known else (0, 0)
        self.send(producer, epoch, first, 1, connection, is_corrupt=True)
        self.send(producer, epoch, first + 2, 1, connection)
        if self.oracle.topic:
            self.delete()
        self.create()
        self.send(producer, epoch, first + 2, 1, connection)

    @rule(producer=producers, first=st.integers(0, 3), count=counts, connection=connections)
    def a_batch_arrives_corrupt(
        self, producer: int, first: int, count: int, connection: int
    ) -> None:
        self.send(producer, self.epoch_of(producer), first, count, connection, is_corrupt=True)

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
        self.delete()

    def delete(self) -> None:
        self.oracle.expire()
        topic = self.world.catalog.find("t")
        assert topic
        topic.partitions[0].producers.expire(self.world.now_ms)
        self.world.delete()
        self.oracle.delete()

    @precondition(lambda self: self.oracle.topic is None)
    @rule()
    def the_topic_is_created(self) -> None:
        self.create()

    def create(self) -> None:
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
    explore(1500)

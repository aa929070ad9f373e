"""How long, and of how many, a partition knows what its producers wrote."""

import gc
import tracemalloc

import pytest

from minibroker.storage.idempotence import Circumstances
from minibroker.storage.producer_entry import ProducerEntry
from minibroker.storage.producers import (
    MAX_REFUSALS_A_PRODUCER,
    MAX_REMEMBERED,
    YOUNGEST_EVICTED_MS,
    FormerProducers,
    ProducerLimits,
    ProducerTable,
)

from .world import DAY_MS, World


def test_an_entry_expires_by_the_brokers_clock_and_not_by_timestamps(world: World) -> None:
    issued = world.issued()
    world.send(0, 0, issued, timestamp=1)
    world.now_ms += DAY_MS - 1
    assert world.send(0, 0, issued, timestamp=1) == (0, 0)
    assert world.producers == 1

    world.now_ms += 1
    assert world.send(0, 0, issued, timestamp=1) == (0, 1), "its retry is written again by now"


def test_a_young_entry_never_goes_and_one_line_says_so(caplog: pytest.LogCaptureFixture) -> None:
    world = World(max_producers=2)
    ids = [world.issued() for _ in range(5)]

    for producer_id in ids:
        world.send(0, 0, producer_id)

    assert world.producers == 5
    for producer_id, offset in zip(ids, range(5), strict=True):
        assert world.send(0, 0, producer_id) == (0, offset)
    assert len([r for r in caplog.records if "max.producers.per.partition" in r.getMessage()]) == 1


LIMITS = ProducerLimits(expiration_ms=DAY_MS, max_producers=200, gap_timeout_ms=300_000)


def table() -> ProducerTable:
    return ProducerTable(LIMITS, FormerProducers(), "t-0")


def write(to: ProducerTable, producer_id: int, now_ms: int, batches: int = 1) -> None:
    for at in range(batches):
        to.appended(producer_id, 0, now_ms, ((at, at, at, now_ms, 1),))


def around(of: ProducerTable, producer_id: int) -> Circumstances:
    return of.circumstances(producer_id, 0, 0, lambda producer_id: True, frozenset())


def test_the_cap_makes_some_room_at_once_of_those_that_are_idle() -> None:
    of = table()
    for producer_id in range(200):
        write(of, producer_id, now_ms=producer_id // 198)  # the last two are a ms younger

    write(of, 200, now_ms=YOUNGEST_EVICTED_MS)

    assert len(of) == 198
    assert [id_ for id_, _ in of.unexpired(1000)][:2] == [3, 4]
    assert around(of, 2).is_below_floor
    assert not around(of, 3).is_below_floor


def test_a_producer_that_goes_on_writing_is_never_the_oldest() -> None:
    of = table()
    write(of, 1, now_ms=0)
    write(of, 2, now_ms=0)
    write(of, 1, now_ms=DAY_MS - 1)

    assert [producer_id for producer_id, _ in of.unexpired(DAY_MS)] == [1]


def test_refusals_that_are_forgotten_raise_the_floor() -> None:
    of = table()
    for producer_id in range(MAX_REMEMBERED):
        of.refused_for_good(producer_id, 0, 0)
    assert around(of, 0).bases_behind_refusals == {1}
    assert not around(of, 0).is_below_floor

    of.refused_for_good(MAX_REMEMBERED, 0, 0)

    assert around(of, 0).is_below_floor
    assert not around(of, 1).is_below_floor
    assert around(of, 1).bases_behind_refusals == {1}


def test_a_producer_with_too_many_refusals_is_below_the_floor() -> None:
    of = table()
    for last in range(MAX_REFUSALS_A_PRODUCER):
        of.refused_for_good(7, 0, last)
    assert not around(of, 7).is_below_floor

    of.refused_for_good(7, 0, MAX_REFUSALS_A_PRODUCER)

    assert around(of, 7).is_below_floor
    assert not around(of, 8).is_below_floor
    assert len(around(of, 7).bases_behind_refusals) == MAX_REFUSALS_A_PRODUCER


def test_gaps_that_are_forgotten_begin_anew() -> None:
    of = table()
    for producer_id in range(MAX_REMEMBERED + 1):
        of.gap_answered(producer_id, 0, 3, now_ms=5)

    assert around(of, 0).gap is None
    gap = around(of, 1).gap
    assert gap is not None
    assert gap.first_answered_ms == 5
    assert not around(of, 0).is_below_floor, "that only ever refuses"


def test_a_first_write_ends_a_gap_and_what_was_refused() -> None:
    of = table()
    of.gap_answered(7, 0, 3, now_ms=0)
    of.refused_for_good(7, 0, 0)

    write(of, 7, now_ms=0)

    assert around(of, 7).gap is None
    assert around(of, 7).bases_behind_refusals == set()


def test_a_step_of_the_clock_keeps_entries_longer_and_never_shorter() -> None:
    of = table()
    write(of, 1, now_ms=1_000_000)
    write(of, 2, now_ms=0)  # the clock was set back

    assert of.entry(2, DAY_MS) is not None
    assert of.entry(1, 1_000_000 + DAY_MS - 1) is not None
    assert of.entry(1, 1_000_000 + DAY_MS) is None
    assert of.entry(2, 1_000_000 + DAY_MS) is None


def test_a_producer_with_a_full_window_takes_at_most_400_bytes_and_no_pause() -> None:
    of = ProducerTable(LIMITS._replace(max_producers=10_000), FormerProducers(), "t-0")
    tracemalloc.start()
    try:
        for producer_id in range(5000):
            write(of, 10**15 + producer_id, now_ms=10**12, batches=5)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert used / 5000 <= 400
    entry = of.entry(10**15, 10**12)
    assert entry is not None
    assert len(entry.window()) == 5
    assert gc.get_referents(entry) == [ProducerEntry], "nothing to walk into"


def test_entries_expire_one_by_one() -> None:
    of = table()
    write(of, 1, now_ms=0)
    write(of, 2, now_ms=10)

    assert of.entry(2, DAY_MS + 9) is not None
    assert len(of) == 1
    assert of.entry(2, DAY_MS + 10) is None
    assert len(of) == 0

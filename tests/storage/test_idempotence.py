"""The rules, row by row and explanation by explanation, against a partition of a real catalog."""

import logging
from typing import NamedTuple

import pytest

from minibroker.storage.idempotence import (
    MAX_GAP_BASES,
    Circumstances,
    Explanation,
    Gap,
    decide,
    explain,
    gap_after,
)
from minibroker.storage.producers import YOUNGEST_EVICTED_MS
from minibroker.storage.turned_away import TurnedAway

from .world import DAY_MS, FENCED, GAP_MS, OUT_OF_ORDER, World


def test_row_0_without_a_producer_id_everything_is_written_and_nothing_kept(world: World) -> None:
    assert world.send(-1, -1, producer_id=-1, epoch=-1) == (0, 0)
    assert world.send(-1, -1, producer_id=-1, epoch=-1) == (0, 1)
    assert world.producers == 0


def test_row_1_the_window_recognises_first_and_last_of_five_batches(world: World) -> None:
    for number in range(7):
        world.send(number * 2, number * 2 + 1)

    for number in range(2, 7):
        assert world.send(number * 2, number * 2 + 1) == (0, number * 2)
    assert world.send(2, 3) == OUT_OF_ORDER
    assert world.send(4, 4) == OUT_OF_ORDER, "the same base with another length"
    assert world.send(5, 5) == OUT_OF_ORDER, "the same end with another base"


def test_row_2_an_older_epoch_is_fenced_exact_duplicates_too(world: World) -> None:
    world.send(0, 0, epoch=3)
    world.send(0, 0, epoch=5)

    assert world.send(0, 0, epoch=3) == FENCED
    assert world.send(1, 1, epoch=4) == FENCED


def test_row_3_a_newer_epoch_starts_a_window_of_its_own(world: World) -> None:
    world.send(0, 0)
    world.send(1, 1)

    assert world.send(0, 4, epoch=1) == (0, 2)
    assert world.send(1, 1, epoch=1) == OUT_OF_ORDER, "that was the old epoch's"
    assert world.send(5, 5, epoch=1) == (0, 7)


def test_row_4_a_newer_epoch_does_not_start_in_the_middle(world: World) -> None:
    world.send(0, 4)

    assert world.send(5, 5, epoch=1) == OUT_OF_ORDER
    assert world.send(5, 5) == (0, 5), "and changed nothing"


def test_row_5_the_next_sequence_is_written(world: World) -> None:
    assert [world.send(at, at + 2) for at in range(0, 12, 3)] == [
        (0, 0), (0, 3), (0, 6), (0, 9)
    ]  # fmt: skip


def test_row_6_anything_else_is_out_of_order(world: World) -> None:
    world.send(0, 4)
    world.send(5, 9)

    for first, last in ((11, 11), (0, 3), (0, 9), (9, 9), (3, 6), (2**31 - 1, 2**31 - 1)):
        assert world.send(first, last) == OUT_OF_ORDER
    assert world.send(10, 10) == (0, 10)


def test_sequences_go_round_the_ring(world: World) -> None:
    assert world.send(2**31 - 2, 2**31 - 1) == (0, 0)
    assert world.send(0, 0) == (0, 2)
    assert world.send(1, 1) == (0, 3)
    assert world.send(2**31 - 2, 2**31 - 1) == (0, 0)


def test_row_7_an_unknown_producer_starts_at_0(world: World) -> None:
    assert world.send(0, 0, world.issued()) == (0, 0)


def test_row_9_an_unknown_issued_producer_does_not_start_later(world: World) -> None:
    assert world.send(1, 1, world.issued()) == OUT_OF_ORDER
    assert world.producers == 0


def test_row_8_foreign(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        assert world.send(3, 3, producer_id=12) == (0, 0)

    (line,) = (record.getMessage() for record in caplog.records)
    assert line == (
        "t-0: producer 12 epoch 0 may start at sequence 3: "
        "this broker did not issue the producer id"
    )
    assert world.send(7, 7, producer_id=12) == OUT_OF_ORDER


def test_row_8_below_the_floor_once_an_entry_has_expired(world: World) -> None:
    first, second, third = world.issued(), world.issued(), world.issued()
    world.send(0, 0, second)
    world.now_ms += DAY_MS

    assert world.send(1, 1, second) == (0, 1)
    assert world.send(1, 1, first) == (0, 2), "the floor is one above the id that expired"
    assert world.send(1, 1, third) == OUT_OF_ORDER


def test_row_8_below_the_floor_once_an_entry_was_evicted() -> None:
    world = World(max_producers=2)
    first, second, third, fourth = (world.issued() for _ in range(4))
    world.send(0, 0, first)
    world.send(0, 0, second)
    world.now_ms += YOUNGEST_EVICTED_MS

    world.send(0, 0, third)

    assert world.producers == 2
    assert world.send(1, 1, first) == (0, 3)
    assert world.send(1, 1, fourth) == OUT_OF_ORDER


@pytest.mark.parametrize(
    ("base", "answer"),
    [(10, (0, 0)), (5, (0, 0)), (0, (0, 0)), (12, OUT_OF_ORDER), (7, OUT_OF_ORDER)],
)
def test_row_8_continues_the_deleted_topic(
    world: World, base: int, answer: tuple[int, int]
) -> None:
    issued = world.issued()
    world.send(0, 4, issued)
    world.send(5, 9, issued)

    world.recreate()

    assert world.send(base, base + 4, issued) == answer


def test_of_the_deleted_topic_only_the_same_epoch_goes_on(world: World) -> None:
    issued = world.issued()
    world.send(0, 4, issued, epoch=2)

    world.recreate()

    assert world.send(5, 9, issued, epoch=3) == OUT_OF_ORDER
    assert world.send(5, 9, issued, epoch=1) == OUT_OF_ORDER
    assert world.send(5, 9, issued, epoch=2) == (0, 0)


def test_what_a_name_remembers_expires(world: World) -> None:
    issued, later = world.issued(), world.issued()
    world.send(0, 4, issued)
    world.recreate()
    world.now_ms += DAY_MS

    assert world.send(99, 99, issued) == (0, 0), "below the floor by now"
    assert world.send(99, 99, later) == OUT_OF_ORDER


def test_a_name_remembers_over_two_deletions(world: World) -> None:
    issued = world.issued()
    world.send(0, 4, issued)

    world.recreate()
    world.recreate()

    assert world.send(5, 9, issued) == (0, 0)


class Refusal(NamedTuple):
    """What gets a record refused for good."""

    size: int
    late_by_ms: int


@pytest.mark.parametrize("refusal", [Refusal(2000, 0), Refusal(1, DAY_MS)])
def test_row_8_right_behind_a_refusal_and_a_chain_of_them(world: World, refusal: Refusal) -> None:
    issued, other = world.issued(), world.issued()
    world.configure(max_message_bytes="1000")

    size, timestamp = refusal.size, world.now_ms + refusal.late_by_ms
    assert world.send(0, 0, issued, size=size, timestamp=timestamp)[0] in (10, 32)
    assert world.send(2, 2, issued) == OUT_OF_ORDER
    assert world.send(1, 1, issued, size=size, timestamp=timestamp)[0] in (10, 32)
    assert world.send(1, 1, other) == OUT_OF_ORDER, "that was another producer's"
    assert world.send(1, 1, issued, epoch=1) == OUT_OF_ORDER, "and another epoch's"
    assert world.send(2, 2, issued, on=TurnedAway()) == (0, 0)


def test_a_large_batch_of_several_records_is_split_and_comes_again(world: World) -> None:
    issued = world.issued()
    world.configure(max_message_bytes="1000")

    assert world.send(0, 1, issued, size=1000) == (10, -1)
    assert world.send(2, 2, issued) == OUT_OF_ORDER
    assert world.send(0, 0, issued) == (0, 0)


def test_a_gap_begins_when_row_9_answers_and_not_when_the_size_did(world: World) -> None:
    issued = world.issued()
    world.configure(max_message_bytes="1000")
    assert world.send(1, 2, issued, size=1000) == (10, -1)
    world.now_ms += GAP_MS

    assert world.send(2, 2, issued) == OUT_OF_ORDER


def test_behind_a_refusal_that_was_itself_a_gap_nothing_is_explained(world: World) -> None:
    issued = world.issued()
    world.configure(max_message_bytes="1000")

    assert world.send(3, 3, issued, size=2000) == (10, -1)
    assert world.send(4, 4, issued) == OUT_OF_ORDER


def test_behind_a_refusal_of_a_known_producer_there_is_a_hole_as_on_kafka(world: World) -> None:
    issued = world.issued()
    world.send(0, 0, issued)
    world.configure(max_message_bytes="1000")

    assert world.send(1, 1, issued, size=2000) == (10, -1)
    assert world.send(2, 2, issued) == OUT_OF_ORDER
    assert world.send(1, 1, issued) == (0, 1)


def test_a_recreated_topic_inherits_what_was_refused(world: World) -> None:
    issued = world.issued()
    world.configure(max_message_bytes="1000")
    world.send(0, 0, issued, size=2000)

    world.recreate()

    assert world.send(1, 1, issued) == (0, 0)


def test_row_8_waited_out(world: World) -> None:
    issued = world.issued()
    assert world.send(4, 4, issued) == OUT_OF_ORDER
    world.now_ms += GAP_MS - 1
    assert world.send(5, 5, issued) == OUT_OF_ORDER
    world.now_ms += 1

    assert world.send(6, 6, issued) == (0, 0), "although lower bases were turned away here"


@pytest.mark.parametrize("again", [4, 3], ids=["a second time", "below the first"])
def test_a_gap_that_is_being_retried_is_never_waited_out(world: World, again: int) -> None:
    issued = world.issued()
    world.send(4, 4, issued)
    world.send(again, again, issued)
    world.now_ms += 10 * GAP_MS

    assert world.send(6, 6, issued) == OUT_OF_ORDER
    assert world.send(6, 6, issued, epoch=1) == OUT_OF_ORDER, "a new epoch waits anew"


def test_decide_is_a_function_of_its_arguments_alone() -> None:
    around = Circumstances(
        is_foreign=False,
        is_below_floor=False,
        deleted_entry=None,
        bases_behind_refusals=frozenset(),
        gap=Gap(0, 0, 3, frozenset((3,)), False),
        gap_timeout_ms=10,
        bases_turned_away=frozenset(),
        now_ms=10,
    )

    assert explain(0, 5, around) is Explanation.WAITED_OUT
    assert explain(1, 5, around) is None
    assert explain(0, 5, around._replace(now_ms=9)) is None
    assert explain(0, 5, around._replace(is_foreign=True, now_ms=9)) is Explanation.FOREIGN
    assert decide(None, 1, 0, 5, 5, around) == decide(None, 1, 0, 5, 5, around)


def test_a_gap_of_too_many_bases_counts_as_retried() -> None:
    gap = gap_after(None, 0, 1, now_ms=0)
    for base in range(2, MAX_GAP_BASES + 1):
        gap = gap_after(gap, 0, base, now_ms=1)
    assert not gap.is_retried

    gap = gap_after(gap, 0, MAX_GAP_BASES + 1, now_ms=1)

    assert gap.is_retried
    assert len(gap.bases) == MAX_GAP_BASES
    assert gap.first_answered_ms == 0

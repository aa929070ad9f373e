"""The acceptance vectors against a partition, and what its answers carry.

The same vectors over a socket are in tests/broker/test_acceptance_vectors.py.
"""

import logging
from functools import partial

import pytest

from minibroker.protocol.errors import ErrorCode
from minibroker.storage.batch_checks import is_transactional
from minibroker.storage.outcome import NotWritten, Written
from minibroker.storage.turned_away import TurnedAway
from tests.batches import batch

from .world import DAY_MS, FENCED, OUT_OF_ORDER, World

SIZE, INVALID = (10, -1), (87, -1)


def message_of(world: World, first: int, last: int, epoch: int = 0, producer_id: int = 7) -> str:
    """Why it is not written."""
    sent = batch(first, last, producer_id=producer_id, epoch=epoch, timestamp=world.now_ms)
    outcome = world.outcome_of(sent, world.connection)
    assert isinstance(outcome, NotWritten)
    return outcome.message


def test_vector_1_duplicates_have_the_offset_of_the_original(world: World) -> None:
    assert world.send(0, 4) == (0, 0)
    assert world.send(5, 9) == (0, 5)
    assert world.send(0, 4) == (0, 0)
    assert world.end == 10
    assert world.send(5, 9) == (0, 5)
    assert world.end == 10


def test_vector_2_neither_overlap_nor_gap(world: World) -> None:
    world.send(0, 4)
    world.send(5, 9)

    for first, last in ((0, 3), (0, 5), (7, 11), (15, 19)):
        assert world.send(first, last) == OUT_OF_ORDER
    assert world.send(10, 14) == (0, 10)


def test_vector_3_the_window_has_five_batches(world: World) -> None:
    for at in range(6):
        assert world.send(at * 5, at * 5 + 4) == (0, at * 5)

    assert world.send(0, 4) == OUT_OF_ORDER
    assert world.send(5, 9) == (0, 5)


def test_vector_4_a_newer_epoch_begins_at_0_and_fences_the_older(world: World) -> None:
    world.send(0, 4)

    assert world.send(5, 9, epoch=1) == OUT_OF_ORDER
    assert world.send(0, 4, epoch=1) == (0, 5)
    for first in (0, 5, 10):
        assert world.send(first, first + 4) == FENCED
    assert world.send(0, 4, epoch=1) == (0, 5)


def test_vector_5_epochs_may_leap_and_never_go_back(world: World) -> None:
    world.send(0, 4, epoch=1)

    assert world.send(0, 4, epoch=32767) == (0, 5)
    assert world.send(0, 4) == FENCED


def test_vector_6_a_batch_across_the_wrap(world: World) -> None:
    assert world.send(2147483646, 2147483646) == (0, 0)

    assert world.send(2147483647, 1) == (0, 1)
    assert world.send(2, 2) == (0, 4)
    assert world.send(2147483647, 1) == (0, 1)


def test_vector_7_an_issued_id_begins_at_0(world: World) -> None:
    issued, other = world.issued(), world.issued()
    assert world.send(3, 3, issued) == OUT_OF_ORDER
    world.send(0, 0, other)
    assert world.send(3, 3, issued) == OUT_OF_ORDER
    world.partition.log.trim(1)
    assert world.send(3, 3, issued) == OUT_OF_ORDER


def test_vector_7_behind_a_refused_record_an_issued_id_goes_on(world: World) -> None:
    issued = world.issued()
    world.configure(max_message_bytes="1000")

    assert world.send(0, 0, issued, size=2000) == SIZE
    assert world.send(1, 5, issued) == (0, 0)


@pytest.mark.parametrize("has_records", [False, True])
def test_vector_7_an_id_of_another_broker_goes_on(world: World, has_records: bool) -> None:
    if has_records:
        world.send(0, 0, world.issued())
    offset = world.end

    assert world.send(3, 3) == (0, offset)
    assert world.send(3, 3) == (0, offset)
    assert world.send(7, 7) == OUT_OF_ORDER


def test_vector_10_the_same_batch_on_two_connections_is_written_once(world: World) -> None:
    connections = TurnedAway(), TurnedAway()
    for at in range(1000):
        answers = [world.send(at, at, on=connection) for connection in connections]
        assert answers == [(0, at), (0, at)]

    assert world.end == 1000


@pytest.mark.parametrize("first", [10, 5, 0], ids=["goes on", "retries", "begins anew"])
def test_vector_12_a_producer_outlives_its_topic(world: World, first: int) -> None:
    issued = world.issued()
    world.send(0, 4, issued)
    world.send(5, 9, issued)

    world.recreate()

    assert world.send(first, first + 4, issued) == (0, 0)
    assert world.send(first, first + 4, issued) == (0, 0)
    assert world.end == 5


def test_vector_12_but_not_with_a_hole(world: World) -> None:
    issued = world.issued()
    world.send(0, 4, issued)
    world.send(5, 9, issued)

    world.recreate()

    assert world.send(15, 19, issued) == OUT_OF_ORDER
    assert world.send(10, 14, issued) == (0, 0)
    assert world.send(15, 19, issued) == (0, 5)


def test_vector_12_the_first_of_two_batches_meets_no_topic(world: World) -> None:
    world.delete()
    assert world.send(0, 4) == (3, -1)
    world.catalog.create("t", 1, {})

    assert world.send(5, 9) == OUT_OF_ORDER
    assert world.send(0, 4) == (0, 0)
    assert world.send(5, 9) == (0, 5)


def test_vector_15_what_is_no_batch_of_a_producer(world: World) -> None:
    good = partial(batch, timestamp=world.now_ms)

    def answer(sent: bytes) -> tuple[int, int]:
        outcome = world.outcome_of(sent, world.connection)
        return (
            (0, outcome.base_offset)
            if isinstance(outcome, Written)
            else (
                int(outcome.error_code),
                -1,
            )
        )

    assert is_transactional(memoryview(good(0, 0, attributes=0x10)))
    assert not is_transactional(memoryview(good(0, 0)))
    assert answer(good(0, 0, attributes=0x20)) == INVALID
    assert answer(good(-1, -1)) == INVALID
    assert answer(good(0, 0, producer_id=-1, epoch=-1)) == (0, 0)
    assert answer(good(0, 0, base_offset=1)) == INVALID
    assert answer(good(0, 1, count=3)) == INVALID
    assert answer(good(0, 0) + good(1, 1)) == INVALID
    world.configure(max_message_bytes="1000")
    assert answer(good(0, 0, values=[bytes(2000)], wrong_crc=True)) == SIZE
    assert (world.end, world.producers) == (1, 0)


def test_vector_16_a_stored_batch_is_a_duplicate_whatever_the_limits_are_now(world: World) -> None:
    world.send(0, 0, size=500)

    world.configure(max_message_bytes="100")
    assert world.send(0, 0, size=500) == (0, 0)
    world.now_ms += DAY_MS // 2
    world.configure(message_timestamp_before_max_ms="1000", cleanup_policy="compact")
    assert world.send(0, 0, size=500, timestamp=world.now_ms - DAY_MS // 2) == (0, 0)


def test_a_message_says_what_was_expected_what_came_and_what_is_known(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.send(0, 4)
    world.send(5, 9)

    gap = message_of(world, 15, 19)

    assert gap == "expected base sequence 10, got 15 (producer 7 epoch 0, window 5-9@5 0-4@0)"
    assert [record.getMessage() for record in caplog.records] == [f"t-0: {gap}"]
    assert message_of(world, 5, 9, epoch=1) == (
        "expected base sequence 0, got 5 (producer 7 epoch 1, window 5-9@5 0-4@0)"
    )
    world.send(0, 0, epoch=1)
    assert message_of(world, 10, 10) == (
        "expected producer epoch 1, got the older 0 (producer 7): "
        "a newer incarnation has written here"
    )
    issued = world.issued()
    assert message_of(world, 4, 4, producer_id=issued) == (
        f"expected base sequence 0, got 4 (producer {issued} epoch 0 has written nothing here:"
        " earlier batches were lost or are still on their way)"
    )


def test_a_duplicate_has_the_first_append_time_where_the_topic_stamps(world: World) -> None:
    world.configure(message_timestamp_type="LogAppendTime")
    sent = batch(0, 0, timestamp=5)
    stamped = world.now_ms
    assert world.outcome_of(sent, world.connection) == Written(0, stamped, is_duplicate=False)

    world.now_ms += 60_000

    assert world.outcome_of(sent, world.connection) == Written(0, stamped, is_duplicate=True)


def test_who_waits_is_told_of_a_write_and_of_nothing_else(world: World) -> None:
    told: list[int] = []
    world.partition.watchers[lambda: told.append(world.end)] = None

    world.send(0, 4)
    world.send(0, 4)
    world.send(9, 9)
    world.send(-1, -1, producer_id=-1, epoch=-1)

    assert told == [5, 6]


def test_retries_with_other_bytes_are_said_and_counted(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.send(0, 0, size=1)

    with caplog.at_level(logging.WARNING):
        assert world.send(0, 0, size=2) == (0, 0)

    assert world.partition.other_bytes_count == 1
    assert [record.getMessage() for record in caplog.records] == [
        "t-0: producer 7 epoch 0 sequence 0 came again with other bytes:"
        " answered as a duplicate, not written"
    ]


def test_what_has_no_room_is_56_and_leaves_everything_as_it_was(world: World) -> None:
    world.configure(max_message_bytes=str(1 << 25))
    world.send(0, 0)
    before = world.partition.log.size_bytes

    outcome = world.outcome_of(
        batch(1, 1, values=[bytes(1 << 24)], timestamp=world.now_ms), world.connection
    )

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert "memory.limit" in outcome.message
    assert (world.end, world.partition.log.size_bytes) == (1, before)
    assert world.send(1, 1) == (0, 1)

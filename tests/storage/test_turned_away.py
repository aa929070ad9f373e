"""Nothing is explained while an earlier batch of the connection is about to come again."""

import pytest

from minibroker.storage.outcome import NotWritten
from minibroker.storage.turned_away import MAX_BASES, ProducerHere, TurnedAway
from tests.batches import batch

from .world import OUT_OF_ORDER, World


def test_nothing_is_explained_while_a_lower_base_was_turned_away_on_the_connection(
    world: World,
) -> None:
    """A foreign id's two batches meet the gap between delete and create."""
    world.delete()
    assert world.send(0, 4, producer_id=12) == (3, -1)
    assert world.send(5, 9, producer_id=12) == (3, -1)
    world.catalog.create("t", 1, {})

    assert world.send(5, 9, producer_id=12) == OUT_OF_ORDER
    assert world.send(5, 9, producer_id=12, on=TurnedAway()) == (0, 0), "another connection knows"


def test_what_was_turned_away_is_settled_once_it_is_written_or_refused_for_good(
    world: World,
) -> None:
    world.configure(max_message_bytes="1000")
    topic = world.catalog.find("t")
    assert topic
    for size in (1, 2000):
        world.delete()
        world.send(2, 2, producer_id=12)
        world.catalog.create("t", 1, {"max.message.bytes": "1000"})
        assert world.send(9, 9, producer_id=12) == OUT_OF_ORDER

        world.send(2, 2, producer_id=12, size=size)

        answer = world.send(9, 9, producer_id=12)
        # Written, 2 is known and 9 a gap; refused for good, nothing lower is awaited any more.
        assert answer == (OUT_OF_ORDER if size == 1 else (0, 0))
        world.connection = TurnedAway()


def test_what_another_connection_has_written_is_settled_by_its_duplicate(world: World) -> None:
    world.delete()
    world.send(3, 3, producer_id=12)
    world.catalog.create("t", 1, {})
    assert world.send(3, 3, producer_id=12, on=TurnedAway()) == (0, 0)

    assert world.send(3, 3, producer_id=12) == (0, 0)

    assert not world.connection


def test_a_failed_append_turns_a_batch_away_and_changes_nothing() -> None:
    world = World()
    topic = world.catalog.find("t")
    assert topic
    world.catalog.alter(topic, {"max.message.bytes": str(1 << 25)})

    assert world.send(0, 0, producer_id=12, size=(1 << 24) + 1) == (56, -1)
    assert world.producers == 0
    assert world.send(1, 1, producer_id=12) == OUT_OF_ORDER
    assert world.send(0, 0, producer_id=12) == (0, 0)
    assert world.send(1, 1, producer_id=12) == (0, 1)


def test_a_failed_append_of_a_known_producer_holds_back_in_a_recreated_topic() -> None:
    """Found by the model in tests/models: restarted empty, append fails, topic recreated."""
    world = World()
    topic = world.catalog.find("t")
    assert topic
    world.catalog.alter(topic, {"max.message.bytes": str(1 << 25)})
    world.send(0, 0, producer_id=12)
    assert world.send(1, 1, producer_id=12, size=(1 << 24) + 1) == (56, -1)

    world.recreate()

    assert world.send(2, 2, producer_id=12) == OUT_OF_ORDER
    assert world.send(1, 1, producer_id=12) == (0, 0)
    assert world.send(2, 2, producer_id=12) == (0, 1)


def test_a_batch_that_arrived_corrupt_comes_again(world: World) -> None:
    """Found by the model: restarted empty, arrives corrupt; librdkafka reports both as stored."""
    assert world.send(0, 0, producer_id=12, wrong_crc=True) == (2, -1)

    assert world.send(1, 1, producer_id=12) == OUT_OF_ORDER
    assert world.send(0, 0, producer_id=12) == (0, 0)
    assert world.send(1, 1, producer_id=12) == (0, 1)


def test_a_batch_that_can_be_split_comes_again_in_parts(world: World) -> None:
    """Found by the model: restarted empty, too large; Java's records were out of order."""
    world.configure(max_message_bytes="1000")
    assert world.send(0, 1, producer_id=12, size=1000) == (10, -1)

    assert world.send(2, 2, producer_id=12) == OUT_OF_ORDER
    for sequence in range(3):
        assert world.send(sequence, sequence, producer_id=12) == (0, sequence)


@pytest.mark.parametrize("epoch", [0, 1], ids=["row 6", "row 4"])
def test_a_batch_that_came_early_is_awaited_in_a_recreated_topic(world: World, epoch: int) -> None:
    """Found by the model: of a foreign producer, too large and topic recreated."""
    world.send(0, 0, producer_id=12)
    assert world.send(4, 4, producer_id=12, epoch=epoch) == OUT_OF_ORDER

    world.recreate()

    assert world.send(5, 5, producer_id=12, epoch=epoch) == OUT_OF_ORDER
    assert world.send(5, 5, producer_id=12, epoch=epoch, on=TurnedAway()) == (0, 0)


def test_a_batch_that_came_too_late_is_not_awaited(world: World) -> None:
    for sequence in range(7):
        world.send(sequence, sequence, producer_id=12)
    assert world.send(0, 0, producer_id=12) == OUT_OF_ORDER

    world.recreate()

    assert world.send(9, 9, producer_id=12) == (0, 0)


def test_a_write_settles_what_was_awaited_before_it(world: World) -> None:
    """Found by the model: answer lost, arrives corrupt, topic deleted; it killed a librdkafka."""
    world.send(0, 0, producer_id=12)
    world.send(0, 0, producer_id=12, wrong_crc=True)
    assert world.connection

    world.send(1, 1, producer_id=12)
    assert not world.connection

    world.recreate()
    assert world.send(3, 3, producer_id=12) == (0, 0)


def test_a_batch_that_is_invalid_is_awaited_no_more(world: World) -> None:
    invalid = batch(0, 0, producer_id=12, attributes=0x20, timestamp=world.now_ms)
    world.delete()
    world.outcome_of(invalid, world.connection)
    world.catalog.create("t", 1, {})
    assert world.send(1, 1, producer_id=12) == OUT_OF_ORDER

    outcome = world.outcome_of(invalid, world.connection)

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == 87
    # 1 itself is awaited by now, and nothing below it.
    assert world.send(1, 1, producer_id=12) == (0, 0)


def test_lower_goes_round_the_ring(world: World) -> None:
    world.delete()
    world.send(2**31 - 2, 2**31 - 2, producer_id=12)
    world.catalog.create("t", 1, {})

    assert world.send(3, 3, producer_id=12) == OUT_OF_ORDER
    assert world.send(2**31 - 5, 2**31 - 5, producer_id=12) == (0, 0), "that is before it"


def test_a_connection_is_not_asked_about_another_partition_or_epoch(world: World) -> None:
    for other in (ProducerHere("u", 0, 12, 0), ProducerHere("t", 1, 12, 0)):
        world.connection.add(other, 0)
    world.connection.add(ProducerHere("t", 0, 12, 1), 0)
    world.connection.add(ProducerHere("t", 0, 13, 0), 0)

    assert world.send(1, 1, producer_id=12) == (0, 0)


def test_what_a_connection_remembers_is_bounded() -> None:
    turned_away = TurnedAway()
    producers = [ProducerHere("t", 0, number, 0) for number in range(MAX_BASES + 1)]
    for producer in producers:
        turned_away.add(producer, 0)

    assert sum(0 in turned_away.bases(producer) for producer in producers) == MAX_BASES
    assert not turned_away.bases(producers[0])
    for producer in producers:
        turned_away.settle(producer, 0)
    assert not turned_away


def test_a_write_settles_nothing_that_comes_behind_it(world: World) -> None:
    world.delete()
    world.send(0, 0, producer_id=12)
    world.send(1, 1, producer_id=12)
    world.catalog.create("t", 1, {})

    world.send(0, 0, producer_id=12)

    assert world.connection.bases(ProducerHere("t", 0, 12, 0)) == {1}

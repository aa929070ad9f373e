"""A producer of each kind through pairs of faults, on the real rules (spec: idempotence.md)."""

from itertools import islice

import pytest

from .clients import KINDS
from .explorer import PAIRS, TRIPLES, Schedule, every_life, lives_by_chance, problem, replay
from .world import FAULTS, Setting

TRIES = 30
LEAST_OF_A_PAIR = 2
"""Two batches refused for being too large leave a producer the fewest ways to go on."""
SEED = 1
MOST_STATES = 400
"""Of a pair; only lost and late answers under several in flight have more, up to 8,000."""

each_kind = pytest.mark.parametrize("kind", list(KINDS))


def setting_for(kind: str, faults: Schedule, batches: int = 3) -> Setting:
    """A topic on which all of these faults are possible."""
    return Setting(kind, batches, is_compacted="refused 87" in faults)


def no_problem(setting: Setting, schedule: Schedule) -> None:
    """The schedule ends well; else its trace is shown, and its moves to repeat it with."""
    found = problem(setting, schedule)
    assert found is None, found


@each_kind
def test_no_single_fault_loses_doubles_disorders_or_kills(kind: str) -> None:
    for fault in FAULTS:
        setting = setting_for(kind, (fault,))
        lives = list(every_life(setting, (fault,)))
        for schedule in lives:
            no_problem(setting, schedule)

        assert len(lives) >= 30, fault


@each_kind
def test_no_pair_of_faults_loses_doubles_disorders_or_kills(kind: str) -> None:
    explored = 0
    for pair in PAIRS:
        setting = setting_for(kind, pair)
        lives = list(lives_by_chance(setting, pair, SEED, TRIES))
        for schedule in lives:
            no_problem(setting, schedule)

        assert len(lives) >= LEAST_OF_A_PAIR, pair
        explored += len(lives)
    assert explored >= len(PAIRS) * TRIES // 3


@pytest.mark.slow
@each_kind
def test_lives_of_two_batches_with_two_faults_end_well_state_by_state(kind: str) -> None:
    for pair in PAIRS:
        setting = setting_for(kind, pair, batches=2)
        lives = 0
        for schedule in islice(every_life(setting, pair), MOST_STATES):
            no_problem(setting, schedule)
            lives += 1

        assert lives >= 14, pair


@pytest.mark.slow
@each_kind
def test_no_three_faults_lose_double_disorder_or_kill(kind: str) -> None:
    explored = 0
    for faults in TRIPLES:
        setting = setting_for(kind, faults, batches=4)
        for schedule in lives_by_chance(setting, faults, SEED, tries=10):
            no_problem(setting, schedule)
            explored += 1

    assert explored >= 5 * len(TRIPLES)


@each_kind
def test_without_a_fault_everything_is_there_in_order(kind: str) -> None:
    world = replay(Setting(kind), ())
    world.settle()

    assert [one.batch.number for one in world.broker.kept()] == [0, 1, 2]
    assert world.client.acknowledged == [0, 1, 2]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_felt(fault: str) -> None:
    setting = setting_for("java", (fault,))

    def course(*moves: str) -> tuple[bool, list[str]]:
        world = replay(setting, moves)
        is_known = world.broker.knows(world.client.producer_id)
        world.settle()
        return is_known, [line for line in world.trace if line != fault]

    first = ("send", "serve", "take")
    assert course(*first, fault, "send", fault) != course(*first, "send")


def first_loss(setting: Setting, faults: Schedule) -> str | None:
    """The first life that ends with a record acknowledged and never written."""
    for schedule in every_life(setting, faults):
        found = problem(setting, schedule)
        if found and found.startswith("acknowledged and never written"):
            return found
    return None


def test_on_kafkas_own_table_one_failed_append_loses_a_record() -> None:
    on_kafka = Setting("librdkafka", batches=2, is_kafka=True)

    found = first_loss(on_kafka, ("append fails",))

    assert found is not None
    assert "acknowledged [0, 1], in the log [1]" in found
    assert first_loss(on_kafka._replace(is_kafka=False), ("append fails",)) is None


def test_a_connection_that_forgets_what_it_turned_away_loses_a_record() -> None:
    forgetful = Setting("librdkafka", batches=2, forgets_turned_away=True)
    faults = ("restarted empty", "append fails")

    found = first_loss(forgetful, faults)

    assert found is not None
    assert first_loss(forgetful._replace(forgets_turned_away=False), faults) is None


def test_a_retry_of_what_was_written_two_incarnations_ago_is_taken() -> None:
    """Found by chance among three faults: the name remembered only the last incarnation."""
    life = (
        *("send", "serve", "take", "send", "send", "serve"),
        *("topic recreated", "serve", "answers lost", "topic recreated"),
    )

    for kind in KINDS:
        no_problem(Setting(kind), life)

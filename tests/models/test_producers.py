"""A producer of each kind through every pair of faults, on the real rules."""

import logging
import random
from collections.abc import Iterator

import pytest

from .clients import KINDS
from .explorer import FAULTS, PLAIN, Rules, Start, problem, run, schedules, some_life

REQUESTS = 5

each_kind = pytest.mark.parametrize("kind", list(KINDS))
each_start = pytest.mark.parametrize(
    "start",
    [PLAIN, Start(is_foreign=True), Start((2, 1, 1), is_foreign=True)],
    ids=["plain", "foreign", "several records, foreign"],
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """A million lines of refusals would be the slowest part."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@each_kind
@each_start
def test_no_pair_of_faults_loses_doubles_or_kills(kind: str, start: Start) -> None:
    tried = 0
    for schedule in schedules(REQUESTS, faults_each=2):
        assert (found := problem(kind, schedule, Rules(), start)) is None, found
        tried += 1

    assert tried == REQUESTS * len(FAULTS) + 10 * len(FAULTS) ** 2


@pytest.mark.slow
@pytest.mark.timeout(300)
@each_kind
@pytest.mark.parametrize(
    "start", [Start((1, 1, 1, 1)), Start((1, 2, 1, 1), is_foreign=True)], ids=["plain", "foreign"]
)
def test_no_three_faults_lose_double_or_kill(kind: str, start: Start) -> None:
    for schedule in schedules(5, faults_each=3):
        assert (found := problem(kind, schedule, Rules(), start)) is None, found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_no_longer_life_with_more_faults_loses_doubles_or_kills() -> None:
    chance = random.Random(0)
    for _ in range(30_000):
        kind, schedule, start = some_life(chance)
        assert (found := problem(kind, schedule, Rules(), start)) is None, found


@each_kind
def test_without_a_fault_everything_is_there(kind: str) -> None:
    end = run(kind, (), Rules())

    assert end.stored == end.producer.acknowledged == [0, 1, 2]


def test_the_faults_are_felt() -> None:
    """A schedule that changes nothing would explore nothing."""
    calm = run("aiokafka", (), Rules()).trace
    for fault in FAULTS:
        assert run("aiokafka", ((1, fault),), Rules()).trace != calm, fault


def test_under_kafkas_own_table_one_failed_append_loses_a_record() -> None:
    kafka = Rules(accepts_every_gap=True)

    found = problem("librdkafka", ((0, "append fails"),), kafka)

    assert found is not None
    assert "lost, never stored; stored [1, 2]" in found
    assert problem("librdkafka", ((0, "append fails"),), Rules()) is None


def test_a_connection_that_forgets_what_it_turned_away_loses_a_record() -> None:
    forgetful = Rules(forgets_turned_away=True)
    losses = [
        schedule
        for schedule in schedules(3, faults_each=2)
        if (found := problem("librdkafka", schedule, forgetful)) and "lost" in found
    ]

    assert losses, "the hold-back would be there for nothing"
    for schedule in losses:
        assert problem("librdkafka", schedule, Rules()) is None

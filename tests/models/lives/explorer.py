"""Lives of a client: every one within bounds, or many by chance; and what is wrong with one."""

import random
from collections.abc import Iterator
from itertools import combinations_with_replacement

from .real_broker import RealBroker
from .world import FAULTS, Setting, World

Schedule = tuple[str, ...]
"""Steps and faults, in order; what comes behind them is fair."""

PAIRS = tuple(combinations_with_replacement(FAULTS, 2))
TRIPLES = tuple(combinations_with_replacement(FAULTS, 3))


def replay(setting: Setting, schedule: Schedule) -> World:
    """The world after these moves, leaving out what cannot be done there."""
    world = World(setting)
    for move in schedule:
        if world.can(move):
            world.do(move)
    return world


def every_life(setting: Setting, faults: Schedule) -> Iterator[Schedule]:
    """One schedule to each state that can be reached with these faults at most."""
    seen = set()
    waiting: list[tuple[Schedule, Schedule]] = [((), faults)]
    while waiting:
        schedule, left = waiting.pop()
        world = replay(setting, schedule)
        if (key := hash((world.key(), left))) in seen:
            continue
        seen.add(key)
        yield schedule
        for move in world.moves(left):
            at = left.index(move) if move in left else len(left)
            waiting.append(((*schedule, move), left[:at] + left[at + 1 :]))


def lives_by_chance(
    setting: Setting, faults: Schedule, seed: int, tries: int
) -> Iterator[Schedule]:
    """Different schedules in which each of the faults happens somewhere."""
    chance = random.Random(f"{setting} {faults} {seed}")
    seen = set()
    for _ in range(tries):
        schedule, is_whole = _life_by_chance(World(setting), list(faults), chance)
        if is_whole and schedule not in seen:
            seen.add(schedule)
            yield schedule


def _life_by_chance(world: World, left: list[str], chance: random.Random) -> tuple[Schedule, bool]:
    schedule = []
    misfortune = chance.choice((0.1, 0.3, 0.6))
    while moves := world.moves(tuple(left)):
        mishaps = [move for move in moves if move in left]
        steps = [move for move in moves if move not in left]
        if not steps or (mishaps and chance.random() < misfortune):
            move = chance.choice(mishaps)
            left.remove(move)
        else:
            move = chance.choice(steps)
        schedule.append(move)
        world.do(move)
    return tuple(schedule), not left


def problem(setting: Setting, schedule: Schedule) -> str | None:
    """What is wrong with the end of a life, and how it came to it; None if nothing is."""
    world = replay(setting, schedule)
    world.settle()
    what = _wrong(world) or _worse_than_on_kafka(world, schedule)
    if what is None:
        return None
    numbers = [one.batch.number for one in world.broker.kept()]
    ends = f"acknowledged {world.client.acknowledged}, in the log {numbers}"
    return "\n".join((what, ends, repr(setting), repr(schedule), *world.trace))


def _wrong(world: World) -> str | None:
    """What no broker may do."""
    broker = world.broker
    if broker.wrongs:
        return broker.wrongs[0]
    if isinstance(broker, RealBroker) and broker.has_topic:
        kept = [(one.batch.number, one.base_offset) for one in broker.kept()]
        if broker.log() != kept:
            return f"the log has {broker.log()}, not {kept}"
    if lost := set(world.client.acknowledged) - {one.batch.number for one in broker.written}:
        return f"acknowledged and never written: {sorted(lost)}"
    return None


def _worse_than_on_kafka(world: World, schedule: Schedule) -> str | None:
    """What a client does to itself, and would not have done on Kafka, where that loses nothing."""
    flaws = _flaws(world)
    if not flaws or world.setting.is_kafka:
        return None
    on_kafka = replay(world.setting._replace(is_kafka=True), schedule)
    on_kafka.settle()
    if _wrong(on_kafka) or _flaws(on_kafka):
        return None
    return f"{' and '.join(flaws)}; not on Kafka 4.4"


def _flaws(world: World) -> list[str]:
    numbers = [one.batch.number for one in world.broker.kept()]
    firsts = list(dict.fromkeys(numbers))
    is_doubled = len(firsts) < len(numbers)
    # Behind a true gap a client may number anew what is stored under its last incarnation.
    does_it_itself = is_doubled and world.gaps_count > 0
    # The spec's exception: behind a hole that a known producer left, aiokafka gets 45 for good.
    has_hole = world.setting.kind == "aiokafka" and world.broker.holes_of_known
    is_killed = world.client.is_dead or bool(world.client.pending)
    return [
        what
        for what, is_so in (
            ("the client is killed", is_killed and not has_hole),
            ("a batch is there twice", is_doubled and not does_it_itself),
            ("batches are out of order", firsts != sorted(firsts) and not does_it_itself),
        )
        if is_so
    ]

"""Topics: names, ids, settings, and what a deleted one leaves to its name."""

import random
from collections.abc import Iterator
from uuid import RFC_4122, UUID

import pytest

from minibroker.storage import former_topics
from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.producer_ids import ProducerIds
from minibroker.storage.producers import ProducerLimits
from minibroker.storage.settings import InvalidConfig
from minibroker.storage.topic_names import collision_key, name_problem, topic_id_text

from .world import GAP_MS, OUT_OF_ORDER, World


@pytest.fixture
def catalog() -> Catalog:
    limits = ProducerLimits(86_400_000, 1000, GAP_MS)
    ids = ProducerIds(5000, lambda start, end: None)
    defaults = Defaults({"message.max.bytes": "2000"}, limits)
    return Catalog(MemoryEngine(1 << 24), ids, defaults, random.Random(1).randbytes)


def test_topics_are_found_by_name_and_id_and_listed_by_name(catalog: Catalog) -> None:
    b, a = catalog.create("b", 1, {}), catalog.create("a", 3, {})

    assert catalog.topics() == [a, b]
    assert catalog.find("a") is a
    assert catalog.find_by_id(b.topic_id) is b
    assert catalog.find("c") is None
    assert [partition.index for partition in a.partitions] == [0, 1, 2]
    assert a.partition(2) is a.partitions[2]
    assert a.partition(3) is a.partition(-1) is None


def test_ids_are_random_uuids_that_no_tool_takes_for_an_option(catalog: Catalog) -> None:
    ids = {catalog.create(f"t{number}", 1, {}).topic_id for number in range(300)}

    assert len(ids) == 300
    for topic_id in ids:
        as_uuid = UUID(bytes=bytes(topic_id))
        assert (as_uuid.version, as_uuid.variant) == (4, RFC_4122)
        assert not topic_id_text(topic_id).startswith("-")
        assert len(topic_id_text(topic_id)) == 22


def test_an_id_that_is_taken_or_begins_with_a_dash_is_drawn_again() -> None:
    draws: Iterator[bytes] = iter(
        [bytes(16), bytes(16), b"\xf8" + bytes(15), b"\xfb" + bytes(15), b"\1" + bytes(15)]
    )
    limits = ProducerLimits(86_400_000, 1000, GAP_MS)
    ids = ProducerIds(5000, lambda start, end: None)
    catalog = Catalog(MemoryEngine(1 << 20), ids, Defaults({}, limits), lambda count: next(draws))

    first, second = catalog.create("a", 1, {}).topic_id, catalog.create("b", 1, {}).topic_id

    assert (first[0], second[0]) == (0, 1)
    assert next(draws, None) is None


def test_names_that_differ_in_dot_and_underscore_collide_until_one_is_gone(
    catalog: Catalog,
) -> None:
    topic = catalog.create("a.b", 1, {})

    assert catalog.colliding("a_b") == "a.b"
    assert catalog.colliding("a-b") is None
    catalog.delete(topic)
    assert catalog.colliding("a_b") is None
    assert collision_key("x.y_z") == collision_key("x_y.z")


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "x" * 249, "__consumer_offsets"])
def test_legal_names(name: str) -> None:
    assert name_problem(name) is None


@pytest.mark.parametrize(
    "name", ["", ".", "..", "x" * 250, "a b", "a/b", "ä", "a\n", "a:b", "a\0", "٣"]
)
def test_names_that_no_topic_may_have(name: str) -> None:
    assert name_problem(name)


def test_settings_come_from_the_topic_or_else_from_the_broker(catalog: Catalog) -> None:
    topic = catalog.create("t", 2, {})
    assert topic.config.max_message_bytes == 2000

    catalog.alter(topic, {"max.message.bytes": "300"})

    assert topic.overrides == {"max.message.bytes": "300"}
    assert [partition.config.max_message_bytes for partition in topic.partitions] == [300, 300]
    catalog.add_partitions(topic, 3)
    assert topic.partitions[2].config.max_message_bytes == 300
    catalog.alter(topic, {})
    assert topic.partitions[2].config.max_message_bytes == 2000


def test_settings_that_are_wrong_change_nothing(catalog: Catalog) -> None:
    topic = catalog.create("t", 1, {"max.message.bytes": "300"})

    with pytest.raises(InvalidConfig):
        catalog.alter(topic, {"max.message.bytes": "-1"})
    with pytest.raises(InvalidConfig):
        catalog.create("u", 1, {"no.such.setting": "1"})

    assert topic.overrides == {"max.message.bytes": "300"}
    assert topic.partitions[0].config.max_message_bytes == 300
    assert catalog.find("u") is None
    assert catalog.colliding("u") is None


def test_a_deleted_topic_is_gone_its_memory_free_and_who_waits_is_told(world: World) -> None:
    topic = world.catalog.find("t")
    assert topic
    partition, topic_id = topic.partitions[0], topic.topic_id
    told: list[bool] = []
    partition.watchers[lambda: told.append(partition.is_deleted)] = None
    world.send(0, 4)
    told.clear()

    world.delete()

    assert told == [True]
    assert world.catalog.find("t") is world.catalog.find_by_id(topic_id) is None
    assert world.catalog.former_name(topic_id) == "t"
    assert partition.log.size_bytes == 0
    world.catalog.create("t", 1, {})
    assert world.partition is not partition
    assert world.end == 0


def test_each_partition_inherits_from_the_one_of_its_number(world: World) -> None:
    issued = world.issued()
    world.send(0, 4, issued)

    world.delete()
    topic = world.catalog.create("t", 2, {})

    assert world.send(5, 9, issued) == (0, 0)
    topic.partitions.reverse()  # the second one in the first one's place
    assert world.send(5, 9, issued) == OUT_OF_ORDER


def test_a_topic_of_another_name_inherits_nothing(world: World) -> None:
    issued = world.issued()
    world.send(0, 4, issued)
    world.delete()

    other = world.catalog.create("u", 1, {})

    assert (
        not other.partitions[0]
        .producers.circumstances(issued, 0, world.now_ms, world.ids.is_issued, frozenset())
        .is_below_floor
    )


def test_what_names_remember_is_bounded_and_what_is_forgotten_raises_the_floor(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former_topics, "MAX_ENTRIES", 2)
    world.configure(max_message_bytes="1000")
    ids = [world.issued() for _ in range(3)]
    world.send(0, 0, ids[0])
    world.send(0, 0, ids[1], size=2000)  # a refusal is remembered, too

    world.recreate()
    assert world.send(9, 9, ids[0]) == OUT_OF_ORDER
    world.send(0, 0, ids[2])
    world.recreate()

    later = world.issued()
    assert world.send(9, 9, ids[0]) == (0, 0)
    assert world.send(9, 9, ids[2]) == (0, 1)
    assert world.send(9, 9, later) == OUT_OF_ORDER


def test_the_names_remembered_are_bounded_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former_topics, "MAX_NAMES", 1)
    issued = world.issued()
    topic = world.catalog.find("t")
    assert topic
    world.send(0, 0, issued)
    world.delete()
    assert world.catalog.former_name(topic.topic_id) == "t"

    world.catalog.delete(world.catalog.create("u", 1, {}))

    assert world.catalog.former_name(topic.topic_id) is None
    later = world.issued()
    world.catalog.create("t", 1, {})
    assert world.send(9, 9, issued) == (0, 0), "any id that was issued may have written to it"
    assert world.send(9, 9, later) == OUT_OF_ORDER


def test_refusals_count_as_what_names_remember(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(former_topics, "MAX_ENTRIES", 1)
    world.configure(max_message_bytes="1000")
    ids = [world.issued() for _ in range(2)]
    for producer_id in ids:
        world.send(0, 0, producer_id, size=2000)

    world.recreate()

    assert world.send(9, 9, ids[0]) == (0, 0), "one too many: there is only the floor"

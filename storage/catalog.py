"""The topics of a broker: which there are, their partitions and their settings."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from minibroker.protocol.types import ZERO_TOPIC_ID, TopicId

from .engine import Engine
from .former_topics import FormerTopics
from .partition import Partition
from .producer_ids import ProducerIds
from .producers import ProducerLimits, ProducerTable
from .topic_config import TopicConfig, resolve
from .topic_names import collision_key


class Topic:
    """One topic. Its partitions are in the order of their index."""

    def __init__(
        self, name: str, topic_id: TopicId, overrides: Mapping[str, str], config: TopicConfig
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.overrides = overrides
        self.config = config
        self.partitions: list[Partition] = []
        self.is_internal = False

    def partition(self, index: int) -> Partition | None:
        """The partition with this index, if there is one."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


class Defaults(NamedTuple):
    """What every topic of this broker starts from."""

    broker_settings: Mapping[str, str]
    """Kafka's broker keys that supply defaults of topic settings."""
    producer_limits: ProducerLimits


class Catalog:
    """All topics, by name and by id."""

    def __init__(
        self,
        engine: Engine,
        producer_ids: ProducerIds,
        defaults: Defaults,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.producer_ids = producer_ids
        self._engine = engine
        self._defaults = defaults
        self._random_bytes = random_bytes
        self._topics: dict[str, Topic] = {}
        self._by_id: dict[TopicId, Topic] = {}
        self._collision_keys: dict[str, str] = {}
        self._former = FormerTopics(lambda: producer_ids.next_id)

    def topics(self) -> list[Topic]:
        """Every topic, by name."""
        return [self._topics[name] for name in sorted(self._topics)]

    def find(self, name: str) -> Topic | None:
        """The topic of this name."""
        return self._topics.get(name)

    def find_by_id(self, topic_id: TopicId) -> Topic | None:
        """The topic with this id."""
        return self._by_id.get(topic_id)

    def former_name(self, topic_id: TopicId) -> str | None:
        """The name of the deleted topic that had this id."""
        return self._former.name_of(topic_id)

    def colliding(self, name: str) -> str | None:
        """A topic whose name differs from this one only in '.' and '_'."""
        return self._collision_keys.get(collision_key(name))

    def resolve(self, overrides: Mapping[str, str]) -> TopicConfig:
        """The settings of a topic with these overrides. Raises InvalidConfig."""
        return resolve(overrides, self._defaults.broker_settings)

    def create(self, name: str, partitions: int, overrides: Mapping[str, str]) -> Topic:
        """A new topic; the name must be legal and free. Raises InvalidConfig."""
        topic = Topic(name, self._new_topic_id(), dict(overrides), self.resolve(overrides))
        self._add_partitions(topic, range(partitions))
        self._topics[name] = self._by_id[topic.topic_id] = topic
        self._collision_keys[collision_key(name)] = name
        return topic

    def add_partitions(self, topic: Topic, count: int) -> None:
        """Raise the number of partitions to `count`."""
        self._add_partitions(topic, range(len(topic.partitions), count))

    def alter(self, topic: Topic, overrides: Mapping[str, str]) -> None:
        """Replace the topic's own settings. Raises InvalidConfig, and then nothing has changed."""
        config = self.resolve(overrides)
        topic.overrides, topic.config = dict(overrides), config
        for partition in topic.partitions:
            partition.configure(config)

    def delete(self, topic: Topic) -> None:
        """Remove the topic with everything in it; who waits for more of it is woken."""
        del self._topics[topic.name], self._by_id[topic.topic_id]
        del self._collision_keys[collision_key(topic.name)]
        self._former.deleted(
            topic.name, topic.topic_id, [partition.producers for partition in topic.partitions]
        )
        for partition in topic.partitions:
            partition.is_deleted = True
            partition.log.close()
            partition.wake()

    def _add_partitions(self, topic: Topic, indexes: Iterable[int]) -> None:
        for index in indexes:
            former = self._former.of(topic.name, index)
            label = f"{topic.name}-{index}"
            partition = Partition(
                topic=topic.name,
                index=index,
                log=self._engine.create(topic.topic_id, topic.name, index),
                producers=ProducerTable(self._defaults.producer_limits, former, label),
                config=topic.config,
                is_issued=self.producer_ids.is_issued,
            )
            topic.partitions.append(partition)

    def _new_topic_id(self) -> TopicId:
        """A random UUID (version 4) whose text does not begin with '-', as Kafka's do not."""
        while True:
            raw = bytearray(self._random_bytes(16))
            raw[6] = raw[6] & 0x0F | 0x40
            raw[8] = raw[8] & 0x3F | 0x80
            topic_id = TopicId(bytes(raw))
            starts_with_dash = raw[0] >> 2 == 62
            if topic_id != ZERO_TOPIC_ID and topic_id not in self._by_id and not starts_with_dash:
                return topic_id

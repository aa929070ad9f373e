"""What the names of deleted topics remember, within one bound for all of them.

People delete and recreate topics under living producers. A 45 kills a librdkafka producer for good
and wedges an aiokafka one; taking any base loses data. So a name remembers what its producers had
written, and where that is lost it remembers at least up to which producer id.
"""

from collections import OrderedDict
from collections.abc import Callable

from minibroker.protocol.types import TopicId

from .producers import FormerProducers, ProducerTable

MAX_ENTRIES = 100_000
"""Producers of deleted topics whose entry or refusals are kept, all names together."""
MAX_NAMES = 100_000
"""Partitions of deleted topics whose floor is remembered, and ids of deleted topics."""

PartitionName = tuple[str, int]


class FormerTopics:
    """Memory by topic name and partition; the topic deleted longest ago is forgotten first."""

    def __init__(self, next_producer_id: Callable[[], int]) -> None:
        self._next_producer_id = next_producer_id
        self._partitions: OrderedDict[PartitionName, FormerProducers] = OrderedDict()
        self._names: OrderedDict[TopicId, str] = OrderedDict()
        self._entries_count = 0
        self._floor = 0

    def of(self, name: str, partition: int) -> FormerProducers:
        """What a new partition of this name inherits."""
        known = self._partitions.get((name, partition))
        return known or FormerProducers(self._floor)

    def deleted(self, name: str, topic_id: TopicId, tables: list[ProducerTable]) -> None:
        """A topic is gone; its partitions leave what they know of their producers."""
        self._names[topic_id] = name
        if len(self._names) > MAX_NAMES:
            self._names.popitem(last=False)
        for index, table in enumerate(tables):
            former = self._partitions.pop((name, index), None) or FormerProducers(self._floor)
            self._entries_count -= former.size
            table.leave_to(former)
            self._entries_count += former.size
            self._partitions[name, index] = former
        self._forget_oldest()

    def name_of(self, topic_id: TopicId) -> str | None:
        """The name that a deleted topic had."""
        return self._names.get(topic_id)

    def _forget_oldest(self) -> None:
        for former in self._partitions.values():
            if self._entries_count <= MAX_ENTRIES:
                break
            self._entries_count -= former.size
            former.forget(self._next_producer_id())
        while len(self._partitions) > MAX_NAMES:
            _, former = self._partitions.popitem(last=False)
            self._entries_count -= former.size
            former.forget(self._next_producer_id())
            self._floor = self._next_producer_id()

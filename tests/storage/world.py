"""A topic of a real catalog, a clock, and connections to send on."""

import random

from minibroker.protocol.errors import ErrorCode
from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.outcome import NotWritten, Outcome, Written
from minibroker.storage.partition import Partition, Sender, note_turned_away
from minibroker.storage.producer_ids import ProducerIds
from minibroker.storage.producers import ProducerLimits
from minibroker.storage.turned_away import TurnedAway
from tests.batches import batch

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
GAP_MS = 300_000
OUT_OF_ORDER = (45, -1)
FENCED = (47, -1)


class World:
    """One topic of a catalog, a clock, and connections to send on."""

    def __init__(self, max_producers: int = 1000) -> None:
        self.ids = ProducerIds(5000, lambda start, end: None)
        limits = ProducerLimits(DAY_MS, max_producers, GAP_MS)
        self.catalog = Catalog(
            MemoryEngine(1 << 24), self.ids, Defaults({}, limits), random.Random(1).randbytes
        )
        self.now_ms = NOW_MS
        self.connection = TurnedAway()
        self.catalog.create("t", 1, {})

    def send(
        self,
        first: int,
        last: int,
        producer_id: int = 7,
        epoch: int = 0,
        *,
        on: TurnedAway | None = None,
        size: int = 1,
        timestamp: int | None = None,
        wrong_crc: bool = False,
    ) -> tuple[int, int]:
        """(error code, base offset) of [first-last]; 3 where the topic is not there."""
        count = (last - first) % 2**31 + 1
        sent = batch(
            first,
            last,
            producer_id=producer_id,
            epoch=epoch,
            values=[bytes(size)] * count,
            timestamp=self.now_ms if timestamp is None else timestamp,
            wrong_crc=wrong_crc,
        )
        outcome = self.outcome_of(sent, self.connection if on is None else on)
        if isinstance(outcome, Written):
            return 0, outcome.base_offset
        assert outcome.message
        return int(outcome.error_code), -1

    def outcome_of(self, sent: bytes, on: TurnedAway) -> Outcome:
        """What becomes of these bytes."""
        topic = self.catalog.find("t")
        if topic is None:
            note_turned_away(on, "t", 0, memoryview(sent))
            return NotWritten(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is no topic")
        return topic.partitions[0].append(memoryview(sent), Sender(9, on), self.now_ms)

    def issued(self) -> int:
        return self.ids.allocate()

    def delete(self) -> None:
        topic = self.catalog.find("t")
        assert topic
        self.catalog.delete(topic)

    def recreate(self) -> None:
        self.delete()
        self.catalog.create("t", 1, {})

    def configure(self, **settings: str) -> None:
        topic = self.catalog.find("t")
        assert topic
        self.catalog.alter(
            topic, {name.replace("_", "."): value for name, value in settings.items()}
        )

    @property
    def partition(self) -> Partition:
        topic = self.catalog.find("t")
        assert topic
        return topic.partitions[0]

    @property
    def producers(self) -> int:
        return len(self.partition.producers)

    @property
    def end(self) -> int:
        return self.partition.log.end_offset

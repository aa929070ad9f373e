"""The catalog, partition and rules of the storage room, in memory, under the model's faults."""

import random
from functools import lru_cache

from minibroker.protocol.types import TopicId
from minibroker.storage.catalog import Catalog, Defaults
from minibroker.storage.engine import Buffer, StorageFailed
from minibroker.storage.memory import MemoryEngine, MemoryLog
from minibroker.storage.outcome import NotWritten
from minibroker.storage.partition import Sender, note_turned_away
from minibroker.storage.producer_ids import BLOCK_IDS, ProducerIds
from minibroker.storage.producers import ProducerLimits
from minibroker.storage.turned_away import ProducerHere, TurnedAway
from tests.batches import batch as batch_bytes

from .brokers import DAY_MS, NOW_MS, Answer, Broker
from .clients import Batch

SETTINGS = {"max.message.bytes": "1000", "message.timestamp.before.max.ms": str(9 * DAY_MS)}
COMPACTED = {**SETTINGS, "cleanup.policy": "compact"}
"""So that a record without a key is refused."""
LIMITS = ProducerLimits(DAY_MS, max_producers=1000, gap_timeout_ms=300_000)


class Forgetful(TurnedAway):
    """A connection that does not know what it turned away: a control."""

    __slots__ = ()

    def add(self, producer: ProducerHere, base: int) -> None:
        """Forget it."""


class RealBroker(Broker):
    """One topic of one partition."""

    def __init__(self, settings: dict[str, str]) -> None:
        super().__init__()
        self._settings = settings
        self._first_id = BLOCK_IDS
        self._start()

    def new_id(self) -> int:
        """The broker's own."""
        return self._ids.allocate()

    def knows(self, producer_id: int) -> bool:
        """Whether the partition has an entry of this producer."""
        return self._partition.producers.entry(producer_id, self.now_ms) is not None

    def end_offset(self) -> int:
        """The end of the log."""
        return self._partition.log.end_offset

    def append(self, batch: Batch, blemish: int, connection: TurnedAway) -> Answer:
        """What Produce asks of the partition."""
        sender = Sender(api_version=9, turned_away=connection)
        outcome = self._partition.append(_sent(batch, blemish), sender, self.now_ms)
        if isinstance(outcome, NotWritten):
            return int(outcome.error_code), -1
        return 0, outcome.base_offset

    def meets_no_topic(self, batch: Batch, connection: TurnedAway) -> None:
        """What Produce does for a topic that is not there."""
        note_turned_away(connection, "t", 0, _sent(batch, 0))

    def delete(self) -> None:
        """The name remembers something."""
        topic = self._catalog.find("t")
        assert topic is not None
        self._catalog.delete(topic)
        super().delete()

    def create(self) -> None:
        """A new topic under the same name."""
        super().create()
        self._partition = self._catalog.create("t", 1, self._settings).partitions[0]

    def restart(self) -> None:
        """A new catalog, whose ids are above those of the old."""
        super().restart()
        self._start()

    def log(self) -> list[tuple[int, int]]:
        """Number and base offset of every batch in the log itself."""
        log = self._partition.log
        data = b"".join(log.read(0, 1 << 22, log.end_offset))
        found, at = [], 0
        while at < len(data):
            size = 12 + int.from_bytes(data[at + 8 : at + 12], "big")
            _, value, *_ = data[at : at + size].split(b"number ")
            found.append((int(value[:4]), int.from_bytes(data[at : at + 8], "big")))
            at += size
        return found

    def _start(self) -> None:
        self._ids = ProducerIds(self._first_id, lambda start, end: None)
        self._first_id += 1000 * BLOCK_IDS
        self._catalog = Catalog(
            FaultyEngine(self), self._ids, Defaults({}, LIMITS), random.Random(1).randbytes
        )
        self._partition = self._catalog.create("t", 1, self._settings).partitions[0]


class FaultyLog(MemoryLog):
    """A log whose next append can be made to fail."""

    broker: RealBroker

    def append(self, batch: Buffer, records_count: int, max_timestamp: int) -> int:
        """As in memory, or StorageFailed."""
        if self.broker.fails_next:
            self.broker.fails_next = False
            raise StorageFailed("the disk says no")
        return super().append(batch, records_count, max_timestamp)


class FaultyEngine(MemoryEngine):
    """Makes faulty logs."""

    def __init__(self, broker: RealBroker) -> None:
        super().__init__(1 << 22)
        self._broker = broker

    def create(self, topic_id: TopicId, topic: str, partition: int) -> FaultyLog:
        """A new and empty log."""
        log = FaultyLog(self.pool, topic, self.leader_epoch)
        log.broker = self._broker
        return log


@lru_cache(maxsize=10_000)
def _sent(batch: Batch, blemish: int) -> memoryview:
    """The bytes; a blemish is a value too large, a time too old, or no key."""
    value = b"number %04d" % batch.number + bytes(2000 if blemish == 10 else 0)
    return memoryview(
        batch_bytes(
            batch.first,
            batch.last,
            producer_id=batch.producer_id,
            epoch=batch.epoch,
            values=[value] * batch.records_count,
            timestamp=NOW_MS - (30 * DAY_MS if blemish == 32 else 0),
            key=None if blemish == 87 else b"k",
        )
    )

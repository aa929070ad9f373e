"""One topic of one partition, under faults, with an account of every write and answer.

`Broker` keeps the account; `KafkaBroker` decides by Apache Kafka 4.4's own table, written anew
here; the real rules are in real_broker.py.
"""

from collections import deque
from typing import NamedTuple

from minibroker.storage.turned_away import TurnedAway

from .clients import STORAGE_FAILED, UNKNOWN_TOPIC, Batch

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
WINDOW = 5

Answer = tuple[int, int]
"""An error code and a base offset."""


class Stored(NamedTuple):
    """A batch that was written."""

    incarnation: int
    base_offset: int
    batch: Batch


class Broker:
    """What is common to both: the faults, and the account of what was written and answered."""

    def __init__(self) -> None:
        self.now_ms = NOW_MS
        self.incarnation = 0
        self.has_topic = True
        self.fails_next = False
        self.written: list[Stored] = []
        self.wrongs: list[str] = []
        self.holes_of_known = 0
        """Batches refused for good of a producer that the partition knew."""

    def serve(self, batch: Batch, blemish: int, connection: TurnedAway) -> int:
        """The error code of a batch; `blemish` is the code it deserves for what is in it."""
        self.now_ms += 1
        if not self.has_topic:
            self.meets_no_topic(batch, connection)
            return UNKNOWN_TOPIC
        was_known = self.knows(batch.producer_id)
        end = self.end_offset()
        code, base_offset = self.append(batch, blemish, connection)
        stored = Stored(self.incarnation, base_offset, batch)
        if code:
            self.holes_of_known += code == blemish and was_known
        elif self.end_offset() > end:
            self._check_write(stored)
            self.written.append(stored)
        elif stored not in self.written:
            self.wrongs.append(f"answered as stored, and is not: {batch}")
        return code

    def delete(self) -> None:
        """No topic, for now."""
        self.has_topic = False
        self.incarnation += 1

    def create(self) -> None:
        """A new incarnation under the same name."""
        self.has_topic = True

    def restart(self) -> None:
        """An empty memory, with the topic created in it."""
        self.incarnation += 1
        self.has_topic = True

    def a_day_passes(self) -> None:
        """Every producer's entry expires."""
        self.now_ms += DAY_MS

    def kept(self) -> list[Stored]:
        """What must be in the log, in its order."""
        return [one for one in self.written if one.incarnation == self.incarnation]

    def meets_no_topic(self, batch: Batch, connection: TurnedAway) -> None:
        """A batch found no topic."""

    def new_id(self) -> int:
        """InitProducerId."""
        raise NotImplementedError

    def knows(self, producer_id: int) -> bool:
        """Whether the partition has an entry of this producer."""
        raise NotImplementedError

    def end_offset(self) -> int:
        """The end of the log."""
        raise NotImplementedError

    def append(self, batch: Batch, blemish: int, connection: TurnedAway) -> Answer:
        """Judge it, and write it where the rules say so."""
        raise NotImplementedError

    def _check_write(self, new: Stored) -> None:
        for incarnation, _, other in self.written:
            if incarnation != new.incarnation or other[1:3] != new.batch[1:3]:
                continue
            if other.first == new.batch.first:
                self.wrongs.append(f"stored twice: {new.batch}")
            elif other.first > new.batch.first:
                self.wrongs.append(f"out of order: {new.batch} behind {other}")


class KafkaBroker(Broker):
    """Apache Kafka 4.4's table: whoever is unknown may start anywhere."""

    def __init__(self) -> None:
        super().__init__()
        self._last_id = 0
        self._end = 0
        self._entries: dict[int, tuple[int, deque[Stored]]] = {}

    def new_id(self) -> int:
        """The next one."""
        self._last_id += 1
        return self._last_id

    def knows(self, producer_id: int) -> bool:
        """Whether there is a window."""
        return producer_id in self._entries

    def end_offset(self) -> int:
        """The end of the log."""
        return self._end

    def append(self, batch: Batch, blemish: int, connection: TurnedAway) -> Answer:
        """The table."""
        if blemish:
            return blemish, -1
        epoch, window = self._entries.get(batch.producer_id, (None, deque[Stored]()))
        if epoch is None or (batch.epoch > epoch and batch.first == 0):
            window = deque[Stored](maxlen=WINDOW)
        elif batch.epoch < epoch:
            return 47, -1
        elif batch.epoch > epoch:
            return 45, -1
        for stored in window:
            if stored.batch[3:] == batch[3:]:
                return 0, stored.base_offset
        if window and batch.first != window[-1].batch.last + 1:
            return 45, -1
        if self.fails_next:
            self.fails_next = False
            return STORAGE_FAILED, -1
        window.append(Stored(self.incarnation, self._end, batch))
        self._entries[batch.producer_id] = batch.epoch, window
        self._end += batch.records_count
        return 0, self._end - batch.records_count

    def delete(self) -> None:
        """The state goes with the topic."""
        super().delete()
        self._forget()

    def restart(self) -> None:
        """The state goes with the memory."""
        super().restart()
        self._forget()

    def a_day_passes(self) -> None:
        """The entries go, the log stays."""
        self._entries = {}

    def _forget(self) -> None:
        self._entries = {}
        self._end = 0

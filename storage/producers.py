"""What one partition knows of its producers, and what it remembers of those that it has forgotten.

Entries are kept in the order of their last append, so that what expires or is evicted is always in
front. Everything here is bounded, and every loss raises the floor: the first producer id of which
the partition can say "had it ever written here, I would know".
"""

import logging
from collections.abc import Callable, Iterator, Sequence, Set
from itertools import islice
from typing import NamedTuple

from .idempotence import Circumstances, Gap, gap_after, sequence_after
from .producer_entry import PlainBatch, ProducerEntry

logger = logging.getLogger(__name__)

MAX_REMEMBERED = 10_000
"""Producers whose refusals are remembered, and whose gaps are; the oldest is forgotten first."""
MAX_REFUSALS_A_PRODUCER = 100
YOUNGEST_EVICTED_MS = 10 * 60 * 1000
"""An entry younger than this never goes for want of room: its retry would be written twice."""
_EVICTED_AT_ONCE = 100
"""A hundredth of what is kept."""

_NO_BASES: Set[int] = frozenset()


class ProducerLimits(NamedTuple):
    """How much is kept, for how long."""

    expiration_ms: int
    """producer.id.expiration.ms, by the broker's clock since the last append."""
    max_producers: int
    """max.producers.per.partition."""
    gap_timeout_ms: int
    """producer.gap.timeout.ms."""


class Refusals(NamedTuple):
    """Bases right behind batches of one epoch that were refused for good."""

    producer_epoch: int
    next_bases: frozenset[int]


class FormerProducers:
    """What a name remembers of a deleted topic's partition: its new incarnation inherits it."""

    __slots__ = ("entries", "floor", "refusals")

    def __init__(self, floor: int = 0) -> None:
        self.floor = floor
        self.entries: dict[int, ProducerEntry] = {}
        self.refusals: dict[int, Refusals] = {}

    @property
    def size(self) -> int:
        """What is kept, in producers."""
        return len(self.entries) + len(self.refusals)

    def forget(self, next_producer_id: int) -> None:
        """Memory is short: from now on only the floor tells that there was something."""
        self.entries.clear()
        self.refusals.clear()
        self.floor = next_producer_id


class ProducerTable:
    """The entries of one partition, by producer id, with everything that `Circumstances` are made
    of.
    """

    def __init__(self, limits: ProducerLimits, former: FormerProducers, name: str) -> None:
        self._limits = limits
        self._former = former
        self._name = name
        self._floor = former.floor
        self._entries: dict[int, ProducerEntry] = {}
        self._refusals = dict(former.refusals)
        self._gaps: dict[int, Gap] = {}
        self._next_expiry_ms = 0
        self._is_over_limit = False

    def entry(self, producer_id: int, now_ms: int) -> ProducerEntry | None:
        """The unexpired entry of a producer."""
        if now_ms >= self._next_expiry_ms:
            self.expire(now_ms)
        return self._entries.get(producer_id)

    def circumstances(
        self,
        producer_id: int,
        producer_epoch: int,
        now_ms: int,
        is_issued: Callable[[int], bool],
        bases_turned_away: Set[int],
    ) -> Circumstances:
        """What an unknown producer's first batch is judged by."""
        deleted_entry = self._former.entries.get(producer_id)
        is_forgotten = deleted_entry is not None and self._is_expired(deleted_entry, now_ms)
        refusals = self._refusals.get(producer_id)
        is_same_epoch = refusals is not None and refusals.producer_epoch == producer_epoch
        return Circumstances(
            is_foreign=not is_issued(producer_id),
            is_below_floor=is_forgotten or producer_id < max(self._floor, self._former.floor),
            deleted_entry=None if is_forgotten else deleted_entry,
            bases_behind_refusals=refusals.next_bases if refusals and is_same_epoch else _NO_BASES,
            gap=self._gaps.get(producer_id),
            gap_timeout_ms=self._limits.gap_timeout_ms,
            bases_turned_away=bases_turned_away,
            now_ms=now_ms,
        )

    def appended(
        self,
        producer_id: int,
        producer_epoch: int,
        last_timestamp: int,
        batches: Sequence[PlainBatch],
    ) -> ProducerEntry:
        """Batches were written, the newest last: the fold that a log's state is made of.

        Returns the new entry.
        """
        known = self._entries.pop(producer_id, None)
        entry = ProducerEntry.after(known, producer_epoch, last_timestamp, batches)
        self._entries[producer_id] = entry
        if known is None:
            self._gaps.pop(producer_id, None)
            self._refusals.pop(producer_id, None)
            if len(self._entries) > self._limits.max_producers:
                self._evict(now_ms=batches[-1][3])
        return entry

    def refused_for_good(self, producer_id: int, producer_epoch: int, last_sequence: int) -> None:
        """A batch that would have been accepted in row 7 or 8 was refused for another reason, for
        good.
        """
        known = self._refusals.pop(producer_id, None)
        bases = (
            known.next_bases if known and known.producer_epoch == producer_epoch else frozenset()
        )
        if len(bases) < MAX_REFUSALS_A_PRODUCER:
            bases |= {sequence_after(last_sequence)}
        else:
            self._raise_floor(producer_id)
        self._refusals[producer_id] = Refusals(producer_epoch, bases)
        if len(self._refusals) > MAX_REMEMBERED:
            oldest = next(iter(self._refusals))
            del self._refusals[oldest]
            self._raise_floor(oldest)

    def gap_answered(self, producer_id: int, producer_epoch: int, base: int, now_ms: int) -> None:
        """Row 9 has answered."""
        gap = self._gaps.pop(producer_id, None)
        self._gaps[producer_id] = gap_after(gap, producer_epoch, base, now_ms)
        if len(self._gaps) > MAX_REMEMBERED:
            del self._gaps[next(iter(self._gaps))]

    def expire(self, now_ms: int) -> None:
        """Drop the entries whose last append is too long ago."""
        expired = []
        self._next_expiry_ms = now_ms + self._limits.expiration_ms
        for producer_id, entry in self._entries.items():
            if not self._is_expired(entry, now_ms):
                self._next_expiry_ms = entry.last_append_ms + self._limits.expiration_ms
                break
            expired.append(producer_id)
        for producer_id in expired:
            self._drop(producer_id)

    def unexpired(self, now_ms: int) -> Iterator[tuple[int, ProducerEntry]]:
        """Every producer with its entry."""
        self.expire(now_ms)
        yield from self._entries.items()

    def leave_to(self, former: FormerProducers) -> None:
        """The topic is deleted: hand over what its name remembers."""
        former.floor = max(former.floor, self._floor)
        for producer_id, entry in self._entries.items():
            former.entries[producer_id] = _joined(former.entries.get(producer_id), entry)
        former.refusals.update(self._refusals)

    def __len__(self) -> int:
        return len(self._entries)

    def _is_expired(self, entry: ProducerEntry, now_ms: int) -> bool:
        return now_ms - entry.last_append_ms >= self._limits.expiration_ms

    def _drop(self, producer_id: int) -> None:
        del self._entries[producer_id]
        self._raise_floor(producer_id)

    def _raise_floor(self, lost_producer_id: int) -> None:
        self._floor = max(self._floor, lost_producer_id + 1)

    def _evict(self, now_ms: int) -> None:
        """Make room for a while: to find the first item of a dict whose first ones are gone is to
        walk over all of them.
        """
        limit = self._limits.max_producers
        excess = len(self._entries) - limit + limit // _EVICTED_AT_ONCE
        idle = [
            producer_id
            for producer_id, entry in islice(self._entries.items(), excess)
            if now_ms - entry.last_append_ms >= YOUNGEST_EVICTED_MS
        ]
        for producer_id in idle:
            self._drop(producer_id)
        if len(self._entries) > limit and not self._is_over_limit:
            self._is_over_limit = True
            logger.warning(
                "%s has more than max.producers.per.partition = %d producers that are younger"
                " than 10 minutes: all of them are kept",
                self._name,
                limit,
            )


def _joined(older: ProducerEntry | None, newer: ProducerEntry) -> ProducerEntry:
    """What two incarnations of a topic knew, where the second went on from the first: what the
    producer sends again may have been written in either.
    """
    if older is None or older.producer_epoch != newer.producer_epoch:
        return newer
    batches = newer.window()[::-1]
    if batches[0].first not in (older.next_sequence, *(batch.first for batch in older.window())):
        return newer
    return ProducerEntry.after(older, newer.producer_epoch, newer.last_timestamp, batches)

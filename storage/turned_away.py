"""Batches that one connection was told to send again: no later one may slip in before them."""

from collections.abc import Set
from typing import NamedTuple

from .idempotence import is_lower_sequence

MAX_BASES = 10_000
"""Bases remembered of one connection; the oldest is forgotten first."""

_NONE: Set[int] = frozenset()


class ProducerHere(NamedTuple):
    """One incarnation of a producer on one partition, by name: a topic may be gone or not be there
    yet.
    """

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int


class TurnedAway:
    """The bases of batches that this connection has sent and will send again: not settled since.

    Turned away are those answered with 3 or 100, 7, 56 or 2, with 45 because they were early, and
    with 10 where they can be split. Kept for each connection and dropped with it: by any
    connection, a zombie's batches would hold back a healthy producer (spec: "No other explanation
    holds while …").
    """

    __slots__ = ("_bases", "_order")

    def __init__(self) -> None:
        self._bases: dict[ProducerHere, set[int]] = {}
        self._order: dict[tuple[ProducerHere, int], None] = {}

    def bases(self, producer: ProducerHere) -> Set[int]:
        """Base sequences of this producer that will be retried."""
        return self._bases.get(producer, _NONE)

    def add(self, producer: ProducerHere, base: int) -> None:
        """A batch was turned away and will come again."""
        self._bases.setdefault(producer, set()).add(base)
        self._order[producer, base] = None
        if len(self._order) > MAX_BASES:
            self.settle(*next(iter(self._order)))

    def written(self, producer: ProducerHere, base: int) -> None:
        """The batch is in the log, and with it whatever lower one was awaited: it came another way,
        and its client may have been told so by this one's success.
        """
        for awaited in tuple(self.bases(producer)):
            if awaited == base or is_lower_sequence(awaited, base):
                self.settle(producer, awaited)

    def settle(self, producer: ProducerHere, base: int) -> None:
        """The batch comes no more."""
        if self._order.pop((producer, base), self) is self:
            return
        bases = self._bases[producer]
        bases.discard(base)
        if not bases:
            del self._bases[producer]

    def __bool__(self) -> bool:
        return bool(self._order)

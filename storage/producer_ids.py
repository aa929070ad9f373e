"""Producer ids: never issued twice, also across restarts.

A reused id gets its new owner's records silently dropped as duplicates of the old one's. Ids are
handed out of blocks, and a block is kept before its first id leaves. Every start begins above
everything that was reserved or seen in a log, and above milliseconds since 1970 x 1,000: a wiped
directory, or a new broker in memory on the same port, must not issue what living clients still
hold.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable

BLOCK_IDS = 1000
IDS_A_MILLISECOND = 1000

Reserve = Callable[[int, int], None]
"""Keeps the block from the first id to before the second; durable when it returns."""


def first_producer_id(now_ms: int, above: Iterable[int] = ()) -> int:
    """Where a start begins, given every id that was reserved or seen before."""
    return max(now_ms * IDS_A_MILLISECOND, *(producer_id + 1 for producer_id in above), 0)


class ProducerIds:
    """The broker's ids: the next one, and which ones it has issued."""

    def __init__(
        self, first_id: int, reserve: Reserve, reserved: Iterable[tuple[int, int]] = ()
    ) -> None:
        self.next_id = first_id
        self._block_end = first_id
        self._reserve = reserve
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in sorted(reserved):
            self._remember(start, end)

    def allocate(self) -> int:
        """A fresh id. Raises what `reserve` raises; no id has left then."""
        if self.next_id == self._block_end:
            start, end = self.next_id, self.next_id + BLOCK_IDS
            self._reserve(start, end)
            self._remember(start, end)
            self._block_end = end
        producer_id = self.next_id
        self.next_id += 1
        return producer_id

    def is_issued(self, producer_id: int) -> bool:
        """Whether the id is of a block that this broker has reserved, now or before."""
        slot = bisect_right(self._starts, producer_id) - 1
        return slot >= 0 and producer_id < self._ends[slot]

    def _remember(self, start: int, end: int) -> None:
        if self._ends and self._ends[-1] == start:
            self._ends[-1] = end
        else:
            self._starts.append(start)
            self._ends.append(end)

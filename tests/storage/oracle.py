"""The rules again, written from the specification; shares no code with storage/."""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field, replace

RING = 2147483648


@dataclass
class Known:
    """A producer's entry: batches as (first, last, offset), the newest last."""

    epoch: int
    batches: list[tuple[int, int, int]]
    at_ms: int

    @property
    def next(self) -> int:
        last = self.batches[-1][1]
        return 0 if last == RING - 1 else last + 1


@dataclass
class Waiting:
    """What row 9 has met."""

    epoch: int
    since_ms: int
    first: int
    seen: set[int]
    is_retried: bool = False


@dataclass
class Incarnation:
    """The topic as it is now."""

    floor: int
    known: dict[int, Known] = field(default_factory=dict)
    former: dict[int, Known] = field(default_factory=dict)
    behind: dict[int, tuple[int, set[int]]] = field(default_factory=dict)
    gaps: dict[int, Waiting] = field(default_factory=dict)
    end: int = 0


def is_before(one: int, other: int) -> bool:
    distance = (other - one) % RING
    return 0 < distance < RING // 2


class Oracle:
    """The rules, from the words of the specification."""

    def __init__(self, foreign: Set[int], expiration_ms: int, gap_timeout_ms: int) -> None:
        self.foreign = foreign
        self.expiration_ms = expiration_ms
        self.gap_timeout_ms = gap_timeout_ms
        self.now_ms = 0
        self.topic: Incarnation | None = Incarnation(floor=0)
        self.kept = Incarnation(floor=0)
        self.rows: Counter[str] = Counter()

    def expire(self) -> None:
        if self.topic is None:
            return
        for producer, known in list(self.topic.known.items()):
            if self.now_ms - known.at_ms >= self.expiration_ms:
                del self.topic.known[producer]
                self.topic.floor = max(self.topic.floor, producer + 1)

    def send(
        self,
        producer: int,
        epoch: int,
        first: int,
        last: int,
        awaited: set[tuple[int, int, int]],
        *,
        is_too_large: bool,
        is_corrupt: bool,
    ) -> tuple[int, int]:
        topic = self.topic
        here = (producer, epoch, first)
        if topic is None:
            awaited.add(here)
            return 3, -1
        if is_corrupt:
            awaited.add(here)
            self.rows["corrupt"] += 1
            return 2, -1
        self.expire()
        known = topic.known.get(producer)
        row, offset = self.judge(topic, known, producer, epoch, first, last, awaited)
        self.rows[row] += 1
        accepts = row in ("3", "5", "7") or row.startswith("8")
        if row == "1" or (accepts and not is_too_large):
            self.settle_up_to(here, awaited)
            return 0, offset if row == "1" else self.write(topic, producer, epoch, first, last)
        if is_too_large:
            if first != last:
                awaited.add(here)  # it is split
            else:
                awaited.discard(here)
                if accepts and known is None:
                    self.note_refusal(topic, producer, epoch, last)
            return 10, -1
        if row in ("4", "9") or (row == "6" and known and is_before(known.next, first)):
            awaited.add(here)
        if row == "9":
            self.note_gap(topic, producer, epoch, first)
        return (47 if row == "2" else 45), -1

    def write(self, topic: Incarnation, producer: int, epoch: int, first: int, last: int) -> int:
        """The batch is in the log, at this offset."""
        offset = topic.end
        topic.end += (last - first) % RING + 1
        known = topic.known.get(producer)
        if known is None:
            topic.behind.pop(producer, None)
            topic.gaps.pop(producer, None)
        older = known.batches if known and known.epoch == epoch else []
        topic.known[producer] = Known(epoch, [*older, (first, last, offset)][-5:], self.now_ms)
        return offset

    def note_refusal(self, topic: Incarnation, producer: int, epoch: int, last: int) -> None:
        """A batch was refused for good while its producer was unknown."""
        seen_epoch, bases = topic.behind.get(producer, (epoch, set()))
        kept = bases if seen_epoch == epoch else set()
        topic.behind[producer] = (epoch, kept | {(last + 1) % RING})

    def settle_up_to(self, here: tuple[int, int, int], awaited: set[tuple[int, int, int]]) -> None:
        """What is written is not awaited any more, and nothing before it."""
        for one in list(awaited):
            if one == here or (one[:2] == here[:2] and is_before(one[2], here[2])):
                awaited.discard(one)

    def judge(
        self,
        topic: Incarnation,
        known: Known | None,
        producer: int,
        epoch: int,
        first: int,
        last: int,
        awaited: set[tuple[int, int, int]],
    ) -> tuple[str, int]:
        if known is not None:
            if epoch < known.epoch:
                return "2", -1
            if epoch > known.epoch:
                return ("3" if first == 0 else "4"), -1
            for stored in known.batches:
                if stored[:2] == (first, last):
                    return "1", stored[2]
            return ("5" if first == known.next else "6"), -1
        if first == 0:
            return "7", -1
        return self.explain(topic, producer, epoch, first, awaited), -1

    def explain(
        self,
        topic: Incarnation,
        producer: int,
        epoch: int,
        first: int,
        awaited: set[tuple[int, int, int]],
    ) -> str:
        gap = topic.gaps.get(producer)
        if gap and gap.epoch == epoch and not gap.is_retried:
            is_retry = first in gap.seen or is_before(first, gap.first)
            if not is_retry and self.now_ms - gap.since_ms >= self.gap_timeout_ms:
                return "8 waited out"
        if any(one[:2] == (producer, epoch) and is_before(one[2], first) for one in awaited):
            return "9"
        former = topic.former.get(producer)
        is_forgotten = former is not None and self.now_ms - former.at_ms >= self.expiration_ms
        if is_forgotten:
            former = None
        if producer in self.foreign:
            return "8 foreign"
        if producer < topic.floor or is_forgotten:
            return "8 below the floor"
        goes_on = (former.next, *(stored[0] for stored in former.batches)) if former else ()
        if former and former.epoch == epoch and first in goes_on:
            return "8 continues"
        seen_epoch, bases = topic.behind.get(producer, (epoch, set()))
        if seen_epoch == epoch and first in bases:
            return "8 behind a refusal"
        return "9"

    def note_gap(self, topic: Incarnation, producer: int, epoch: int, first: int) -> None:
        gap = topic.gaps.get(producer)
        if gap is None or gap.epoch != epoch:
            topic.gaps[producer] = Waiting(epoch, self.now_ms, first, {first})
            return
        if first in gap.seen or is_before(first, gap.first):
            gap.is_retried = True
        gap.seen.add(first)

    def delete(self) -> None:
        topic = self.topic
        assert topic
        former = dict(self.kept.former)
        for producer, known in topic.known.items():
            before = former.get(producer)
            if before and before.epoch == known.epoch:
                goes_on = (before.next, *(stored[0] for stored in before.batches))
                if known.batches[0][0] in goes_on:
                    batches = [*before.batches, *known.batches][-5:]
                    known = replace(known, batches=batches)
            former[producer] = known
        self.kept = Incarnation(
            floor=max(topic.floor, self.kept.floor),
            former=former,
            behind={**self.kept.behind, **topic.behind},
        )
        self.topic = None

    def create(self) -> None:
        kept = self.kept
        self.topic = Incarnation(
            floor=kept.floor, former=dict(kept.former), behind=dict(kept.behind)
        )

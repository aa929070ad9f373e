"""Idempotent producers of five libraries, as far as they react to a broker's answers.

Each has some batches to send to one partition, and keeps those that no answer has settled, in
order. What they have in common is in `Producer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

Answer = int | None
"""A Kafka error code, or nothing: the connection was cut before the answer came."""

OUT_OF_ORDER, FENCED, TOO_LARGE = 45, 47, 10
AGAIN = (2, 3, 56)
"""What each of them sends again, unchanged: corrupt on its way, no such topic, not stored."""


@dataclass
class Batch:
    """A batch on its way, and the numbers that its records hold."""

    numbers: tuple[int, ...]
    producer_id: int
    epoch: int
    sequence: int


class Producer:
    """What all have in common: a retry keeps its sequence."""

    in_flight = 5

    def __init__(self, producer_id: int, sizes: Sequence[int], fresh_id: int) -> None:
        self.producer_id = producer_id
        self.fresh_id = fresh_id
        self.epoch = 0
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        self.pending = [
            Batch(tuple(range(start, start + size)), producer_id, 0, start)
            for start, size in zip(starts, sizes, strict=True)
        ]
        self.acknowledged: list[int] = []
        self.is_dead = False
        self.is_due_anew = False

    def to_send(self) -> list[Batch]:
        """What goes out in one go, on one connection."""
        return self.pending[: self.in_flight]

    def answered(self, sent: list[Batch], answers: list[Answer]) -> None:
        """Take the answers to what was sent, in order; a new incarnation waits for all of them."""
        for batch, answer in zip(sent, answers, strict=True):
            if self.is_dead:
                return
            if batch not in self.pending or answer is None or answer in AGAIN:
                continue
            if answer == 0:
                self.pending.remove(batch)
                self.acknowledge(batch)
            else:
                self.refused(batch, answer)
        if self.is_due_anew:
            self.is_due_anew = False
            self.start_anew()

    def acknowledge(self, batch: Batch) -> None:
        """The user is told that its records are stored."""
        self.acknowledged.extend(batch.numbers)

    def refused(self, batch: Batch, answer: int) -> None:
        """An answer that is neither success nor "again"."""
        raise NotImplementedError

    def is_first(self, batch: Batch) -> bool:
        """Whether nothing before it is still on its way."""
        return batch is self.pending[0]

    def start_anew(self) -> None:
        """A new incarnation: what is pending is numbered from 0 on."""
        self.epoch += 1
        self.renumber()

    def renumber(self) -> None:
        """Number what is pending from 0 on."""
        sequence = 0
        for at, batch in enumerate(self.pending):
            self.pending[at] = Batch(batch.numbers, self.producer_id, self.epoch, sequence)
            sequence += len(batch.numbers)


class Java(Producer):
    """Retries 45 until it is next in line, then raises the epoch; so it does behind a failure.

    What is too large it splits, if it can; the parts have the sequences of the whole.
    """

    def refused(self, batch: Batch, answer: int) -> None:
        if answer == OUT_OF_ORDER:
            self.is_due_anew |= self.is_first(batch)
        elif answer == TOO_LARGE and len(batch.numbers) > 1:
            at = self.pending.index(batch)
            self.pending[at : at + 1] = [
                Batch((number,), batch.producer_id, batch.epoch, batch.sequence + part)
                for part, number in enumerate(batch.numbers)
            ]
        else:
            self.pending.remove(batch)
            self.is_due_anew = True


class Librdkafka(Producer):
    """45 at the head of the line is fatal; a later success acknowledges what came before."""

    def acknowledge(self, batch: Batch) -> None:
        for earlier in [one for one in self.pending if one.numbers < batch.numbers]:
            self.pending.remove(earlier)
            super().acknowledge(earlier)
        super().acknowledge(batch)

    def refused(self, batch: Batch, answer: int) -> None:
        if answer == OUT_OF_ORDER and self.is_first(batch) and not self.is_due_anew:
            self.is_dead = True
            return
        if answer != OUT_OF_ORDER:
            self.pending.remove(batch)
        self.is_due_anew = True


class Aiokafka(Producer):
    """One batch at a time; 45 and 47 end the partition, another error only the batch."""

    in_flight = 1

    def refused(self, batch: Batch, answer: int) -> None:
        if answer in (OUT_OF_ORDER, FENCED):
            self.is_dead = True
        else:
            self.pending.remove(batch)  # and its sequence stays used


class KafkaPython(Producer):
    """A failed batch is given up, and the rest goes on under a new id."""

    def refused(self, batch: Batch, answer: int) -> None:
        self.pending.remove(batch)
        self.is_due_anew = True

    def start_anew(self) -> None:
        self.fresh_id += 1
        self.producer_id, self.epoch = self.fresh_id, 0
        self.renumber()


class FranzGo(Producer):
    """Raises the epoch and sends again."""

    def refused(self, batch: Batch, answer: int) -> None:
        if answer not in (OUT_OF_ORDER, FENCED):
            self.pending.remove(batch)
        self.is_due_anew = True


KINDS: dict[str, type[Producer]] = {
    "java": Java,
    "librdkafka": Librdkafka,
    "aiokafka": Aiokafka,
    "kafka-python": KafkaPython,
    "franz-go": FranzGo,
}

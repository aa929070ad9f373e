"""Idempotent producers of five libraries, as far as they react to a broker's answers.

 client        in flight  45                          refused for good (10, 32, 87), 47
 ------------  ---------  --------------------------  ---------------------------------------
 java          5          first in line: epoch + 1    the batch fails, epoch + 1
 librdkafka    5          first in line: dead for     the batch fails, drain, epoch + 1
                          good; else drain, epoch + 1
 aiokafka      1          the batch fails: dead       the batch fails, its sequence stays used
 kafka-python  5          the batch fails, new id     the batch fails, new id
 franz-go      5          first in line: epoch + 1    the batch fails, epoch + 1

All send again with the same sequence on 3, on 56 and when the connection was cut. Java and
kafka-python send again one batch at a time. To librdkafka a success acknowledges every earlier
batch. franz-go overlooks an answer, a success too, to a batch that is not first in line.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

OUT_OF_ORDER, FENCED = 45, 47
UNKNOWN_TOPIC, STORAGE_FAILED = 3, 56


class Batch(NamedTuple):
    """A batch as it goes out; its number is what the user means by it."""

    number: int
    producer_id: int
    epoch: int
    first: int
    records_count: int

    @property
    def last(self) -> int:
        """The sequence of its last record."""
        return self.first + self.records_count - 1

    def __str__(self) -> str:
        return f"#{self.number} [{self.first}-{self.last}] of {self.producer_id} e{self.epoch}"


def records_in(number: int) -> int:
    """Batches of one record and of two take turns."""
    return 1 + number % 2


class Client:
    """What all have in common. `pending` is what no answer has settled, in order."""

    max_in_flight = 5
    sends_again_one_by_one = False
    drains_first = True

    def __init__(self, new_id: Callable[[], int], batches: int) -> None:
        self.new_id = new_id
        self.producer_id = new_id()
        self.epoch = 0
        self.pending: list[Batch] = []
        self._number(range(batches))
        self.in_flight: set[int] = set()
        self.was_sent: set[int] = set()
        self.acknowledged: list[int] = []
        self.is_due_anew = False
        self.is_dead = False

    def next_to_send(self) -> Batch | None:
        """The batch that could go out now."""
        if self.is_dead or self.is_due_anew or len(self.in_flight) >= self.max_in_flight:
            return None
        for at, batch in enumerate(self.pending):
            if batch.number not in self.in_flight:
                waits = at and self.sends_again_one_by_one and batch.number in self.was_sent
                return None if waits else batch
        return None

    def sent(self, batch: Batch) -> None:
        """It is on its way."""
        self.in_flight.add(batch.number)
        self.was_sent.add(batch.number)

    def take(self, batch: Batch, code: int) -> None:
        """An answer has come."""
        self.in_flight.discard(batch.number)
        if code == 0:
            self.acknowledge(batch.number)
        elif code not in (UNKNOWN_TOPIC, STORAGE_FAILED) and batch in self.pending:
            self.refused(batch, code)
        self._go_on()

    def cut_off(self) -> None:
        """The connection is gone, and with it the answers: all of it goes out again."""
        self.in_flight.clear()
        self._go_on()

    def acknowledge(self, number: int) -> None:
        """The user is told that it is stored."""
        if self.settle(number):
            self.acknowledged.append(number)

    def refused(self, batch: Batch, code: int) -> None:
        """An answer that is neither success nor "again"."""
        if code != OUT_OF_ORDER:
            self.settle(batch.number)
            self.is_due_anew = True
        elif batch == self.pending[0]:
            self.is_due_anew = True

    def settle(self, number: int) -> bool:
        """It is pending no more. False where it was not."""
        kept = [batch for batch in self.pending if batch.number != number]
        was_pending = len(kept) < len(self.pending)
        self.pending = kept
        return was_pending

    def start_anew(self) -> None:
        """A new incarnation."""
        self.epoch += 1

    def next_new(self) -> int | None:
        """The first batch that has never gone out."""
        return next((one.number for one in self.pending if one.number not in self.was_sent), None)

    def key(self) -> tuple[object, ...]:
        """All of its state."""
        held = tuple(sorted(self.in_flight)), tuple(sorted(self.was_sent))
        return (*self.pending, held, len(self.acknowledged), self.is_due_anew, self.is_dead)

    def _go_on(self) -> None:
        if self.is_due_anew and not (self.drains_first and self.in_flight):
            self.is_due_anew = False
            self.start_anew()
            self._number([batch.number for batch in self.pending])

    def _number(self, numbers: Iterable[int]) -> None:
        self.pending = []
        first = 0
        for number in numbers:
            count = records_in(number)
            self.pending.append(Batch(number, self.producer_id, self.epoch, first, count))
            first += count


class Java(Client):
    """Raises the epoch at once; what is on its way is numbered anew, its success still holds."""

    sends_again_one_by_one = True
    drains_first = False


class Librdkafka(Client):
    """A 45 to the first in line is fatal, unless it is about to raise the epoch anyway."""

    def acknowledge(self, number: int) -> None:
        """A success acknowledges what came before it as well."""
        for batch in list(self.pending):
            if batch.number <= number:
                super().acknowledge(batch.number)

    def refused(self, batch: Batch, code: int) -> None:
        """Everything but a fatal 45 drains and raises the epoch."""
        if code != OUT_OF_ORDER:
            self.settle(batch.number)
        elif batch == self.pending[0] and not self.is_due_anew:
            self.is_dead = True
            return
        self.is_due_anew = True


class Aiokafka(Client):
    """Its counter is never rolled back, so that behind a 45 or a 47 nothing is accepted again."""

    max_in_flight = 1

    def refused(self, batch: Batch, code: int) -> None:
        """The batch fails; what comes behind it keeps its sequence."""
        self.settle(batch.number)
        self.is_dead = code in (OUT_OF_ORDER, FENCED)


class KafkaPython(Client):
    """Asks the broker for a new id."""

    sends_again_one_by_one = True

    def refused(self, batch: Batch, code: int) -> None:
        """The batch fails, whatever it is."""
        self.settle(batch.number)
        self.is_due_anew = True

    def start_anew(self) -> None:
        """A new id."""
        self.producer_id, self.epoch = self.new_id(), 0


class FranzGo(Client):
    """Looks at the answer to the first in line only."""

    def take(self, batch: Batch, code: int) -> None:
        """Overlook an answer to a later one: it goes out again."""
        is_first = bool(self.pending) and batch.number == self.pending[0].number
        super().take(batch, code if is_first else UNKNOWN_TOPIC)


KINDS: dict[str, type[Client]] = {
    "java": Java,
    "librdkafka": Librdkafka,
    "aiokafka": Aiokafka,
    "kafka-python": KafkaPython,
    "franz-go": FranzGo,
}

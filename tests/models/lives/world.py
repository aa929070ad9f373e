"""A client, a broker and what is on its way between them, moved one step at a time."""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from minibroker.storage.turned_away import TurnedAway

from .brokers import Broker, KafkaBroker
from .clients import KINDS, OUT_OF_ORDER, UNKNOWN_TOPIC, Batch
from .real_broker import COMPACTED, SETTINGS, Forgetful, RealBroker

FAULTS = (
    "answers lost",
    "requests lost",
    "answers late",
    "append fails",
    "topic deleted",
    "topic recreated",
    "restarted empty",
    "a day passes",
    "refused 10",
    "refused 32",
    "refused 87",
)
"""What befalls a world, at any step:

* answers lost: the connection is cut; the broker has read all that was sent, and writes it
* requests lost: the connection is cut, and what the broker has not served is gone
* answers late: the client gives the connection up, the broker serves it whenever it likes
* append fails: the log's next append raises
* topic deleted: somebody creates it again, at any step after
* topic recreated: both at once
* restarted empty: a new catalog on the same name, with other producer ids; all connections cut
* a day passes: the producer's entry expires; only while nothing is unsettled
* refused: the next new batch is one that the broker will not have, for good
"""

STEPS = ("send", "serve", "serve old", "take", "create")
MOST_STEPS = 200


class Link(NamedTuple):
    """A connection: what the broker has not served of it, and what it remembers of it."""

    number: int
    requests: deque[Batch]
    turned_away: TurnedAway


class Setting(NamedTuple):
    """Whose life, and on which broker."""

    kind: str
    batches: int = 3
    is_compacted: bool = False
    is_kafka: bool = False
    """Apache Kafka 4.4's table."""
    forgets_turned_away: bool = False


class World:
    """Everything, and its trace."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        settings = COMPACTED if setting.is_compacted else SETTINGS
        self.broker: Broker = KafkaBroker() if setting.is_kafka else RealBroker(settings)
        self.client = KINDS[setting.kind](self.broker.new_id, setting.batches)
        self.blemishes: dict[int, int] = {}
        self.trace: list[str] = []
        self.gaps_count = 0
        """Answers 45 that were true: an earlier batch will come again and is not in the log."""
        self._history: list[object] = []
        self._links_count = 0
        self._old: deque[Link] = deque()
        self._answers: deque[tuple[Batch, int]] = deque()
        self._connect()
        self._is_possible = self._conditions()

    def moves(self, faults: tuple[str, ...]) -> list[str]:
        """Which of the steps and of these faults are possible now."""
        return [move for move in (*STEPS, *dict.fromkeys(faults)) if self.can(move)]

    def can(self, move: str) -> bool:
        """Whether a step or a fault makes a difference now."""
        return self._is_possible[move]()

    def do(self, move: str) -> None:
        """Make a move that can be made."""
        note = ""
        match move:
            case "send":
                note = self._send()
            case "serve":
                note = self._serve(self._link)
            case "serve old":
                note = self._serve(self._old[0])
                if not self._old[0].requests:
                    self._old.popleft()
            case "take":
                batch, code = self._answers.popleft()
                self.client.take(batch, code)
                note = f"{code} for {batch}"
            case "requests lost" | "answers late" | "answers lost":
                note = self._lose(move)
            case _:
                self._befall(move)
        self.trace.append(f"{move:16}{note}".rstrip())

    def settle(self) -> None:
        """Fair from here on: every step that can be made is made, until none is left."""
        for _ in range(MOST_STEPS):
            move = next((one for one in ("create", "send", "serve", "take") if self.can(one)), "")
            if not (move or self._old):
                return
            self.do(move or "serve old")

    def key(self) -> int:
        """All of the state, as a hash; the broker's follows from what it was told."""
        links = self._link.number, *self._link.requests, *((one[0], *one[1]) for one in self._old)
        wire = *links, *self._answers, *sorted(self.blemishes.items())
        return hash((*self._history, None, *wire, None, *self.client.key()))

    def _conditions(self) -> dict[str, Callable[[], bool]]:
        def is_something_under_way() -> bool:
            return bool(self._link.requests or self._answers)

        def has_topic() -> bool:
            return self.broker.has_topic

        return {
            "send": lambda: self.client.next_to_send() is not None,
            "serve": lambda: bool(self._link.requests),
            "serve old": lambda: bool(self._old),
            "take": lambda: bool(self._answers),
            "create": lambda: not self.broker.has_topic,
            "answers lost": is_something_under_way,
            "requests lost": is_something_under_way,
            "answers late": is_something_under_way,
            "append fails": lambda: not self.broker.fails_next,
            "topic deleted": has_topic,
            "topic recreated": has_topic,
            "restarted empty": lambda: True,
            "a day passes": self._is_at_rest,
            # A batch of two records that is too large would be split, which is another story.
            "refused 10": lambda: self._next_new() in range(0, self.setting.batches, 2),
            "refused 32": lambda: self._next_new() is not None,
            "refused 87": lambda: self._next_new() is not None,
        }

    def _send(self) -> str:
        batch = self.client.next_to_send()
        assert batch is not None
        self.client.sent(batch)
        self._link.requests.append(batch)
        return str(batch)

    def _serve(self, link: Link) -> str:
        batch = link.requests.popleft()
        blemish = self.blemishes.get(batch.number, 0)
        code = self.broker.serve(batch, blemish, link.turned_away)
        told = (link.number, batch, blemish, code == UNKNOWN_TOPIC and self.broker.incarnation)
        if code != UNKNOWN_TOPIC or told not in self._history:  # once more changes nothing
            self._history.append(told)
        self.gaps_count += code == OUT_OF_ORDER and self._is_behind_gap(batch)
        if link is self._link:
            self._answers.append((batch, code))
        return f"{batch} on connection {link.number}: {code}"

    def _is_behind_gap(self, batch: Batch) -> bool:
        there = {one.batch.number for one in self.broker.kept() if one.batch[1:3] == batch[1:3]}
        return any(
            one.number < batch.number and one.number not in there for one in self.client.pending
        )

    def _lose(self, what: str) -> str:
        notes = []
        if what == "answers lost":
            while self._link.requests:
                notes.append(self._serve(self._link))
        elif what == "answers late" and self._link.requests:
            self._old.append(self._link)
        self._cut()
        return ", ".join(notes)

    def _befall(self, what: str) -> None:
        self._history.append(what)
        match what:
            case "create":
                self.broker.create()
            case "append fails":
                self.broker.fails_next = True
            case "topic deleted":
                self.broker.delete()
            case "topic recreated":
                self.broker.delete()
                self.broker.create()
            case "restarted empty":
                self.broker.restart()
                self._old.clear()
                self._cut()
            case "a day passes":
                self.broker.a_day_passes()
            case _:
                number = self._next_new()
                assert number is not None
                self.blemishes[number] = int(what.removeprefix("refused "))

    def _next_new(self) -> int | None:
        number = self.client.next_new()
        return None if number in self.blemishes else number

    def _is_at_rest(self) -> bool:
        is_unsettled = any(one.number in self.client.was_sent for one in self.client.pending)
        return not (is_unsettled or self._old or self._link.requests or self._answers)

    def _cut(self) -> None:
        self._answers.clear()
        self._connect()
        self.client.cut_off()

    def _connect(self) -> None:
        self._links_count += 1
        memory = Forgetful() if self.setting.forgets_turned_away else TurnedAway()
        self._link = Link(self._links_count, deque(), memory)

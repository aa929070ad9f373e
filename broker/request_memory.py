"""queued.max.request.bytes: the memory of requests that are not whole yet, over all connections.

A connection takes memory for what its client has sent of a request. Above the limit those that
hold much (`LARGE_FRAME_BYTES`) wait, one behind the other; small requests go on. Two rules keep
stalled requests from blocking others for ever:

* One of those that wait has the turn: it reads on regardless, until its request is whole. So all
  memory may be held by halves, and yet there is always one that can end.
* Where others wait and the turn is not over after `TURN_S`, its connection is closed.

So the limit is soft: by the request that has the turn, and one read of each connection.
"""

import asyncio
from typing import Protocol

TURN_S = 30.0
"""Enough for 100 MiB at 4 MiB a second, when memory is short and others wait."""


class Holder(Protocol):
    """A connection that holds memory."""

    def go_on(self) -> None:
        """There is memory, or it is your turn."""

    def give_up(self, reason: str) -> None:
        """Close at once."""


class RequestMemory:
    """What is held, and who waits for more."""

    def __init__(self, limit_bytes: int, turn_s: float = TURN_S) -> None:
        self.used_bytes = 0
        self.has_room = True
        self.turn: Holder | None = None
        """Who reads on although there is no room."""
        self._limit_bytes = limit_bytes
        self._turn_s = turn_s
        self._deadline: asyncio.TimerHandle | None = None
        self._waiting: dict[Holder, None] = {}
        self._is_waking = False

    def changed(self, difference_bytes: int) -> None:
        """A connection holds more, or less."""
        self.used_bytes += difference_bytes
        assert self.used_bytes >= 0
        self.has_room = self.used_bytes < self._limit_bytes
        self._wake_soon()

    def wait(self, holder: Holder) -> None:
        """Have it called when it may go on."""
        self._waiting[holder] = None
        self._wake_soon()

    def leave(self, holder: Holder) -> None:
        """It neither waits nor needs the turn."""
        self._waiting.pop(holder, None)
        if self.turn is holder:
            self._end_turn()

    def _wake_soon(self) -> None:
        if self._waiting and not self._is_waking and (self.has_room or self.turn is None):
            self._is_waking = True
            asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        """Let one go on; the next one once it has taken what it needs."""
        self._is_waking = False
        if not self._waiting or not (self.has_room or self.turn is None):
            return
        holder = next(iter(self._waiting))
        del self._waiting[holder]
        if not self.has_room:
            self._begin_turn(holder)
        holder.go_on()
        self._wake_soon()

    def _begin_turn(self, holder: Holder) -> None:
        self.turn = holder
        self._deadline = asyncio.get_running_loop().call_later(self._turn_s, self._expire, holder)

    def _end_turn(self) -> None:
        assert self._deadline
        self._deadline.cancel()
        self.turn = self._deadline = None
        self._wake_soon()

    def _expire(self, holder: Holder) -> None:
        if self._waiting:
            holder.give_up(f"its request was not whole after {self._turn_s:g} s, and others wait")
        else:
            self._begin_turn(holder)

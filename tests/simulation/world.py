"""An event loop without a selector: virtual time, one order of events, nothing from outside.

What is ready and what is timed is one queue, ordered by (virtual time, sequence number). When
nothing is ready, time jumps to what comes next.
"""

import asyncio
from asyncio import events
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from heapq import heappop, heappush
from random import Random
from typing import Any, TypeVar, TypeVarTuple  # what event loops pass on is of any type

ResultT = TypeVar("ResultT")
Ts = TypeVarTuple("Ts")

START_MS = 1_800_000_000_000
MOST_EVENTS = 5_000_000


class StuckError(Exception):
    """Nothing is left that could happen, or too much happens."""


class World(asyncio.AbstractEventLoop):
    """Virtual time, seeded chance, and the trace of what happened."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.trace: list[str] = []
        self.errors: list[str] = []
        self._now_s = 0.0
        self._sequence = 0
        self._queue: list[tuple[float, int, asyncio.Handle]] = []
        self._is_running = False
        self._is_closed = False

    def note(self, event: str) -> None:
        """One more line of the trace."""
        self.trace.append(f"{self._now_s:.6f} {event}")

    def now_ms(self) -> int:
        """The broker's clock."""
        return START_MS + int(self._now_s * 1000)

    def run_until_complete(  # type: ignore[override]  # only coroutines, here
        self, main: Coroutine[Any, Any, ResultT]
    ) -> ResultT:
        """Let things happen until the coroutine has ended. Raises StuckError."""
        events._set_running_loop(self)
        self._is_running = True
        try:
            task = self.create_task(main)
            while not task.done():
                self._happen()
            return task.result()
        finally:
            self._is_running = False
            events._set_running_loop(None)

    def _happen(self) -> None:
        if not self._queue or self._sequence > MOST_EVENTS:
            raise StuckError(f"at {self._now_s:.3f} s after {self._sequence} events")
        at_s, _, handle = heappop(self._queue)
        if not handle.cancelled():
            self._now_s = at_s
            handle._run()

    def _put(self, at_s: float, handle: asyncio.Handle) -> None:
        self._sequence += 1
        heappush(self._queue, (max(at_s, self._now_s), self._sequence, handle))

    def time(self) -> float:
        return self._now_s

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._put(self._now_s, handle)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now_s + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._put(when, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It stays in the queue until its time, and does nothing then."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Coroutine[Any, Any, ResultT] | Generator[Any, None, ResultT],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[ResultT]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return self._is_running

    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._is_closed = True
        self._queue.clear()

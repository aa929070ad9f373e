"""Long polls: waiting until partitions have enough to read, without looking again and again.

A waiter is woken by the partitions it watches, and looks once for all appends of one turn of the
event loop. A thousand of them cost a timer each, and nothing while nothing happens.
"""

import asyncio
from collections.abc import Callable, Sequence

from minibroker.storage.partition import Partition


class LongPolls:
    """Those that wait."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}  # in order: runs are repeatable

    def wait(
        self, partitions: Sequence[Partition], is_enough: Callable[[], bool], wait_s: float
    ) -> asyncio.Future[None]:
        """Done when `is_enough` holds after a change of a partition, or when time is up.

        Cancelling it ends the wait.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        is_looking = False

        def look() -> None:
            nonlocal is_looking
            is_looking = False
            if is_enough():
                _finish(done)

        def changed() -> None:
            nonlocal is_looking
            if not is_looking:
                is_looking = True
                loop.call_soon(look)

        def withdraw(_: asyncio.Future[None]) -> None:
            timer.cancel()
            self._waiting.pop(done, None)
            for partition in partitions:
                partition.watchers.pop(changed, None)

        timer = loop.call_later(wait_s, _finish, done)
        done.add_done_callback(withdraw)
        self._waiting[done] = None
        for partition in partitions:
            partition.watchers[changed] = None
        return done

    def end(self) -> None:
        """The broker stops: each is answered with what there is."""
        for done in tuple(self._waiting):
            _finish(done)


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)

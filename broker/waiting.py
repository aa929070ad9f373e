"""Long polls: waiting until partitions have enough to read, without looking again and again.

A waiter is woken by the partitions it watches, and looks once for all appends of one turn of the
event loop. A thousand of them cost a timer each, and nothing while nothing happens.
"""

import asyncio
from collections.abc import Callable, Sequence

from minibroker.storage.partition import Partition


def wait_for_more(
    partitions: Sequence[Partition], is_enough: Callable[[], bool], wait_s: float
) -> asyncio.Future[None]:
    """Done when `is_enough` holds after a change of one of the partitions, or when time is up.

    Cancelling it ends the wait.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    is_looking = False

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def look() -> None:
        nonlocal is_looking
        is_looking = False
        if is_enough():
            finish()

    def changed() -> None:
        nonlocal is_looking
        if not is_looking:
            is_looking = True
            loop.call_soon(look)

    def withdraw(_: asyncio.Future[None]) -> None:
        timer.cancel()
        for partition in partitions:
            partition.watchers.discard(changed)

    timer = loop.call_later(wait_s, finish)
    done.add_done_callback(withdraw)
    for partition in partitions:
        partition.watchers.add(changed)
    return done

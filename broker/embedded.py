"""A broker inside a Python program: in its event loop, in a thread, in a process of its own."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import msgspec

from .config import Config
from .config_sources import Option, from_keywords
from .serve import run_in_loop
from .server import Server

if TYPE_CHECKING:
    from subprocess import Popen

START_S = 30.0
STOP_S = 30.0


class Broker:
    """A broker that is running, for as long as the block that it was made for."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        """HOST:PORT, what clients take as bootstrap servers."""

    def __repr__(self) -> str:
        return f"Broker({self.bootstrap!r})"


@asynccontextmanager
async def running(**options: Option) -> AsyncIterator[Broker]:
    """A broker in the running event loop, on a free port unless one is given.

    Options are those of the command line and Kafka's broker keys, as `Config.of` takes them.
    Raises ConfigError if one is unknown or wrong, and OSError if the port is taken.
    """
    server = Server(Config.of(**options))
    await server.start()
    try:
        yield Broker(server.bootstrap)
    finally:
        await server.stop()


@contextmanager
def running_in_thread(**options: Option) -> Iterator[Broker]:
    """A broker in an event loop of its own in a thread; options and errors as for `running`."""
    import threading
    from concurrent.futures import Future

    started: Future[tuple[Broker, asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        try:
            async with running(**options) as broker:
                ended = asyncio.Event()
                started.set_result((broker, asyncio.get_running_loop(), ended))
                await ended.wait()  # no deadline: the block that the broker runs for has none
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=lambda: run_in_loop(serve()), name="minibroker", daemon=True)
    thread.start()
    broker, loop, ended = started.result(START_S)
    try:
        yield broker
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(STOP_S)
        assert not thread.is_alive(), "a stop has deadlines of its own"


@contextmanager
def running_in_process(**options: Option) -> Iterator[Broker]:
    """A broker in a process of its own, ended by SIGTERM; options as for `running`.

    It never outlives this process, not even one that is killed. Raises ConfigError if an option is
    unknown or wrong, and RuntimeError if the broker did not start; it says why on stderr.
    """
    import subprocess

    Config.of(**options)  # the same error as in the other ways
    command = [sys.executable, "-m", "minibroker.child", "serve", *_words(options)]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment()
    ) as process:
        try:
            yield Broker(_bootstrap(_ready_line(process)))
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready_line(process: "Popen[str]") -> str:
    """What the broker prints when it listens. Raises RuntimeError if that does not come in time."""
    import threading

    assert process.stdout is not None
    deadline = threading.Timer(START_S, process.kill)
    deadline.start()
    try:
        line = process.stdout.readline()  # ends with the process
    finally:
        deadline.cancel()
    if not line:
        raise RuntimeError(f"the broker did not start: {process.args!r}")
    return line


def _bootstrap(ready_line: str) -> str:
    """The address in a ready line, which --log-format=json makes an object."""
    if not ready_line.startswith("{"):
        return ready_line.split(" ready on ")[1].split()[0]
    facts = msgspec.json.decode(ready_line, type=dict[str, str | int])
    host = str(facts["host"])
    return f"[{host}]:{facts['port']}" if ":" in host else f"{host}:{facts['port']}"


def _words(options: Mapping[str, Option]) -> Iterator[str]:
    """The options as the command line takes them; the port is a free one unless one is given."""
    given = list(from_keywords(options))
    if not any(one.option in ("--port", "listeners") for one in given):
        yield from ("--port", "0")
    for one in given:
        if one.option.startswith("--"):
            yield from (one.option, one.text)
        else:
            yield from ("--set", f"{one.option}={one.text}")


def _environment() -> dict[str, str]:
    """Without the variables that configure a broker: a test is not to depend on them."""
    import os

    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MINIBROKER_", "KAFKA_"))
    }

"""`minibroker serve`: a broker as a process, from its ready line to the signal that ends it."""

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Coroutine, Sequence
from typing import TypeVar

import msgspec

from .config import Config
from .server import Server
from .version import VERSION

ResultT = TypeVar("ResultT")

logger = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(config: Config, warnings: Sequence[str]) -> int:
    """Serve until SIGTERM or SIGINT, drain, and return the exit code.

    Raises OSError where an address cannot be listened on; nothing was printed then.
    """
    for warning in warnings:
        logger.warning("%s", warning)
    return run_in_loop(_serve(config))


async def _serve(config: Config) -> int:
    server = Server(config)
    await server.start()
    gc.freeze()  # what is here stays, and is not looked at again
    gc.enable()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in _SIGNALS:
        loop.add_signal_handler(one, ended.set)
    sys.stdout.write(ready_line(config, server.bootstrap, _ms_since_exec()) + "\n")
    sys.stdout.flush()
    await ended.wait()  # no deadline: this is how long the broker runs
    await server.stop()
    return 0


def ready_line(config: Config, bootstrap: str, ms: int) -> str:
    """What is printed when the broker listens."""
    data = config.data or "memory"
    if config.log_format != "json":
        return f"minibroker {VERSION} ready on {bootstrap} in {ms} ms, data: {data}"
    host, _, port = bootstrap.rpartition(":")
    facts = {
        "event": "ready",
        "version": VERSION,
        "host": host.strip("[]"),
        "port": int(port),
        "ms": ms,
        "data": data,
    }
    return msgspec.json.encode(facts).decode()


def run_in_loop(main: Coroutine[None, None, ResultT]) -> ResultT:
    """Run a coroutine in a new event loop: uvloop's where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    return uvloop.run(main)


def _ms_since_exec() -> int:
    """Since the process began where the system tells (Linux), else its CPU time."""
    try:
        with open("/proc/self/stat") as stat:
            started_ticks = int(stat.read().rpartition(")")[2].split()[19])
    except OSError:
        return int(time.process_time() * 1000)
    started_s = started_ticks / os.sysconf("SC_CLK_TCK")
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) - started_s) * 1000)

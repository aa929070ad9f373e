"""The servers that are measured, as processes, and what /proc says of them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
"""Bytecode is kept, as it is for everybody who has not switched that off."""


SERVER_CPU, DRIVER_CPU = 0, 1
"""Each its own: where the scheduler puts two processes that wake each other changes a round trip
fourfold, and not by what they do."""


class Measured:
    """A server process."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid = pid
        self.port = port

    def cpu_s(self) -> float:
        """CPU seconds of all its threads so far."""
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def memory_bytes(self, field: str = "RssAnon") -> int:
        """A field of /proc/PID/status."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise LookupError(field)


@contextmanager
def process(command: list[str], read_port: str) -> Iterator[Measured]:
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as process:
        assert process.stdout
        try:
            os.sched_setaffinity(process.pid, {SERVER_CPU})
            os.sched_setaffinity(0, {DRIVER_CPU})
            line = process.stdout.readline()
            port = line.split(read_port)[1] if read_port else line
            yield Measured(process.pid, int(port.split()[0].rpartition(":")[2]))
        finally:
            process.terminate()


@contextmanager
def broker(*options: str) -> Iterator[Measured]:
    """This project's broker."""
    command = [sys.executable, "-m", "minibroker", "serve", "--port", "0", *options]
    with process(command, "ready on ") as measured:
        yield measured


@contextmanager
def yardstick() -> Iterator[Measured]:
    """Y, which writes to a file in a temporary directory."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.yardstick", f"{folder}/log"]
        with process(command, "") as measured:
            yield measured

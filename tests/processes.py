"""Processes for tests, each with a deadline and an end."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEADLINE_S = 30.0


def run(command: Sequence[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output is in the failure if it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert done.returncode == 0, f"{command} left with {done.returncode}: {done.stderr[-2000:]}"
    return done


def free_ports(count: int) -> list[str]:
    """Ports that nobody listens on."""
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [str(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`minibroker serve` with these arguments, from its ready line on; both are yielded."""
    command = [sys.executable, "-m", "minibroker", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()  # ends with the process, which pytest-timeout bounds
            assert line, f"{command} ended before it was ready"
            yield process, line.rstrip()
        finally:
            process.terminate()
            process.wait(DEADLINE_S)

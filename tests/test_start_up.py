"""`minibroker serve` as a process: what it imports, what it prints, and how it ends."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from struct import pack, unpack

import pytest

from minibroker.config import Config
from minibroker.protocol.messages.metadata import METADATA, MetadataRequest
from minibroker.server import Server
from minibroker.services import Environment
from minibroker.sockets import Connected, SystemSockets, TcpListening
from tests.wire import connected

from .processes import DEADLINE_S, free_ports, serving

SERVING_NEEDS_NONE_OF = {
    "aiokafka",
    "confluent_kafka",
    "cramjam",
    "dataclasses",
    "difflib",
    "kafka",
    "lz4",
    "prometheus_client",
    "pytest",
    "rich",
    "starlette",
    "tomllib",
    "unittest",
    "uvicorn",
    "zstandard",
}


def modules_after(code: str) -> set[str]:
    printed = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(' '.join(sys.modules))"],
        check=True,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    ).stdout
    return set(printed.split())


def test_serving_imports_only_what_it_needs() -> None:
    loaded = modules_after(
        "import asyncio\n"
        "import minibroker.cli, minibroker.logs, minibroker.serve\n"
        "from minibroker.config import Config\n"
        "from minibroker.server import Server\n"
        "async def main():\n"
        "    server = Server(Config.of(topic='t'))\n"
        "    await server.start()\n"
        "    await server.stop()\n"
        "asyncio.run(main())"
    )

    assert not loaded & SERVING_NEEDS_NONE_OF
    assert "minibroker.protocol.messages.groups" not in loaded, "not served, so not imported"


def test_asking_whether_it_is_ready_imports_no_asyncio() -> None:
    assert "asyncio" not in modules_after("import minibroker.cli, minibroker.ready")


def test_the_ready_line_as_json() -> None:
    with serving("--port", "0", "--log-format", "json") as (_, ready):
        facts = json.loads(ready)

        socket.create_connection(("127.0.0.1", facts["port"]), 5).close()

    assert facts["data"] == "memory"
    assert facts["ms"] > 0


def test_localhost_is_both_loopback_addresses() -> None:
    with serving("--port", "0") as (_, ready):
        port = int(ready.split()[4].rpartition(":")[2])

        for address in ("127.0.0.1", "::1"):
            socket.create_connection((address, port), 5).close()


async def told_at(address: str) -> tuple[str, dict[str | None, int]]:
    """The address that the broker calls its own there, and how many partitions each topic has."""
    async with connected(address) as wire:
        response = await wire.call(METADATA, 5, MetadataRequest(topics=None))
    (node,) = response.brokers
    topics = {topic.name: len(topic.partitions) for topic in response.topics}
    return f"{node.host}:{node.port}", topics


def test_topics_are_there_and_each_listener_tells_its_own_address() -> None:
    host, docker = free_ports(2)
    listeners = f"listeners=HOST://127.0.0.1:{host},DOCKER://127.0.0.1:{docker}"
    advertised = f"advertised.listeners=HOST://localhost:{host},DOCKER://broker:29092"
    settings = [word for pair in (listeners, advertised) for word in ("--set", pair)]
    topics = {"one": 1, "three": 3}

    with serving(*settings, "--topic", "one", "--topic", "three:3"):
        told = [asyncio.run(told_at(f"127.0.0.1:{port}")) for port in (host, docker)]

    assert told == [(f"localhost:{host}", topics), ("broker:29092", topics)]


class Watched(SystemSockets):
    """The machine's sockets, which tell in which order what is done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def bind(self, host: str, port: int) -> TcpListening:
        self.done.append("bind")
        bound = WatchedListening(super().bind(host, port), self.done)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((host, bound.port), DEADLINE_S)
        return bound


class WatchedListening(TcpListening):
    """One of their addresses."""

    def __init__(self, inner: TcpListening, done: list[str]) -> None:
        self.port = inner.port
        self.inner = inner
        self.done = done

    async def serve(self, connected: Connected) -> None:
        self.done.append("listen")
        await self.inner.serve(connected)

    def close(self) -> None:
        self.inner.close()


async def test_it_listens_when_everything_else_is_there() -> None:
    sockets = Watched()
    server = Server(Config.of(), Environment(sockets=sockets))

    await server.start()
    await server.stop()

    assert sockets.done == ["bind", "bind", "listen", "listen"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_answers_the_long_poll_that_waits_and_ends_with_0(number: signal.Signals) -> None:
    api_versions = pack(">ihhih", 10, 18, 0, 6, -1)
    fetch = pack(">hhih", 1, 4, 7, -1) + pack(">iiiib", -1, 600_000, 1, 1 << 20, 0)
    fetch += pack(">ih1siiqi", 1, 1, b"t", 1, 0, 0, 1 << 20)

    with serving("--port", "0", "--topic", "t") as (process, ready):
        port = int(ready.split()[4].rpartition(":")[2])
        with (
            socket.create_connection(("127.0.0.1", port), DEADLINE_S) as client,
            client.makefile("rb") as answers,
        ):
            client.sendall(api_versions + pack(">i", len(fetch)) + fetch)
            size, correlation_id = unpack(">ii", answers.read(8))
            answers.read(size - 4)
            assert correlation_id == 6, "and with it the other request was read"

            process.send_signal(number)

            assert unpack(">ii", answers.read(8))[1] == 7
        assert process.wait(DEADLINE_S) == 0


def test_the_garbage_collector_rests_while_importing_and_works_while_serving() -> None:
    code = (
        "import gc, os, signal, sys\n"
        "import minibroker.__main__\n"
        "from minibroker.config import Config\n"
        "from minibroker.serve import run\n"
        "assert not gc.isenabled()\n"
        "class Ended:\n"
        "    def write(self, line): os.kill(os.getpid(), signal.SIGTERM)\n"
        "    def flush(self): pass\n"
        "sys.stdout = Ended()\n"  # it is written to once the broker listens
        "assert run(Config.of(), ()) == 0\n"
        "assert gc.isenabled()\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True, timeout=DEADLINE_S)


def test_a_taken_port_is_one_line_and_exit_code_2() -> None:
    with serving("--port", "0") as (_, ready):
        port = ready.split()[4].rpartition(":")[2]

        done = subprocess.run(
            [sys.executable, "-m", "minibroker", "serve", "--port", port],
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "in use: stop the other program or choose another with --port" in done.stderr

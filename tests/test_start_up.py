"""`minibroker serve` as a process: what it imports, what it prints, and how it ends."""

import json
import signal
import socket
import subprocess
import sys
from struct import pack

from .processes import DEADLINE_S, serving

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


def test_each_signal_drains_and_leaves_with_0_while_a_long_poll_waits() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with serving("--port", "0", "--topic", "t") as (process, ready):
            port = int(ready.split()[4].rpartition(":")[2])
            with socket.create_connection(("127.0.0.1", port), 5) as waiting:
                body = pack(">hhih", 1, 4, 1, -1) + pack(">iiiib", -1, 600_000, 1, 1 << 20, 0)
                body += pack(">ih1siiqi", 1, 1, b"t", 1, 0, 0, 1 << 20)
                waiting.sendall(pack(">i", len(body)) + body)
                process.send_signal(number)

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

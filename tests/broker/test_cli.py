"""The command line: what serve hands on, and one line for each mistake."""

import errno
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from minibroker.cli import main
from minibroker.config import Config, ConfigError
from minibroker.version import VERSION

Run = Callable[[Config, Sequence[str]], int]


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in tuple(os.environ):
        if variable.startswith(("MINIBROKER_", "KAFKA_")):
            monkeypatch.delenv(variable)
    # The logs are set up for the process; that is tested in test_logs.py.
    monkeypatch.setattr("minibroker.logs.set_up", lambda log_format, log_level: None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    """Puts a function where the broker would be started."""

    def put(run: Run) -> None:
        server = ModuleType("minibroker.serve")
        server.__dict__["run"] = run
        monkeypatch.setitem(sys.modules, "minibroker.serve", server)

    return put


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    assert isinstance(leaving.value.code, int)
    return leaving.value.code


def failing(error: OSError | ConfigError) -> Run:
    def run(config: Config, warnings: Sequence[str]) -> int:
        raise error

    return run


def in_a_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=30, check=False
    )


def test_serve_hands_on_its_configuration_and_warnings(runs: Callable[[Run], None]) -> None:
    seen: list[tuple[Config, Sequence[str]]] = []

    def run(config: Config, warnings: Sequence[str]) -> int:
        seen.append((config, warnings))
        return 0

    runs(run)
    code = exit_code(
        *("serve", "--host", "127.0.0.1", "--port", "7", "--advertised", "h:8"),
        *("--memory-limit", "64MiB", "--topic", "a:3", "--topic", "b", "--fsync", "os"),
        *("--set", "num.partitions=4", "--set", "log.dirs=/x", "--first-producer-id", "9"),
        *("--log-format", "json", "--log-level", "debug"),
    )

    ((config, warnings),) = seen
    (listener,) = config.listeners
    assert code == 0
    assert (listener.host, listener.port, listener.advertised_host) == ("127.0.0.1", 7, "h")
    assert config.memory_limit_bytes == 64 * 2**20
    assert [(topic.name, topic.partitions) for topic in config.topics] == [("a", 3), ("b", None)]
    assert config.fsync.kind == "os"
    assert config.num_partitions == 4
    assert config.first_producer_id == 9
    assert (config.log_format, config.log_level) == ("json", "debug")
    assert warnings == ("no effect in this release: log.dirs",)


def test_serve_reads_a_file_and_the_environment(
    runs: Callable[[Run], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "broker.toml"
    path.write_text('host = "127.0.0.1"\nport = 1')
    monkeypatch.setenv("MINIBROKER_PORT", "2")
    seen: list[Config] = []

    def run(config: Config, warnings: Sequence[str]) -> int:
        seen.append(config)
        return 0

    runs(run)
    exit_code("serve", "--config", str(path))

    assert (seen[0].listeners[0].host, seen[0].listeners[0].port) == ("127.0.0.1", 2)


def test_the_exit_code_is_that_of_the_broker(runs: Callable[[Run], None]) -> None:
    runs(lambda config, warnings: 3)

    assert exit_code("serve") == 3


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "Missing command; see minibroker --help"),
        (("serv",), "Did you mean 'serve'?"),
        (("serve", "--prot", "1"), "'--port'"),
        (("serve", "--port"), "'--port' requires an argument"),
        (("serve", "--port", "x"), "--port x: expected a port, 0 to 65535"),
        (("serve", "now"), "unexpected extra argument (now)"),
        (("serve", "--set", "num.partition=1"), "did you mean num.partitions?"),
        (("serve", "--set", "num.partitions"), "expected KEY=VALUE"),
        (("serve", "--data", "d"), "leave it out to keep the log in memory"),
        (("serve", "--config", "/nope.toml"), "No such file"),
        (("ready", "--bootstrap", "9092"), "expected HOST:PORT"),
        (("ready", "--wait", "x"), "'--wait'"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = exit_code(*arguments)

    printed = capsys.readouterr()
    assert code == 2
    assert printed.out == ""
    assert printed.err.startswith("minibroker: ")
    assert printed.err.count("\n") == 1
    assert expected in printed.err


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            OSError(errno.EADDRINUSE, "x"),
            "port 7 on localhost is in use: stop the other program or choose another with --port",
        ),
        (OSError(errno.EACCES, "x"), "port 7 on localhost is not allowed to this user"),
        (OSError(errno.EADDRNOTAVAIL, "x"), "choose another with --host"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "no such host"),
        (ConfigError("port 7 is in use"), "port 7 is in use"),
    ],
)
def test_a_port_that_cannot_be_opened_is_one_line_and_exit_code_2(
    error: OSError | ConfigError,
    expected: str,
    runs: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs(failing(error))

    code = exit_code("serve", "--port", "7")

    printed = capsys.readouterr().err
    assert code == 2
    assert printed.startswith(f"minibroker: {expected}") or expected in printed
    assert printed.count("\n") == 1


def test_another_failure_of_the_system_keeps_its_traceback(runs: Callable[[Run], None]) -> None:
    runs(failing(OSError(errno.EIO, "broken")))

    with pytest.raises(OSError, match="broken"):
        main(["serve"])


def test_help_and_version_are_no_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert exit_code("serve", "--help") == 0
    assert capsys.readouterr().out.startswith(f"minibroker {VERSION}\n")


def test_the_version_is_that_of_the_project() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"

    assert tomllib.loads(project.read_text())["project"]["version"] == VERSION


def test_the_module_runs_as_a_program() -> None:
    version = in_a_process("-m", "minibroker", "--version")
    mistake = in_a_process("-m", "minibroker", "serve", "--port", "x")

    assert (version.returncode, version.stdout) == (0, f"minibroker {VERSION}\n")
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert mistake.stderr == "minibroker: --port x: expected a port, 0 to 65535\n"


def test_ready_imports_neither_asyncio_nor_the_configuration() -> None:
    loaded = modules_after("main(['ready', '--bootstrap', '127.0.0.1:1'])")

    assert not loaded & {"asyncio", "minibroker.config", "minibroker.server", "tomllib"}


def test_reading_the_configuration_imports_nothing_slow() -> None:
    loaded = modules_after("from minibroker.config import load; load({}, ['a=b'], None, {})")
    plain = modules_after("from minibroker.config import load; load({}, [], None, {})")

    slow = {"asyncio", "tomllib", "difflib", "importlib.metadata", "minibroker.kafka_keys"}
    assert not plain & slow
    assert loaded & slow == {"difflib", "minibroker.kafka_keys"}


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement, whatever that raised.

    Without site-packages' start-up files: those of an editable install import much.
    """
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from minibroker.cli import main\n"
        f"try:\n    exec({statement!r})\n"
        "except BaseException:\n    ...\n"
        "print(*(set(sys.modules) - before))"
    )
    return set(in_a_process("-c", program).stdout.split())

"""A broker inside a Python program, in each of the three ways."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import minibroker
from minibroker import (
    Broker,
    ConfigError,
    embedded,
    running,
    running_in_process,
    running_in_thread,
)


def is_reachable(bootstrap: str) -> bool:
    host, _, port = bootstrap.rpartition(":")
    try:
        socket.create_connection((host, int(port)), 5).close()
    except ConnectionRefusedError:
        return False
    return True


async def test_in_the_running_loop() -> None:
    async with running() as broker:
        assert isinstance(broker, Broker)
        assert is_reachable(broker.bootstrap)
    assert not is_reachable(broker.bootstrap)


def test_in_a_thread() -> None:
    with running_in_thread() as broker:
        assert is_reachable(broker.bootstrap)
    assert not is_reachable(broker.bootstrap)


def test_in_a_process() -> None:
    with running_in_process(num_partitions=2, topic=["a", "b:3"]) as broker:
        assert is_reachable(broker.bootstrap)
    assert not is_reachable(broker.bootstrap)


def test_an_error_in_the_block_ends_the_broker_too() -> None:
    with pytest.raises(LookupError), running_in_process() as broker:
        raise LookupError
    assert not is_reachable(broker.bootstrap)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1"])
@pytest.mark.parametrize("log_format", ["text", "json"])
def test_a_process_is_found_however_it_says_where_it_listens(host: str, log_format: str) -> None:
    with running_in_process(host=host, log_format=log_format) as broker:
        port = int(broker.bootstrap.rpartition(":")[2])

        assert broker.bootstrap == (f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        socket.create_connection((host, port), 5).close()


PARENT = """
import os, sys
from minibroker import running_in_process
with running_in_process() as broker:
    print(broker.bootstrap, flush=True)
    os.kill(os.getpid(), int(sys.argv[1]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_process_ends_with_the_one_that_started_it(number: signal.Signals) -> None:
    parent = [sys.executable, "-c", PARENT, str(int(number))]

    # It ends when stderr is closed, and that the broker has as well.
    done = subprocess.run(parent, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode == -number
    assert not is_reachable(done.stdout.strip())


def test_a_process_that_never_gets_ready_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hangs = tmp_path / "hangs"
    hangs.write_text("#!/bin/sh\nexec sleep 60\n")
    hangs.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(hangs))
    monkeypatch.setattr(embedded, "START_S", 0.1)

    with pytest.raises(RuntimeError, match="did not start"), running_in_process():
        pass


async def test_wrong_options_are_refused_in_each_way() -> None:
    with pytest.raises(ConfigError, match="num_partitons"):
        async with running(num_partitons=3):
            pass
    with pytest.raises(ConfigError, match="num_partitons"), running_in_thread(num_partitons=3):
        pass
    with pytest.raises(ConfigError, match="num_partitons"), running_in_process(num_partitons=3):
        pass


async def test_a_taken_port_is_an_error_in_each_way() -> None:
    async with running() as first:
        port = int(first.bootstrap.rpartition(":")[2])
        with pytest.raises(OSError, match=str(port)):
            async with running(port=port):
                pass
        with pytest.raises(OSError, match=str(port)), running_in_thread(port=port):
            pass
        with pytest.raises(RuntimeError, match=str(port)), running_in_process(port=port):
            pass


def test_the_environment_does_not_configure_an_embedded_broker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MINIBROKER_PORT", "1")
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "nonsense")

    with running_in_process() as broker:
        assert not broker.bootstrap.endswith(":1")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="runing"):
        _ = minibroker.runing

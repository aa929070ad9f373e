"""The rows that are measured: each gives a figure, which the goal bounds from above."""

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import unpack_from
from typing import NamedTuple

from . import frames
from .driver import call, connect, drive, ping, receive_answer
from .processes import ENVIRONMENT, SERVER_CPU, Measured, broker, yardstick

PAIRS = 7
TOPIC = "bench"
MIB = 1 << 20


class Row(NamedTuple):
    """A figure, and its upper bound; None where a peer is only shown."""

    name: str
    goal: float | None
    unit: str
    measure: Callable[[], float]


class Load(NamedTuple):
    """Batches of one size over some connections."""

    batch_bytes: int
    connections: int
    depth: int
    frames: int
    """Of each connection."""


def producer_id(port: int) -> int:
    """A fresh one from the broker."""
    return int(unpack_from(">q", call(port, frames.init_producer_id()), 10)[0])


def streams(load: Load, port: int | None) -> list[list[bytes]]:
    """A stream of frames for each connection, on a partition of its own."""
    now_ms = time.time_ns() // 1_000_000
    return [
        frames.produce_frames(
            TOPIC,
            partition,
            producer_id(port) if port else partition,
            now_ms,
            load.batch_bytes,
            load.frames,
        )
        for partition in range(load.connections)
    ]


def cpu_per_frame(server: Measured, load: Load, wanted: list[list[bytes]]) -> float:
    """CPU seconds of the server for each frame of the load."""
    before = server.cpu_s()
    drive(server.port, wanted, load.depth)
    return (server.cpu_s() - before) / (load.connections * load.frames)


def against_yardstick(load: Load) -> float:
    """The median of broker CPU over Y's, pairs in alternation."""
    ratios = []
    options = ("--topic", f"{TOPIC}:{load.connections}", "--memory-limit", "256MiB")
    with broker(*options) as ours, yardstick() as y:
        for turn in range(PAIRS + 1):
            wanted = streams(load, ours.port)
            pair = [(ours, wanted), (y, wanted)]
            seconds = {
                server.pid: cpu_per_frame(server, load, sent)
                for server, sent in (pair if turn % 2 else reversed(pair))
            }
            if turn:  # the first pair warms both up
                ratios.append(seconds[ours.pid] / seconds[y.pid])
    return statistics.median(ratios)


def latency_against_yardstick() -> float:
    """Median round trip with one request in flight, over Y's."""
    ratios = []
    load = Load(150, 1, 1, 2000)
    with broker("--topic", TOPIC) as ours, yardstick() as y:
        for turn in range(PAIRS + 1):
            wanted = streams(load, ours.port)[0]
            pair = [ours, y] if turn % 2 else [y, ours]
            medians = {one.pid: statistics.median(ping(one.port, wanted)) for one in pair}
            if turn:
                ratios.append(medians[ours.pid] / medians[y.pid])
    return statistics.median(ratios)


def growth(options: tuple[str, ...], prepare: Callable[[Measured], object], load: Load) -> float:
    """CPU per frame on a large broker over that on a small one."""
    ratios = []
    small_options = ("--topic", f"{TOPIC}:{load.connections}")
    with broker(*small_options) as small, broker(*(options or small_options)) as large:
        kept = prepare(large)
        for turn in range(PAIRS + 1):
            pair = [small, large] if turn % 2 else [large, small]
            cost = {one.pid: cpu_per_frame(one, load, streams(load, one.port)) for one in pair}
            if turn:
                ratios.append(cost[large.pid] / cost[small.pid])
        del kept
    return statistics.median(ratios)


SPREAD = Load(150, 10, 5, 2000)


def many_partitions() -> float:
    """10,000 partitions against 10, each frame to the same ten."""
    return growth(("--topic", f"{TOPIC}:10000"), lambda large: None, SPREAD)


def many_producers() -> float:
    """100,000 producers on each measured partition against one."""

    def fill(large: Measured) -> None:
        now_ms = time.time_ns() // 1_000_000
        first = producer_id(large.port) + 1_000_000
        for partition in range(SPREAD.connections):
            stream = [
                frames.produce_frames(TOPIC, partition, first + number, now_ms, 150, 1)[0]
                for number in range(100_000 // SPREAD.connections)
            ]
            drive(large.port, [stream], 64)

    return growth((), fill, SPREAD)


def idle_connections() -> float:
    """2,000 idle connections against none."""
    return growth((), lambda large: [connect(large.port) for _ in range(2000)], SPREAD)


def bytes_per_idle_connection() -> float:
    """RssAnon that each of 2,000 idle connections adds, once it has asked for ApiVersions."""
    with broker("--topic", TOPIC) as ours:
        before = ours.memory_bytes()
        idle = [connect(ours.port) for _ in range(2000)]
        for one in idle:
            one.sendall(frames.api_versions())
            receive_answer(one)
        return (ours.memory_bytes() - before) / len(idle)


def fetch_against_blocking_loop() -> float:
    """CPU per byte of reading a log 1 MB at a time, over a blocking pread + sendall loop's."""
    load = Load(16_000, 1, 5, 6000)
    ratios = []
    with broker("--topic", TOPIC) as ours, blocking_loop() as loop:
        drive(ours.port, streams(load, ours.port), load.depth)
        for turn in range(PAIRS + 1):
            pair = [ours, loop] if turn % 2 else [loop, ours]
            cost = {one.pid: _fetch_cost(one, is_log=one is ours) for one in pair}
            if turn:
                ratios.append(cost[ours.pid] / cost[loop.pid])
    return statistics.median(ratios)


def _fetch_cost(server: Measured, *, is_log: bool) -> float:
    """As a consumer does it: from the start on, each request behind the last answer."""
    received = offset = 0
    with connect(server.port) as connection:
        before = server.cpu_s()
        while received < 90 * MIB:
            connection.sendall(frames.fetch(TOPIC, 0, offset, MIB))
            answer = receive_answer(connection)
            offset = frames.next_offset(TOPIC, answer) if is_log else 0
            received += len(answer)
        return (server.cpu_s() - before) / received


@contextmanager
def blocking_loop() -> Iterator[Measured]:
    """A program that answers each request with 1 MB of a file, by pread and sendall."""
    code = (
        "import os, socket, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "print(server.getsockname()[1], flush=True)\n"
        "head = (1 << 20).to_bytes(4, 'big')\n"
        "while True:\n"
        "    connection, _ = server.accept()\n"
        "    while connection.recv(4096):\n"
        "        connection.sendall(head)\n"
        "        connection.sendall(os.pread(fd, 1 << 20, 0))\n"
    )
    with tempfile.NamedTemporaryFile() as file:
        file.write(os.urandom(1 << 20))
        file.flush()
        with subprocess.Popen(
            [sys.executable, "-c", code, file.name], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            os.sched_setaffinity(process.pid, {SERVER_CPU})
            try:
                yield Measured(process.pid, int(process.stdout.readline()))
            finally:
                process.terminate()


def start_up() -> float:
    """exec until ApiVersions is answered, over `python -c "import asyncio"`."""
    ratios = []
    for _ in range(PAIRS + 4):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import asyncio"], check=True, env=ENVIRONMENT)
        least = time.perf_counter() - started
        ratios.append(_until_answered() / least)
    return statistics.median(ratios)


def _until_answered() -> float:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    started = time.perf_counter()
    command = [sys.executable, "-m", "minibroker", "serve", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=ENVIRONMENT) as process:
        try:
            while True:
                try:
                    call(port, frames.api_versions())
                    return time.perf_counter() - started
                except ConnectionRefusedError:
                    time.sleep(0.001)
        finally:
            process.terminate()


def anonymous_memory_at_start() -> float:
    """RssAnon in MB once ApiVersions is answered."""
    with broker() as ours:
        call(ours.port, frames.api_versions())
        return ours.memory_bytes() / 1e6


def memory_after_load() -> float:
    """Resident MB after 2 GB were written under a memory.limit of 64 MiB."""
    load = Load(16_000, 16, 5, 500)
    with broker("--topic", f"{TOPIC}:16", "--memory-limit", "64MiB") as ours:
        for _ in range(16):
            drive(ours.port, streams(load, ours.port), load.depth)
        return ours.memory_bytes("VmRSS") / 1e6


def bytes_per_producer() -> float:
    """Memory that each of 100,000 producers with a full window takes."""
    return float(_in_python(_PRODUCERS).split()[0])


def collection_with_producers() -> float:
    """gc.collect() with 100,000 producers, less what it takes without them, in ms."""
    return float(_in_python(_PRODUCERS).split()[1])


_PRODUCERS = """
import gc, sys, time, tracemalloc
from minibroker.storage.producers import FormerProducers, ProducerLimits, ProducerTable

def collect():
    started = time.perf_counter()
    gc.collect()
    return (time.perf_counter() - started) * 1000

gc.collect()
empty_ms = min(collect() for _ in range(5))
tracemalloc.start()
table = ProducerTable(ProducerLimits(86400000, 200000, 300000), FormerProducers(), "bench-0")
for producer in range(1_700_000_000_000_000, 1_700_000_000_100_000):
    for batch in range(5):
        table.appended(producer, 0, 10**12, ((batch, batch, 10**9 + batch, 10**12, 7),))
used, _ = tracemalloc.get_traced_memory()
tracemalloc.stop()
gc.collect()
print(used / 100_000, min(collect() for _ in range(5)) - empty_ms)
"""


def _in_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def produce_against_librdkafka_mock() -> float:
    """Broker CPU per record of an idempotent confluent-kafka producer, over the mock's."""
    from .mock_peer import mock_cluster, produce

    ratios = []
    with broker("--topic", TOPIC) as ours, mock_cluster() as mock:
        for turn in range(PAIRS + 1):
            pair = [ours, mock] if turn % 2 else [mock, ours]
            cost = {one.pid: produce(one, TOPIC) for one in pair}
            if turn:
                ratios.append(cost[ours.pid] / cost[mock.pid])
    return statistics.median(ratios)


def _y(load: Load) -> Callable[[], float]:
    return lambda: against_yardstick(load)


ROWS = (
    Row("1 record, 16 connections x 5 in flight", 2.2, "Y", _y(Load(150, 16, 5, 2500))),
    Row("1 record, 1 x 64", 3.0, "Y", _y(Load(150, 1, 64, 30_000))),
    Row("1 record, 1 x 1", 1.5, "Y", _y(Load(150, 1, 1, 8000))),
    Row("16 KB batches, 16 x 5", 1.6, "Y", _y(Load(16_000, 16, 5, 300))),
    Row("1 MB batches, 1 x 5", 1.1, "Y", _y(Load(1_000_000, 1, 5, 200))),
    Row("one in flight, p50", 1.3, "Y", latency_against_yardstick),
    Row("Fetch of 1 MB, CPU per byte", 1.5, "pread + sendall", fetch_against_blocking_loop),
    Row("10,000 partitions against 10", 2.0, "x", many_partitions),
    Row("100,000 producer ids against 10", 1.3, "x", many_producers),
    Row("2,000 idle connections against 0", 1.5, "x", idle_connections),
    Row("a producer's entry, window full", 400, "bytes", bytes_per_producer),
    Row("an idle connection", 4096, "bytes", bytes_per_idle_connection),
    Row("gc.collect() with 100,000 producers", 20, "ms", collection_with_producers),
    Row("exec until ApiVersions is answered", 2.0, "import asyncio", start_up),
    Row("anonymous memory at start", 40, "MB", anonymous_memory_at_start),
    Row("resident after 2 GB, memory.limit 64 MiB", 128, "MB", memory_after_load),
    Row("confluent-kafka, broker CPU", None, "librdkafka mock", produce_against_librdkafka_mock),
)

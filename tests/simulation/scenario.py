"""One run: a whole broker in a world of faults, and what must hold at its end.

python -m tests.simulation.scenario SEED    repeats a run and prints its trace
"""

import asyncio
import sys
from collections import Counter
from hashlib import sha256
from typing import NamedTuple

from minibroker.config import Config
from minibroker.server import Server
from minibroker.services import Environment

from .clients import PORT, TOPIC, Acknowledged, Consumer, Producer, records_of
from .network import CLEAR, Network, Weather
from .world import World

PARTITIONS = 2
PRODUCERS = 4
QUIET_AT_S = 10.0
"""The last fault begins before."""
LIVENESS_S = 10.0
"""So long after it everything must have ended."""
MOST_STALL_S = 3.0
KINDS = ("cut", "cut", "cut", "stall", "silent")


class WrongError(AssertionError):
    """What was promised does not hold."""


class Report(NamedTuple):
    """What happened in a run."""

    trace: tuple[str, ...]
    acknowledged: int
    connections: int
    faults: dict[str, int]
    retries: int
    epoch_bumps: int
    given_up: int
    fetched: int
    ended_s: float

    @property
    def trace_hash(self) -> str:
        """Equal where everything that happened is equal."""
        return sha256("\n".join(self.trace).encode()).hexdigest()

    @property
    def summary(self) -> str:
        """In one line."""
        return f"{self._replace(trace=())} {self.trace_hash}"


def simulate(seed: int) -> Report:
    """Run one seed. Raises WrongError with the command that repeats it."""
    world = World(seed)  # type: ignore[abstract]  # it has what the broker uses
    run = _Run(world)
    try:
        return world.run_until_complete(run.whole())
    except Exception as error:
        again = f"python -m tests.simulation.scenario {seed}"
        raise WrongError(f"{error!r}; to repeat: {again}") from error
    finally:
        world.close()


class _Run:
    def __init__(self, world: World) -> None:
        self.world = world
        self.network = Network(world)
        config = Config.of(
            listeners=f"PLAINTEXT://127.0.0.1:{PORT}",
            topics=[f"{TOPIC}:{PARTITIONS}"],
            memory_limit="64MiB",
        )
        environment = Environment(
            clock=world, random_bytes=world.random.randbytes, sockets=self.network
        )
        self.server = Server(config, environment)
        self.producers = [
            Producer(world, self.network, f"producer-{at}", at % PARTITIONS)
            for at in range(PRODUCERS)
        ]
        self.consumers = [
            Consumer(world, self.network, f"consumer-{at}", at % PARTITIONS)
            for at in range(2 * PARTITIONS)
        ]

    async def whole(self) -> Report:
        """Produce and consume in bad weather; in the end look at the log."""
        await self.server.start()
        self.network.weather = self._weather
        async with asyncio.timeout(QUIET_AT_S + LIVENESS_S):
            async with asyncio.TaskGroup() as reading:
                for consumer in self.consumers:
                    reading.create_task(consumer.run())
                async with asyncio.TaskGroup() as writing:
                    for producer in self.producers:
                        writing.create_task(producer.run(until_s=QUIET_AT_S))
                for consumer in self.consumers:
                    consumer.end_offset = len(self._log(consumer.partition))
        ended_s = self.world.time()
        logs = [self._log(at) for at in range(PARTITIONS)]
        await self.server.stop()
        self._judge(logs)
        return self._report(logs, ended_s)

    def _weather(self) -> Weather:
        """Every connection comes to grief that lives long enough, before it is quiet."""
        random = self.world.random
        if self.world.time() >= QUIET_AT_S - MOST_STALL_S:
            return CLEAR
        return Weather(
            to_server=random.random() < 0.5,
            kind=random.choice(KINDS),
            at_byte=random.randint(0, 6000),
            stall_s=random.random() * MOST_STALL_S,
        )

    def _log(self, partition: int) -> list[Acknowledged]:
        """What is in the log, whatever anyone says."""
        topic = self.server.services.catalog.find(TOPIC)
        assert topic
        log = topic.partitions[partition].log
        return [one for view in log.read(0, 1 << 30, log.end_offset) for one in records_of(view)]

    def _judge(self, logs: list[list[Acknowledged]]) -> None:
        if self.world.errors:
            raise WrongError(f"the event loop was told of {self.world.errors}")
        for producer in self.producers:
            _judge_producer(producer, logs[producer.partition])
        for consumer in self.consumers:
            if consumer.read != logs[consumer.partition]:
                raise WrongError(f"{consumer.name} has not read what is in the log")
        left = asyncio.all_tasks(self.world) - {asyncio.current_task(self.world)}
        if left:
            raise WrongError(f"left behind: {left}")
        memory = self.server.request_memory.used_bytes
        if memory:
            raise WrongError(f"{memory} bytes of requests are still held")

    def _report(self, logs: list[list[Acknowledged]], ended_s: float) -> Report:
        acknowledged = sum(len(producer.acknowledged) for producer in self.producers)
        return Report(
            trace=tuple(self.world.trace),
            acknowledged=acknowledged,
            connections=self.network.links,
            faults=dict(self.network.faults),
            retries=sum(producer.retries for producer in self.producers),
            epoch_bumps=sum(producer.epoch_bumps for producer in self.producers),
            given_up=sum(len(producer.given_up) for producer in self.producers),
            fetched=sum(len(consumer.read) for consumer in self.consumers),
            ended_s=ended_s,
        )


def _judge_producer(producer: Producer, log: list[Acknowledged]) -> None:
    """Acknowledged: once, where it was promised. In order. Given up: at most once."""
    mine = [one for one in log if one.value.startswith(producer.name.encode())]
    values = [one.value for one in mine]
    twice = [value for value, count in Counter(values).items() if count > 1]
    if twice:
        raise WrongError(f"written twice: {twice[:3]}")
    if values != sorted(values):
        raise WrongError(f"{producer.name} is out of order")
    missing = set(producer.acknowledged) - set(mine)
    if missing:
        raise WrongError(f"acknowledged, but not there: {sorted(missing)[:3]}")
    settled = {one.value for one in producer.acknowledged} | set(producer.given_up)
    if set(values) - settled:
        raise WrongError(f"in the log, but never sent: {sorted(set(values) - settled)[:3]}")


def main() -> None:
    """Print the trace of a seed."""
    report = simulate(int(sys.argv[1]))
    sys.stdout.write("\n".join(report.trace) + f"\n{report.summary}\n")


if __name__ == "__main__":
    main()

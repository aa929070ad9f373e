"""librdkafka's own mock cluster as a peer: written in C, checks nothing, writes nothing.

python -m bench.mock_peer      prints HOST:PORT; ends with its standard input
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

from .processes import Measured, process

RECORDS = 50_000


@contextmanager
def mock_cluster() -> Iterator[Measured]:
    """The mock in a process of its own."""
    with process([sys.executable, "-m", "bench.mock_peer"], "") as measured:
        yield measured


def produce(server: Measured, topic: str) -> float:
    """CPU seconds of the server for each record of an idempotent producer, 100 bytes each."""
    producer = Producer(
        {
            "bootstrap.servers": f"127.0.0.1:{server.port}",
            "enable.idempotence": True,
            "linger.ms": 1,
            "queue.buffering.max.messages": RECORDS + 1,
        }
    )
    before = server.cpu_s()
    for _ in range(RECORDS):
        producer.produce(topic, b"v" * 100, partition=0)
        producer.poll(0)
    if left := producer.flush(60):
        raise TimeoutError(f"{left} records were not acknowledged")
    return (server.cpu_s() - before) / RECORDS


if __name__ == "__main__":
    cluster = Producer({"bootstrap.servers": "unused", "test.mock.num.brokers": 1})
    brokers = cluster.list_topics(timeout=10).brokers.values()
    host, port = next((broker.host, broker.port) for broker in brokers)
    print(f"{host}:{port}", flush=True)
    sys.stdin.read()

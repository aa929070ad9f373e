"""Three client libraries behind the same functions: send records, read by assignment."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, cast  # of headers, whose stub has no pairs

import aiokafka
import confluent_kafka
import kafka
from kafka import structs

DEADLINE_S = 30.0


class Record(NamedTuple):
    """What a test sends and wants to read again."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    timestamp: int = 1_700_000_000_000
    partition: int = 0


class Sending(NamedTuple):
    """How a producer is set up."""

    codec: str = "none"  # or gzip, snappy, lz4, zstd
    batch_bytes: int = 16_384
    is_idempotent: bool = True  # else acks=1, with retries


PLAIN = Sending()


class Client(NamedTuple):
    """One library."""

    name: str
    send: Callable[[str, str, Sequence[Record], Sending], None]
    """(bootstrap, topic, records, how): one producer; returns when all are acknowledged."""
    read: Callable[[str, str, int, int], list[Record]]
    """(bootstrap, topic, partition, count)."""


def aiokafka_send(bootstrap: str, topic: str, records: Sequence[Record], how: Sending) -> None:
    async def send() -> None:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=how.is_idempotent,
            acks="all" if how.is_idempotent else 1,
            compression_type=None if how.codec == "none" else how.codec,
            max_batch_size=how.batch_bytes,
            max_request_size=8 << 20,
            retry_backoff_ms=20,
        ) as producer:
            sent = [
                await producer.send(
                    topic,
                    record.value,
                    record.key,
                    record.partition,
                    record.timestamp,
                    list(record.headers),
                )
                for record in records
            ]
            async with asyncio.timeout(DEADLINE_S):
                await asyncio.gather(*sent)

    asyncio.run(send())


def aiokafka_read(bootstrap: str, topic: str, partition: int, count: int) -> list[Record]:
    async def read() -> list[Record]:
        place = aiokafka.TopicPartition(topic, partition)
        async with aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign([place])
            async with asyncio.timeout(DEADLINE_S):
                got = [await consumer.getone() for _ in range(count)]
        return [
            Record(one.key, one.value, tuple(one.headers), one.timestamp, partition) for one in got
        ]

    return asyncio.run(read())


def kafka_python_send(bootstrap: str, topic: str, records: Sequence[Record], how: Sending) -> None:
    producer = kafka.KafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=how.is_idempotent,
        acks="all" if how.is_idempotent else 1,
        compression_type=None if how.codec == "none" else how.codec,
        batch_size=how.batch_bytes,
        max_request_size=8 << 20,
        retry_backoff_ms=20,
        reconnect_backoff_ms=10,
        reconnect_backoff_max_ms=50,
    )
    try:
        sent = [
            producer.send(
                topic,
                key=record.key,
                value=record.value,
                headers=list(record.headers),
                timestamp_ms=record.timestamp,
                partition=record.partition,
            )
            for record in records
        ]
        for future in sent:
            future.get(DEADLINE_S)
    finally:
        producer.close(5)


def kafka_python_read(bootstrap: str, topic: str, partition: int, count: int) -> list[Record]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(DEADLINE_S * 1000),
    )
    consumer.assign([structs.TopicPartition(topic, partition)])
    got = [next(consumer) for _ in range(count)]
    consumer.close()
    return [Record(one.key, one.value, tuple(one.headers), one.timestamp, partition) for one in got]


def confluent_send(bootstrap: str, topic: str, records: Sequence[Record], how: Sending) -> None:
    failed: list[str] = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": how.is_idempotent,
            "acks": "all" if how.is_idempotent else "1",
            "compression.type": how.codec,
            "batch.size": how.batch_bytes,
            "max.in.flight": 5,  # what idempotence allows; without it, a million
            "message.max.bytes": 8 << 20,
            "queue.buffering.max.messages": 100_000,
            "retry.backoff.ms": 20,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 50,
            # It would begin anew, a second each time, whenever its only broker is gone.
            "metadata.recovery.strategy": "none",
        }
    )
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            on_delivery=lambda error, _: failed.append(str(error)) if error else None,
            timestamp=record.timestamp,
            headers=list(record.headers),
        )
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0
    assert failed == []


def confluent_read(bootstrap: str, topic: str, partition: int, count: int) -> list[Record]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
    got: list[Record] = []
    end = time.monotonic() + DEADLINE_S
    while len(got) < count and time.monotonic() < end:
        for message in consumer.consume(count - len(got), 1.0):
            assert message.error() is None
            headers = cast(tuple[tuple[str, bytes], ...], tuple(message.headers() or ()))
            got.append(
                Record(message.key(), message.value(), headers, message.timestamp()[1], partition)
            )
    consumer.close()
    return got


CLIENTS = (
    Client("aiokafka", aiokafka_send, aiokafka_read),
    Client("kafka-python", kafka_python_send, kafka_python_read),
    Client("confluent-kafka", confluent_send, confluent_read),
)

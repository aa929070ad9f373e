"""The seed's measured output: an idempotent producer is tracked, one with acks=1 is not."""

import asyncio
from collections.abc import Callable

import aiokafka
import confluent_kafka
import kafka
import pytest

from minibroker.protocol.messages.producers import (
    DESCRIBE_PRODUCERS,
    DescribeProducersRequest,
    ProducerState,
    TopicRequest,
)
from tests.wire import connected

from .adapters import DEADLINE_S

RECORDS = 3


def aiokafka_producer(bootstrap: str, topic: str, is_idempotent: bool) -> None:
    async def send() -> None:
        options = {"enable_idempotence": True} if is_idempotent else {"acks": 1}
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, **options) as producer:
            for _ in range(RECORDS):
                await producer.send_and_wait(topic, b"v")

    asyncio.run(send())


def kafka_python_producer(bootstrap: str, topic: str, is_idempotent: bool) -> None:
    options = {} if is_idempotent else {"acks": 1, "enable_idempotence": False}
    producer = kafka.KafkaProducer(bootstrap_servers=bootstrap, **options)
    for _ in range(RECORDS):
        producer.send(topic, b"v").get(DEADLINE_S)
    producer.close(5)


def confluent_producer(bootstrap: str, topic: str, is_idempotent: bool) -> None:
    options = {"enable.idempotence": True} if is_idempotent else {"acks": "1"}
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, **options})
    for _ in range(RECORDS):
        producer.produce(topic, b"v")
        assert producer.flush(DEADLINE_S) == 0


async def tracked(bootstrap: str, topic: str) -> tuple[ProducerState, ...]:
    request = DescribeProducersRequest(topics=(TopicRequest(name=topic, partition_indexes=(0,)),))
    async with connected(bootstrap) as wire:
        response = await wire.call(DESCRIBE_PRODUCERS, 0, request)
    return response.topics[0].partitions[0].active_producers


@pytest.mark.parametrize("produce", [aiokafka_producer, kafka_python_producer, confluent_producer])
def test_an_idempotent_producer_is_tracked_with_id_epoch_and_last_sequence(
    bootstrap: str, produce: Callable[[str, str, bool], None]
) -> None:
    topic = f"tracked-{produce.__name__}"

    produce(bootstrap, topic, True)

    (state,) = asyncio.run(tracked(bootstrap, topic))
    assert state.producer_id > 0
    assert (state.producer_epoch, state.last_sequence) == (0, RECORDS - 1)


@pytest.mark.parametrize("produce", [aiokafka_producer, kafka_python_producer, confluent_producer])
def test_a_producer_with_acks_1_leaves_nothing(
    bootstrap: str, produce: Callable[[str, str, bool], None]
) -> None:
    topic = f"untracked-{produce.__name__}"

    produce(bootstrap, topic, False)

    assert asyncio.run(tracked(bootstrap, topic)) == ()

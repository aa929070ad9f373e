"""A test suite of an aiokafka project: no Docker, a clean broker for each test."""

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from minibroker import Broker


async def read(broker: Broker, topic: str, count: int) -> list[bytes | None]:
    """The first records of partition 0."""
    async with AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        return [(await consumer.getone()).value for _ in range(count)]


async def test_what_is_sent_is_read(broker: Broker) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, enable_idempotence=True
    ) as producer:
        for value in (b"one", b"two", b"three"):
            await producer.send_and_wait("orders", value)

    assert await read(broker, "orders", 3) == [b"one", b"two", b"three"]


async def test_each_test_has_a_broker_of_its_own(broker: Broker) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, enable_idempotence=True
    ) as producer:
        sent = await producer.send_and_wait("orders", b"the first")

    assert sent.offset == 0

"""The test that README.md shows."""

from aiokafka import AIOKafkaProducer

from minibroker import Broker


async def test_a_greeting_is_stored(broker: Broker) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap, enable_idempotence=True
    ) as producer:
        sent = await producer.send_and_wait("greetings", b"hello")

    assert sent.offset == 0

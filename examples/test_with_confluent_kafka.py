"""A test suite of a confluent-kafka project: one broker for the session, a topic for each test."""

from confluent_kafka import Consumer, Producer, TopicPartition

from minibroker import Broker


def test_what_is_sent_is_read(minibroker: Broker) -> None:
    producer = Producer({"bootstrap.servers": minibroker.bootstrap, "enable.idempotence": True})
    for value in (b"one", b"two", b"three"):
        producer.produce("orders", value)
    assert producer.flush(10) == 0

    consumer = Consumer({"bootstrap.servers": minibroker.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition("orders", 0, 0)])
    values = [message.value() for message in consumer.consume(3, timeout=10)]
    consumer.close()

    assert values == [b"one", b"two", b"three"]

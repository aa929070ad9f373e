"""A test suite of a kafka-python project: plain synchronous tests."""

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from minibroker import Broker


def test_what_is_sent_is_read(broker: Broker) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)  # idempotent by default
    for value in (b"one", b"two", b"three"):
        producer.send("orders", value)
    producer.flush(10)
    producer.close()

    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=10_000
    )
    consumer.assign([TopicPartition("orders", 0)])
    values = [next(consumer).value for _ in range(3)]
    consumer.close()

    assert values == [b"one", b"two", b"three"]

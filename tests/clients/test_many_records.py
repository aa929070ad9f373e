"""10,000 records over 16 partitions: in order in each, and each of them once."""

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from .adapters import CLIENTS, DEADLINE_S, PLAIN, Client, Record

PARTITIONS = 16


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])
def test_ten_thousand_records_over_sixteen_partitions(bootstrap: str, client: Client) -> None:
    topic = f"many-{client.name}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(DEADLINE_S)
    records = [
        Record(b"%d" % number, b"value %d" % number, partition=number % PARTITIONS)
        for number in range(10_000)
    ]

    client.send(bootstrap, topic, records, PLAIN)

    for partition in range(PARTITIONS):
        expected = records[partition::PARTITIONS]
        assert client.read(bootstrap, topic, partition, len(expected)) == expected

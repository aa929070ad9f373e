"""The table of broker keys, and what DescribeConfigs says of a broker."""

import pytest

from minibroker.broker_description import describe_broker
from minibroker.broker_keys import BROKER_SETTINGS, TOPIC_DEFAULTS
from minibroker.config import Config
from minibroker.kafka_keys import NAMES
from minibroker.storage.settings import canonical
from minibroker.storage.topic_config import ConfigEntry, ConfigSource
from minibroker.storage.topic_settings import TOPIC_SETTINGS

OURS = {
    "memory.limit",
    "max.producers.per.partition",
    "producer.gap.timeout.ms",
    "record.validation",
    "require.idempotence",
    "minibroker.max.replication.factor",
}

# Kafka 4.4's own defaults, where ours are the same.
KAFKA_DEFAULTS = {
    "num.partitions": "1",
    "default.replication.factor": "1",
    "auto.create.topics.enable": "true",
    "delete.topic.enable": "true",
    "socket.request.max.bytes": "104857600",
    "fetch.max.bytes": "57671680",
    "message.max.bytes": "1048588",
    "producer.id.expiration.ms": "86400000",
    "group.min.session.timeout.ms": "6000",
    "group.max.session.timeout.ms": "1800000",
    "group.max.size": "2147483647",
    "offsets.retention.minutes": "10080",
    "max.incremental.fetch.session.cache.slots": "1000",
    "log.retention.hours": "168",
    "log.segment.bytes": "1073741824",
    "log.cleanup.policy": "delete",
}


def entry(config: Config, name: str) -> ConfigEntry:
    (found,) = (one for one in describe_broker(config) if one.name == name)
    return found


def test_each_key_is_one_of_kafka_or_ours() -> None:
    assert set(BROKER_SETTINGS) - NAMES == OURS


def test_the_keys_of_all_topic_defaults_are_known() -> None:
    keys = {key for setting in TOPIC_SETTINGS.values() for key in setting.broker_keys}

    assert keys == set(TOPIC_DEFAULTS) <= set(BROKER_SETTINGS)


@pytest.mark.parametrize("name", BROKER_SETTINGS)
def test_a_default_is_a_value_that_its_own_row_takes(name: str) -> None:
    setting = BROKER_SETTINGS[name]

    assert setting.default is None or canonical(setting, setting.default) == setting.default


@pytest.mark.parametrize("name", KAFKA_DEFAULTS)
def test_defaults_are_those_of_kafka(name: str) -> None:
    assert BROKER_SETTINGS[name].default == KAFKA_DEFAULTS[name]


def test_names_of_kafka_are_plain() -> None:
    assert len(NAMES) > 350
    assert all((name == name.strip() and "." in name) or name == "listeners" for name in NAMES)


def test_a_key_that_was_set_has_the_broker_as_its_source() -> None:
    described = entry(Config.of(num_partitions=4), "num.partitions")

    assert (described.value, described.source) == ("4", ConfigSource.STATIC_BROKER)
    assert described.synonyms == (
        ("num.partitions", "4", ConfigSource.STATIC_BROKER),
        ("num.partitions", "1", ConfigSource.DEFAULT),
    )
    assert described.is_read_only


def test_a_key_that_was_not_set_has_its_default() -> None:
    described = entry(Config.of(), "num.partitions")

    assert (described.value, described.source) == ("1", ConfigSource.DEFAULT)


def test_values_that_follow_from_others_are_described_as_they_are_in_force() -> None:
    config = Config.of(broker_id=5, listeners="A://[::1]:1", advertised="h:2", memory_limit="64MiB")

    assert entry(config, "node.id").value == "5"
    assert entry(config, "listeners").value == "A://[::1]:1"
    assert entry(config, "advertised.listeners").value == "A://h:2"
    assert entry(config, "memory.limit").value == str(64 * 2**20)
    assert entry(Config.of(), "memory.limit").value == str(Config.of().memory_limit_bytes)


def test_keys_are_described_in_the_order_of_their_names() -> None:
    names = [one.name for one in describe_broker(Config.of())]

    assert names == sorted(BROKER_SETTINGS)

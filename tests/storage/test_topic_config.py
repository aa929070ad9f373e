"""The table of topic settings against Kafka 4.4, and what becomes of overrides and broker keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibroker.protocol.compression import Codec
from minibroker.storage.settings import InvalidConfig, SettingType, canonical
from minibroker.storage.topic_config import (
    ConfigEntry,
    ConfigSource,
    TopicConfig,
    appended,
    describe,
    resolve,
    subtracted,
    validate,
)
from minibroker.storage.topic_settings import TOPIC_SETTINGS

# Name, type, value and the broker key of the default, as DescribeConfigs v4 of Kafka 4.4.0 answered
# for a topic without overrides.
KAFKA_4_4 = """
cleanup.policy 7 delete log.cleanup.policy
compression.gzip.level 3 -1 compression.gzip.level
compression.lz4.level 3 9 compression.lz4.level
compression.type 2 producer compression.type
compression.zstd.level 3 3 compression.zstd.level
delete.retention.ms 5 86400000 log.cleaner.delete.retention.ms
errors.deadletterqueue.group.enable 1 false -
file.delete.delay.ms 5 60000 log.segment.delete.delay.ms
flush.messages 5 9223372036854775807 log.flush.interval.messages
flush.ms 5 9223372036854775807 -
follower.replication.throttled.replicas 7 '' -
index.interval.bytes 3 4096 log.index.interval.bytes
leader.replication.throttled.replicas 7 '' -
local.retention.bytes 5 -2 log.local.retention.bytes
local.retention.ms 5 -2 log.local.retention.ms
max.compaction.lag.ms 5 9223372036854775807 log.cleaner.max.compaction.lag.ms
max.decompressed.message.bytes 3 2147483639 max.decompressed.message.bytes
max.message.bytes 3 1048588 message.max.bytes
message.timestamp.after.max.ms 5 3600000 log.message.timestamp.after.max.ms
message.timestamp.before.max.ms 5 9223372036854775807 log.message.timestamp.before.max.ms
message.timestamp.type 2 CreateTime log.message.timestamp.type
min.cleanable.dirty.ratio 6 0.5 log.cleaner.min.cleanable.ratio
min.compaction.lag.ms 5 0 log.cleaner.min.compaction.lag.ms
min.insync.replicas 3 1 min.insync.replicas
preallocate 1 false log.preallocate
remote.copy.lag.bytes 5 -1 log.remote.copy.lag.bytes
remote.copy.lag.ms 5 0 log.remote.copy.lag.ms
remote.log.copy.disable 1 false -
remote.log.delete.on.disable 1 false -
remote.storage.enable 1 false -
retention.bytes 5 -1 log.retention.bytes
retention.ms 5 604800000 -
segment.bytes 3 1073741824 log.segment.bytes
segment.index.bytes 3 10485760 log.index.size.max.bytes
segment.jitter.ms 5 0 -
segment.ms 5 604800000 -
unclean.leader.election.enable 1 false unclean.leader.election.enable
"""

OURS = {"record.validation", "require.idempotence"}


def entry(
    name: str, overrides: dict[str, str] | None = None, broker: dict[str, str] | None = None
) -> ConfigEntry:
    (found,) = (one for one in describe(overrides or {}, broker or {}) if one.name == name)
    return found


def test_the_table_is_that_of_kafka_and_ours() -> None:
    kafka = {line.split()[0] for line in KAFKA_4_4.strip().splitlines()}

    assert set(TOPIC_SETTINGS) == kafka | OURS


@pytest.mark.parametrize("line", KAFKA_4_4.strip().splitlines())
def test_a_topic_without_overrides_is_described_as_kafka_does(line: str) -> None:
    name, number, value, key = line.split()
    expected_synonyms = [] if key == "-" else [(key, value, ConfigSource.DEFAULT)]

    described = entry(name)

    assert described.value == ("" if value == "''" else value)
    assert described.type == int(number)
    assert described.source == ConfigSource.DEFAULT
    assert list(described.synonyms) == expected_synonyms
    assert not described.is_read_only


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_a_default_is_a_value_that_its_own_row_takes(name: str) -> None:
    setting = TOPIC_SETTINGS[name]

    assert setting.default is not None
    assert canonical(setting, setting.default) == setting.default


def test_settings_are_described_in_the_order_of_their_names() -> None:
    names = [one.name for one in describe({}, {})]

    assert names == sorted(names)


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_each_row_is_documented(name: str) -> None:
    assert len(entry(name).documentation) > 20


def test_defaults_resolve_to_what_kafka_does() -> None:
    assert resolve({}, {}) == TopicConfig(
        max_message_bytes=1_048_588,
        codec=None,
        compression_level=None,
        is_log_append_time=False,
        timestamp_before_max_ms=2**63 - 1,
        timestamp_after_max_ms=3_600_000,
        is_compacted=False,
        deletes_old_segments=True,
        validates_records=False,
        requires_idempotence=False,
        retention_ms=604_800_000,
        retention_bytes=-1,
        segment_bytes=2**30,
        segment_ms=604_800_000,
        index_interval_bytes=4096,
        flush_messages=2**63 - 1,
        flush_ms=2**63 - 1,
        delete_retention_ms=86_400_000,
        min_compaction_lag_ms=0,
    )


@pytest.mark.parametrize(
    ("overrides", "field", "expected"),
    [
        ({"max.message.bytes": "7"}, "max_message_bytes", 7),
        ({"message.timestamp.type": "LogAppendTime"}, "is_log_append_time", True),
        ({"message.timestamp.before.max.ms": "8"}, "timestamp_before_max_ms", 8),
        ({"message.timestamp.after.max.ms": "9"}, "timestamp_after_max_ms", 9),
        ({"cleanup.policy": "compact,delete"}, "is_compacted", True),
        ({"cleanup.policy": "compact"}, "deletes_old_segments", False),
        ({"cleanup.policy": ""}, "deletes_old_segments", False),
        ({"record.validation": "full"}, "validates_records", True),
        ({"require.idempotence": "true"}, "requires_idempotence", True),
        ({"retention.ms": "-1"}, "retention_ms", -1),
        ({"compression.type": "uncompressed"}, "codec", Codec.NONE),
        ({"compression.type": "snappy"}, "codec", Codec.SNAPPY),
        ({"compression.type": "gzip"}, "codec", Codec.GZIP),
        ({"compression.type": "gzip"}, "compression_level", None),
        ({"compression.type": "gzip", "compression.gzip.level": "4"}, "compression_level", 4),
        ({"compression.type": "lz4"}, "compression_level", 9),
        ({"compression.type": "zstd", "compression.zstd.level": "-5"}, "compression_level", -5),
        ({"compression.type": "snappy"}, "compression_level", None),
    ],
)
def test_an_override_is_resolved(overrides: dict[str, str], field: str, expected: object) -> None:
    assert getattr(resolve(overrides, {}), field) == expected


@pytest.mark.parametrize(
    ("broker", "field", "expected"),
    [
        ({"message.max.bytes": "7"}, "max_message_bytes", 7),
        ({"log.cleanup.policy": "compact"}, "is_compacted", True),
        ({"log.message.timestamp.type": "LogAppendTime"}, "is_log_append_time", True),
        ({"record.validation": "full"}, "validates_records", True),
        ({"log.retention.hours": "24"}, "retention_ms", 86_400_000),
        ({"log.retention.hours": "24", "log.retention.minutes": "1"}, "retention_ms", 60_000),
        ({"log.retention.minutes": "1", "log.retention.ms": "5"}, "retention_ms", 5),
        ({"log.retention.hours": "-1"}, "retention_ms", -1),
        ({"log.roll.hours": "1"}, "segment_ms", 3_600_000),
        ({"log.flush.scheduler.interval.ms": "3"}, "flush_ms", 3),
    ],
)
def test_broker_keys_supply_defaults(broker: dict[str, str], field: str, expected: object) -> None:
    assert getattr(resolve({}, broker), field) == expected


def test_an_override_goes_before_a_broker_key() -> None:
    assert resolve({"retention.ms": "7"}, {"log.retention.ms": "5"}).retention_ms == 7


def test_sources_are_listed_from_the_nearest_to_the_default() -> None:
    described = entry("retention.bytes", {"retention.bytes": "7"}, {"log.retention.bytes": "500"})

    assert described.value == "7"
    assert described.source == ConfigSource.DYNAMIC_TOPIC
    assert described.synonyms == (
        ("retention.bytes", "7", ConfigSource.DYNAMIC_TOPIC),
        ("log.retention.bytes", "500", ConfigSource.STATIC_BROKER),
        ("log.retention.bytes", "-1", ConfigSource.DEFAULT),
    )


def test_a_default_of_the_broker_has_the_broker_as_its_source() -> None:
    described = entry("retention.ms", broker={"log.retention.hours": "24"})

    assert (described.value, described.source) == ("86400000", ConfigSource.STATIC_BROKER)


def test_an_unknown_setting_is_refused_by_name() -> None:
    with pytest.raises(InvalidConfig, match=r"Unknown topic config name: nope\.nope"):
        validate("nope.nope", "1")
    with pytest.raises(InvalidConfig, match=r"nope\.nope"):
        resolve({"nope.nope": "1"}, {})


def test_lags_of_compaction_must_not_contradict() -> None:
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms \(100\)"):
        resolve({"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "50"}, {})


def test_tiered_storage_cannot_be_turned_on() -> None:
    with pytest.raises(InvalidConfig, match="tiered storage"):
        resolve({"remote.storage.enable": "true"}, {})


def test_append_adds_to_what_the_broker_supplies() -> None:
    broker = {"log.cleanup.policy": "delete"}

    assert appended("cleanup.policy", "compact", {}, broker) == "delete,compact"
    assert appended("cleanup.policy", "delete", {}, broker) == "delete"


def test_subtract_takes_away_what_is_there() -> None:
    overrides = {"cleanup.policy": "delete,compact"}

    assert subtracted("cleanup.policy", "delete", overrides, {}) == "compact"
    assert subtracted("cleanup.policy", "foo", overrides, {}) == "delete,compact"
    assert subtracted("cleanup.policy", "delete", {}, {}) == ""


def test_what_is_appended_is_checked() -> None:
    with pytest.raises(InvalidConfig, match="one of: compact, delete"):
        appended("cleanup.policy", "foo", {}, {})


def test_only_lists_are_appended_to() -> None:
    with pytest.raises(InvalidConfig, match=r"Can't APPEND to key retention\.ms"):
        appended("retention.ms", "5", {}, {})
    with pytest.raises(InvalidConfig, match=r"Can't SUBTRACT to key retention\.ms"):
        subtracted("retention.ms", "5", {}, {})


@given(st.sampled_from(sorted(TOPIC_SETTINGS)), st.text(max_size=12) | st.integers().map(str))
def test_any_text_is_refused_or_kept_in_a_text_that_stays(name: str, text: str) -> None:
    try:
        kept = validate(name, text)
    except InvalidConfig:
        return

    assert validate(name, kept) == kept
    assert entry(name, {name: kept}).value == kept


def test_types_have_the_numbers_of_the_protocol() -> None:
    assert [kind.value for kind in SettingType] == list(range(1, 10))

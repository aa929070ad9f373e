"""Parsing, bounds and canonical text, with the outcomes that Apache Kafka 4.4 gave."""

import re

import pytest

from minibroker.storage.settings import InvalidConfig, Setting, SettingType, canonical, milliseconds
from minibroker.storage.topic_settings import TOPIC_SETTINGS

ACCEPTED = [
    ("retention.ms", " 12 ", "12"),
    ("retention.ms", "+012", "12"),
    ("retention.ms", "-1", "-1"),
    ("retention.ms", "9223372036854775807", "9223372036854775807"),
    ("retention.bytes", "-3", "-3"),
    ("preallocate", " TRUE ", "true"),
    ("min.cleanable.dirty.ratio", ".7", "0.7"),
    ("min.cleanable.dirty.ratio", "1e-1", "0.1"),
    ("min.cleanable.dirty.ratio", "1", "1.0"),
    ("cleanup.policy", "delete,delete", "delete"),
    ("cleanup.policy", " compact , delete ", "compact,delete"),
    ("cleanup.policy", "", ""),
    ("compression.gzip.level", "-1", "-1"),
    ("compression.gzip.level", "9", "9"),
    ("compression.zstd.level", "-131072", "-131072"),
    ("segment.bytes", "1048576", "1048576"),
    ("follower.replication.throttled.replicas", "*", "*"),
    ("follower.replication.throttled.replicas", "0:1,1:2", "0:1,1:2"),
    ("compression.type", "uncompressed", "uncompressed"),
]

REFUSED = [
    ("retention.ms", "nonsense", "Not a number of type LONG"),
    ("retention.ms", "1.5", "Not a number of type LONG"),
    ("retention.ms", "1_000", "Not a number of type LONG"),
    ("retention.ms", "0x5", "Not a number of type LONG"),
    ("retention.ms", "", "Not a number of type LONG"),
    ("retention.ms", "9223372036854775808", "Not a number of type LONG"),
    ("retention.ms", "-2", "Value must be at least -1"),
    ("max.message.bytes", "2147483648", "Not a number of type INT"),
    ("max.message.bytes", "-2147483649", "Not a number of type INT"),
    ("max.message.bytes", "-1", "Value must be at least 0"),
    ("segment.bytes", "1048575", "Value must be at least 1048576"),
    ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
    ("compression.gzip.level", "10", "Value must be between 1 and 9 or equal to -1"),
    ("compression.lz4.level", "18", "Value must be no more than 17"),
    ("compression.zstd.level", "-131073", "Value must be at least -131072"),
    ("min.cleanable.dirty.ratio", "nonsense", "Not a number of type DOUBLE"),
    ("preallocate", "yes", "Expected value to be either true or false"),
    ("cleanup.policy", "compact,foo", "String must be one of: compact, delete"),
    ("message.timestamp.type", "createtime", "String must be one of: CreateTime, LogAppendTime"),
    (
        "compression.type",
        "",
        "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer",
    ),
]


@pytest.mark.parametrize(("name", "text", "kept"), ACCEPTED)
def test_a_value_is_kept_in_its_canonical_text(name: str, text: str, kept: str) -> None:
    assert canonical(TOPIC_SETTINGS[name], text) == kept


@pytest.mark.parametrize(("name", "text", "problem"), REFUSED)
def test_a_refusal_says_what_was_expected(name: str, text: str, problem: str) -> None:
    with pytest.raises(InvalidConfig, match=re.escape(problem)) as refusal:
        canonical(TOPIC_SETTINGS[name], text)

    assert name in str(refusal.value)
    assert refusal.value.problem == problem


def test_a_refusal_says_what_came() -> None:
    with pytest.raises(InvalidConfig) as refusal:
        canonical(TOPIC_SETTINGS["retention.ms"], "soon")

    assert str(refusal.value) == (
        "Invalid value soon for configuration retention.ms: Not a number of type LONG"
    )


def test_an_empty_item_of_a_list_is_refused() -> None:
    with pytest.raises(InvalidConfig, match="values must not be empty"):
        canonical(TOPIC_SETTINGS["cleanup.policy"], "delete,,compact")


def test_no_number_is_no_ratio() -> None:
    with pytest.raises(InvalidConfig, match="Not a number"):
        canonical(TOPIC_SETTINGS["min.cleanable.dirty.ratio"], "NaN")


@pytest.mark.parametrize("text", ["nonsense", "1", "0:", "0:1,", "*,0:1"])
def test_throttled_replicas_are_a_star_or_pairs(text: str) -> None:
    with pytest.raises(InvalidConfig):
        canonical(TOPIC_SETTINGS["leader.replication.throttled.replicas"], text)


@pytest.mark.parametrize(
    ("key", "value", "expected_ms"),
    [
        ("log.retention.ms", 5, 5),
        ("log.retention.minutes", 5, 300_000),
        ("log.retention.hours", 168, 604_800_000),
        ("log.retention.hours", -1, -1),
        ("log.retention.ms", -1, -1),
    ],
)
def test_a_key_names_its_unit(key: str, value: int, expected_ms: int) -> None:
    assert milliseconds(key, value) == expected_ms


def test_a_setting_without_effect_says_so() -> None:
    idle = Setting("a", SettingType.INT, "0", "Something.")
    active = Setting("a", SettingType.INT, "0", "Something.", has_effect=True)

    assert "no effect" in idle.documentation
    assert active.documentation == "Something."

"""The settings of one topic: checked, resolved to typed values, altered, described.

A value is the topic's own (an override), or that of the first of its broker keys that is set, or
the default. storage/topic_settings.py has the table.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from msgspec import Struct

from minibroker.protocol.compression import Codec

from .settings import (
    InvalidConfig,
    Setting,
    SettingType,
    Value,
    canonical,
    milliseconds,
    parse,
    text_of,
)
from .topic_settings import TOPIC_SETTINGS


class TopicConfig(Struct, frozen=True, gc=False):
    """What the rest of the broker reads of a topic's settings."""

    max_message_bytes: int
    codec: Codec | None  # None keeps each batch as it came (compression.type=producer)
    compression_level: int | None  # of that codec; None where it has no levels or its own default
    is_log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    is_compacted: bool
    deletes_old_segments: bool
    validates_records: bool
    requires_idempotence: bool
    retention_ms: int  # -1: for ever
    retention_bytes: int  # -1: no limit
    segment_bytes: int
    segment_ms: int
    index_interval_bytes: int
    flush_messages: int
    flush_ms: int
    delete_retention_ms: int
    min_compaction_lag_ms: int


class ConfigSource(IntEnum):
    """Where a value comes from, in DescribeConfigs's numbers."""

    DYNAMIC_TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5


class ConfigSynonym(NamedTuple):
    """One place that a value could come from."""

    name: str
    value: str
    source: ConfigSource


class ConfigEntry(Struct, frozen=True, gc=False):
    """One setting as DescribeConfigs shows it."""

    name: str
    value: str | None
    source: ConfigSource
    synonyms: tuple[ConfigSynonym, ...]
    type: SettingType
    documentation: str
    is_read_only: bool = False
    is_sensitive: bool = False


def validate(name: str, value: str) -> str:
    """The canonical text of a topic setting's value.

    Raises InvalidConfig if there is no such setting, or it does not take the value.
    """
    return canonical(_setting(name), value)


def resolve(overrides: Mapping[str, str], broker_defaults: Mapping[str, str]) -> TopicConfig:
    """The typed values of a topic with these overrides on a broker with these keys set.

    Raises InvalidConfig if one is wrong, or two contradict each other.
    """
    for name in overrides:
        _setting(name)
    values = _Values(overrides, broker_defaults)
    _check_together(values)
    policy = values.texts("cleanup.policy")
    codec = _codec(values.text("compression.type"))
    return TopicConfig(
        max_message_bytes=values.integer("max.message.bytes"),
        codec=codec,
        compression_level=_level(codec, values),
        is_log_append_time=values.text("message.timestamp.type") == "LogAppendTime",
        timestamp_before_max_ms=values.integer("message.timestamp.before.max.ms"),
        timestamp_after_max_ms=values.integer("message.timestamp.after.max.ms"),
        is_compacted="compact" in policy,
        deletes_old_segments="delete" in policy,
        validates_records=values.text("record.validation") == "full",
        requires_idempotence=values.text("require.idempotence") == "true",
        retention_ms=values.integer("retention.ms"),
        retention_bytes=values.integer("retention.bytes"),
        segment_bytes=values.integer("segment.bytes"),
        segment_ms=values.integer("segment.ms"),
        index_interval_bytes=values.integer("index.interval.bytes"),
        flush_messages=values.integer("flush.messages"),
        flush_ms=values.integer("flush.ms"),
        delete_retention_ms=values.integer("delete.retention.ms"),
        min_compaction_lag_ms=values.integer("min.compaction.lag.ms"),
    )


def appended(
    name: str, value: str, overrides: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> str:
    """What a list is set to when value is appended to it: what it has already is not repeated.

    Raises InvalidConfig if the setting is no list, or does not take the value.
    """
    current, added = _lists("APPEND", name, value, overrides, broker_defaults)
    return validate(name, ",".join(dict.fromkeys(current + added)))


def subtracted(
    name: str, value: str, overrides: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> str:
    """What a list is set to when value is taken from it: what it does not have is no mistake.

    Raises InvalidConfig if the setting is no list.
    """
    current, removed = _lists("SUBTRACT", name, value, overrides, broker_defaults)
    return validate(name, ",".join(item for item in current if item not in removed))


def describe(
    overrides: Mapping[str, str], broker_defaults: Mapping[str, str]
) -> tuple[ConfigEntry, ...]:
    """All settings of a topic, in the order of their names, with where their values come from."""
    values = _Values(overrides, broker_defaults)
    return tuple(_entry(setting, values) for _, setting in sorted(TOPIC_SETTINGS.items()))


class _Values(NamedTuple):
    """A topic's settings before they are resolved."""

    overrides: Mapping[str, str]
    broker_defaults: Mapping[str, str]

    def value(self, name: str) -> Value:
        """Typed, with periods in milliseconds whatever the unit of the key they come from."""
        setting = TOPIC_SETTINGS[name]
        override = self.overrides.get(name)
        if override is not None:
            return parse(setting, override)
        for key in setting.broker_keys:
            default = self.broker_defaults.get(key)
            if default is not None:
                value = parse(setting, default)
                return milliseconds(key, value) if isinstance(value, int) else value
        return parse(setting, setting.default or "")

    def text(self, name: str) -> str:
        return text_of(self.value(name))

    def integer(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int):
            raise TypeError(f"{name} is no number")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.value(name)
        if not isinstance(value, tuple):
            raise TypeError(f"{name} is no list")
        return value


def _setting(name: str) -> Setting:
    setting = TOPIC_SETTINGS.get(name)
    if setting is None:
        raise InvalidConfig(f"Unknown topic config name: {name}")
    return setting


def _check_together(values: _Values) -> None:
    low, high = values.integer("min.compaction.lag.ms"), values.integer("max.compaction.lag.ms")
    if low > high:
        raise InvalidConfig(
            f"min.compaction.lag.ms ({low}) must not be above max.compaction.lag.ms ({high})"
        )
    if values.value("remote.storage.enable"):
        raise InvalidConfig(
            "remote.storage.enable must be false: this broker has no tiered storage"
        )


def _codec(compression_type: str) -> Codec | None:
    if compression_type == "producer":
        return None
    if compression_type == "uncompressed":
        return Codec.NONE
    return Codec[compression_type.upper()]


def _level(codec: Codec | None, values: _Values) -> int | None:
    match codec:
        case Codec.GZIP:
            level = values.integer("compression.gzip.level")
            return None if level == -1 else level
        case Codec.LZ4:
            return values.integer("compression.lz4.level")
        case Codec.ZSTD:
            return values.integer("compression.zstd.level")
        case _:
            return None


def _lists(
    operation: str,
    name: str,
    value: str,
    overrides: Mapping[str, str],
    broker_defaults: Mapping[str, str],
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if _setting(name).type is not SettingType.LIST:
        raise InvalidConfig(f"Can't {operation} to key {name} because its type is not LIST.")
    current = _Values(overrides, broker_defaults).texts(name)
    return current, tuple(item.strip() for item in value.split(",") if item.strip())


def _entry(setting: Setting, values: _Values) -> ConfigEntry:
    synonyms = tuple(_synonyms(setting, values))
    return ConfigEntry(
        name=setting.name,
        value=values.text(setting.name),
        source=synonyms[0].source if synonyms else ConfigSource.DEFAULT,
        synonyms=synonyms,
        type=setting.type,
        documentation=setting.documentation,
    )


def _synonyms(setting: Setting, values: _Values) -> Iterator[ConfigSynonym]:
    override = values.overrides.get(setting.name)
    if override is not None:
        yield ConfigSynonym(setting.name, override, ConfigSource.DYNAMIC_TOPIC)
    for key in setting.broker_keys:
        if key in values.broker_defaults:
            yield ConfigSynonym(key, values.broker_defaults[key], ConfigSource.STATIC_BROKER)
    # As Kafka: where several keys with units of their own compete, none of them has the default.
    if len(setting.broker_keys) == 1 and setting.default is not None:
        yield ConfigSynonym(setting.broker_keys[0], setting.default, ConfigSource.DEFAULT)

"""What DescribeConfigs says of this broker: the keys of our table, with their sources."""

from collections.abc import Iterator

from minibroker.storage.settings import Setting
from minibroker.storage.topic_config import ConfigEntry, ConfigSource, ConfigSynonym

from .broker_keys import BROKER_SETTINGS
from .config import Config
from .listeners import Listener


def describe_broker(config: Config) -> tuple[ConfigEntry, ...]:
    """All broker keys that we know, in the order of their names."""
    effective = {
        "node.id": str(config.node_id),
        "broker.id": str(config.node_id),
        "memory.limit": str(config.memory_limit_bytes),
        "listeners": ",".join(_listening(listener) for listener in config.listeners),
        "advertised.listeners": ",".join(_advertised(listener) for listener in config.listeners),
    }
    return tuple(
        _entry(setting, config.settings.get(name), effective.get(name))
        for name, setting in sorted(BROKER_SETTINGS.items())
    )


def _entry(setting: Setting, given: str | None, effective: str | None) -> ConfigEntry:
    value = effective if effective is not None else given
    is_given = given is not None
    return ConfigEntry(
        name=setting.name,
        value=setting.default if value is None else value,
        source=ConfigSource.STATIC_BROKER if is_given else ConfigSource.DEFAULT,
        synonyms=tuple(_synonyms(setting, given)),
        type=setting.type,
        documentation=setting.documentation,
        is_read_only=True,
    )


def _synonyms(setting: Setting, given: str | None) -> Iterator[ConfigSynonym]:
    if given is not None:
        yield ConfigSynonym(setting.name, given, ConfigSource.STATIC_BROKER)
    if setting.default is not None:
        yield ConfigSynonym(setting.name, setting.default, ConfigSource.DEFAULT)


def _listening(listener: Listener) -> str:
    return f"{listener.name}://{_place(listener.host, listener.port)}"


def _advertised(listener: Listener) -> str:
    return f"{listener.name}://{_place(listener.advertised_host, listener.advertised_port)}"


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

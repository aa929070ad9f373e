"""What the broker is told at its start: one frozen value, made by one loader.

Precedence: command line > environment > file > default. Names and rules are in README.md.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from minibroker.storage.settings import LARGEST_INT, LARGEST_LONG, InvalidConfig, canonical
from minibroker.storage.topic_names import name_problem

from .broker_keys import BROKER_SETTINGS, TOPIC_DEFAULTS
from .config_sources import (
    FLAGS,
    ConfigError,
    Given,
    Option,
    from_command_line,
    from_environment,
    from_file,
    from_keywords,
    merge,
    nearest,
)
from .listeners import Listener, listeners_of, wildcard_warning
from .memory_limit import bytes_of, default_memory_limit

__all__ = ["Config", "ConfigError", "FsyncPolicy", "Listener", "Loaded", "TopicAtStart", "load"]

_LOG_FORMATS = ("text", "json")
_LOG_LEVELS = ("debug", "info", "warning", "error", "critical")
_LARGEST_PARTITION_COUNT = 100_000


class FsyncPolicy(Struct, frozen=True, gc=False):
    """When an append counts as done: os, group or interval (spec: durability policies)."""

    kind: str
    interval_ms: int = 0


class TopicAtStart(Struct, frozen=True, gc=False):
    """A topic that exists when the broker is ready."""

    name: str
    partitions: int | None  # None: num.partitions


class Config(Struct, frozen=True, gc=False):
    """Everything that the broker is told."""

    listeners: tuple[Listener, ...]
    topics: tuple[TopicAtStart, ...]
    data: str | None  # None: the log is in memory
    fsync: FsyncPolicy
    memory_limit_bytes: int
    first_producer_id: int | None  # None: the broker chooses
    log_format: str
    log_level: str
    node_id: int
    rack: str | None
    auto_creates_topics: bool
    deletes_topics: bool
    num_partitions: int
    default_replication_factor: int
    max_replication_factor: int
    max_connections: int
    connections_max_idle_ms: int  # negative: never
    queued_max_request_bytes: int
    socket_request_max_bytes: int
    fetch_max_bytes: int
    max_producers_per_partition: int
    producer_gap_timeout_ms: int
    producer_id_expiration_ms: int
    settings: Mapping[str, str]  # all broker keys that were set, in canonical text
    broker_defaults: Mapping[str, str]  # those of them that supply the defaults of topics

    @staticmethod
    def of(**options: Option) -> "Config":
        """A Config from keyword arguments: flags (memory_limit="64MiB", topics=["a", "b:3"]) and
        broker keys (num_partitions=4, or settings={"num.partitions": 4}). The port is 0 by default.

        The environment is not looked at: a test is not to depend on it.
        Raises ConfigError if an option is unknown or wrong.
        """
        any_port = Given("--port", "0", "port=0")
        return _built(merge({any_port.option: any_port}, _by_option(from_keywords(options))))


class Loaded(NamedTuple):
    """A Config, and what its user ought to know about it."""

    config: Config
    warnings: tuple[str, ...]


def load(
    flags: Mapping[str, str | Sequence[str] | None],
    set_pairs: Sequence[str],
    config_file: str | None,
    environ: Mapping[str, str],
) -> Loaded:
    """The configuration of a broker process.

    What is unusable in the environment is left out with a warning: a Kubernetes service called
    minibroker sets MINIBROKER_PORT=tcp://... and nobody meant it for us.
    Raises ConfigError if anything else is unknown or wrong.
    """
    command_line = _by_option(from_command_line(flags, set_pairs))
    environment = _by_option(from_environment(environ))
    file, ignored = _file_options(config_file, environ.get("MINIBROKER_CONFIG"))
    while True:
        try:
            options = merge(file, environment, command_line)
            config = _built(options)
        except ConfigError as error:
            unusable = [given for given in error.causes if given.is_from_environment]
            if not unusable:
                raise
            for given in unusable:
                ignored.append(f"{given.shown} ({error.problem})")
                del environment[given.option]
        else:
            return Loaded(config, tuple(_warnings(config, options, ignored)))


def _file_options(
    config_file: str | None, variable: str | None
) -> tuple[dict[str, Given], list[str]]:
    if config_file:
        return _by_option(from_file(config_file)), []
    try:
        return _by_option(from_file(variable)) if variable else {}, []
    except ConfigError as error:
        return {}, [f"MINIBROKER_CONFIG ({error})"]


def _by_option(given: Iterable[Given]) -> dict[str, Given]:
    return {one.option: one for one in given}


def _warnings(
    config: Config, options: Mapping[str, Given], ignored: Sequence[str]
) -> Iterator[str]:
    if ignored:
        yield f"ignored in the environment: {', '.join(ignored)}"
    idle = sorted(option for option in options if not _has_effect(option))
    if idle:
        yield f"no effect in this release: {', '.join(idle)}"
    wildcard = wildcard_warning(config.listeners)
    if wildcard:
        yield wildcard


def _has_effect(option: str) -> bool:
    setting = BROKER_SETTINGS.get(option)
    return option.startswith("--") or (setting is not None and setting.has_effect)


def _built(options: Mapping[str, Given]) -> Config:
    settings = dict(_checked_settings(options))
    integer, boolean = _integer_reader(settings), _boolean_reader(settings)
    _check_replication(options, integer)
    _refuse_data(options.get("--data"))
    memory_limit = settings.get("memory.limit")
    return Config(
        listeners=listeners_of(options),
        topics=_topics(options.get("--topic")),
        data=None,
        fsync=_fsync(options.get("--fsync")),
        memory_limit_bytes=int(memory_limit) if memory_limit else default_memory_limit(),
        first_producer_id=_first_producer_id(options.get("--first-producer-id")),
        log_format=_choice(options.get("--log-format"), "text", _LOG_FORMATS),
        log_level=_choice(options.get("--log-level"), "info", _LOG_LEVELS),
        node_id=_node_id(settings),
        rack=settings.get("broker.rack"),
        auto_creates_topics=boolean("auto.create.topics.enable"),
        deletes_topics=boolean("delete.topic.enable"),
        num_partitions=integer("num.partitions"),
        default_replication_factor=integer("default.replication.factor"),
        max_replication_factor=integer("minibroker.max.replication.factor"),
        max_connections=integer("max.connections"),
        connections_max_idle_ms=integer("connections.max.idle.ms"),
        queued_max_request_bytes=integer("queued.max.request.bytes"),
        socket_request_max_bytes=integer("socket.request.max.bytes"),
        fetch_max_bytes=integer("fetch.max.bytes"),
        max_producers_per_partition=integer("max.producers.per.partition"),
        producer_gap_timeout_ms=integer("producer.gap.timeout.ms"),
        producer_id_expiration_ms=integer("producer.id.expiration.ms"),
        settings=settings,
        broker_defaults={k: text for k, text in settings.items() if k in TOPIC_DEFAULTS},
    )


def _checked_settings(options: Mapping[str, Given]) -> Iterator[tuple[str, str]]:
    """The broker keys of our table that were set, in canonical text."""
    for option, given in options.items():
        setting = BROKER_SETTINGS.get(option)
        if setting is not None:
            try:
                yield option, canonical(setting, _without_unit(given))
            except InvalidConfig as error:
                problem = error.problem[0].lower() + error.problem[1:]
                raise ConfigError(problem, given) from error
        elif not option.startswith("--"):
            _check_kafka_knows(given)


def _without_unit(given: Given) -> str:
    """The text, with 64MiB written out where the key is one of bytes."""
    is_number = given.text.strip().lstrip("+-").isdigit()
    if is_number or not given.option.endswith((".bytes", "memory.limit")):
        return given.text
    size_bytes = bytes_of(given.text)
    if size_bytes is None:
        raise ConfigError("expected a size such as 1048576, 512MiB or 2GiB", given)
    return str(size_bytes)


def _check_kafka_knows(given: Given) -> None:
    from .kafka_keys import NAMES

    key = given.option
    if key in NAMES or key.startswith("listener.name."):
        return
    if given.is_from_environment:
        raise ConfigError("unknown", given)
    known = (*FLAGS, *BROKER_SETTINGS, *NAMES)
    raise ConfigError("neither Kafka nor minibroker knows this" + nearest(key, known), given)


def _check_replication(options: Mapping[str, Given], integer: Callable[[str], int]) -> None:
    largest = integer("minibroker.max.replication.factor")
    given = options.get("default.replication.factor")
    if given is not None and integer(given.option) > largest:
        raise ConfigError(
            f"above minibroker.max.replication.factor ({largest}); raise that or leave this out",
            given,
        )


def _integer_reader(settings: Mapping[str, str]) -> Callable[[str], int]:
    return lambda key: int(settings.get(key) or BROKER_SETTINGS[key].default or 0)


def _boolean_reader(settings: Mapping[str, str]) -> Callable[[str], bool]:
    return lambda key: (settings.get(key) or BROKER_SETTINGS[key].default) == "true"


def _node_id(settings: Mapping[str, str]) -> int:
    broker_id = settings.get("broker.id", "-1")
    fallback = broker_id if broker_id != "-1" else "0"
    return int(settings.get("node.id", fallback))


def _refuse_data(given: Given | None) -> None:
    if given is not None:
        raise ConfigError(
            "segment files come with the next release; leave it out to keep the log in memory",
            given,
        )


def _fsync(given: Given | None) -> FsyncPolicy:
    if given is None:
        return FsyncPolicy("group")
    kind, colon, interval = given.text.partition(":")
    if kind in ("os", "group") and not colon:
        return FsyncPolicy(kind)
    interval_ms = _number(interval, 1, LARGEST_INT)
    if kind != "interval" or interval_ms is None:
        raise ConfigError("expected os, group or interval:MS", given)
    return FsyncPolicy(kind, interval_ms)


def _topics(given: Given | None) -> tuple[TopicAtStart, ...]:
    if given is None:
        return ()
    topics = tuple(_topic(text.strip(), given) for text in given.text.split(","))
    if len({topic.name for topic in topics}) < len(topics):
        raise ConfigError("a topic is named twice", given)
    return topics


def _topic(text: str, given: Given) -> TopicAtStart:
    name, colon, count = text.partition(":")
    partitions = _number(count, 1, _LARGEST_PARTITION_COUNT) if colon else None
    if colon and partitions is None:
        raise ConfigError(
            f"expected NAME:PARTITIONS, with 1 to {_LARGEST_PARTITION_COUNT} partitions", given
        )
    problem = name_problem(name)
    if problem:
        raise ConfigError(problem, given)
    return TopicAtStart(name, partitions)


def _first_producer_id(given: Given | None) -> int | None:
    if given is None:
        return None
    producer_id = _number(given.text, 0, LARGEST_LONG)
    if producer_id is None:
        raise ConfigError("expected a number, 0 or more", given)
    return producer_id


def _choice(given: Given | None, default: str, choices: tuple[str, ...]) -> str:
    if given is None:
        return default
    word = given.text.strip().lower()
    if word not in choices:
        raise ConfigError(f"expected one of {', '.join(choices)}", given)
    return word


def _number(text: str, low: int, high: int) -> int | None:
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        return None
    return int(text) if low <= int(text) <= high else None

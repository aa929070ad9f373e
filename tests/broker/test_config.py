"""From flags, files, variables and keywords to one Config: precedence, defaults, refusals."""

from pathlib import Path

import pytest

from minibroker.config import Config, ConfigError, FsyncPolicy, Loaded, TopicAtStart, load
from minibroker.listeners import Listener
from minibroker.memory_limit import bytes_of, default_memory_limit


def loaded(
    *set_pairs: str,
    flags: dict[str, str | tuple[str, ...]] | None = None,
    file: str | None = None,
    environ: dict[str, str] | None = None,
) -> Loaded:
    return load(flags or {}, set_pairs, file, environ or {})


def refusal(*set_pairs: str, **flags: str) -> str:
    with pytest.raises(ConfigError) as refused:
        loaded(*set_pairs, flags={name.replace("_", "-"): text for name, text in flags.items()})
    return str(refused.value)


def written(tmp_path: Path, content: str) -> str:
    path = tmp_path / "broker.toml"
    path.write_text(content)
    return str(path)


def test_nothing_said_gives_the_documented_defaults() -> None:
    config, warnings = loaded()

    assert config.listeners == (Listener("PLAINTEXT", "localhost", 9092, "localhost", 9092),)
    assert config.data is None
    assert config.fsync == FsyncPolicy("group")
    assert config.num_partitions == 1
    assert config.auto_creates_topics
    assert config.max_connections == 10_000
    assert config.queued_max_request_bytes == 256 * 2**20
    assert config.producer_id_expiration_ms == 86_400_000
    assert config.producer_gap_timeout_ms == 300_000
    assert config.max_producers_per_partition == 100_000
    assert config.max_replication_factor == 1
    assert config.first_producer_id is None
    assert (config.log_format, config.log_level) == ("text", "info")
    assert config.memory_limit_bytes == default_memory_limit() <= 2 * 2**30
    assert config.settings == config.broker_defaults == {}
    assert warnings == ()


def test_precedence_is_command_line_environment_file_default(tmp_path: Path) -> None:
    file = written(tmp_path, 'kafka."num.partitions" = 2\nkafka."max.connections" = 2\nport = 2')
    environ = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_MAX_CONNECTIONS": "3"}

    everything, _ = loaded("num.partitions=4", file=file, environ=environ)
    without_command_line, _ = loaded(file=file, environ=environ)
    file_alone, _ = loaded(file=file)

    assert (everything.num_partitions, everything.max_connections) == (4, 3)
    assert without_command_line.num_partitions == 3
    assert file_alone.num_partitions == 2
    assert everything.listeners[0].port == 2


def test_the_last_of_two_pairs_with_one_key_counts() -> None:
    assert loaded("num.partitions=2", "num.partitions=5").config.num_partitions == 5


def test_a_flag_above_puts_listeners_below_out_of_force() -> None:
    environ = {"KAFKA_LISTENERS": "A://localhost:1,B://localhost:2"}

    config, warnings = loaded(flags={"port": "7"}, environ=environ)

    assert [(one.name, one.port) for one in config.listeners] == [("PLAINTEXT", 7)]
    assert warnings == ()


def test_listeners_above_put_a_port_below_out_of_force() -> None:
    config, _ = loaded("listeners=A://localhost:1", environ={"MINIBROKER_PORT": "7"})

    assert [(one.name, one.port) for one in config.listeners] == [("A", 1)]


def test_one_source_must_not_say_it_in_two_ways() -> None:
    line = refusal("listeners=A://localhost:1", port="7")

    assert "--port 7" in line
    assert "leave out one" in line


def test_a_file_has_flags_and_keys_quoted_or_nested(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """
        host = "127.0.0.1"
        memory-limit = "64MiB"
        topic = ["a:3", "b"]
        [kafka]
        "auto.create.topics.enable" = false
        num.partitions = 6
        [kafka.log.message.timestamp]
        type = "LogAppendTime"
        """,
    )

    config, warnings = loaded(file=file)

    assert config.listeners[0].host == "127.0.0.1"
    assert config.memory_limit_bytes == 64 * 2**20
    assert config.topics == (TopicAtStart("a", 3), TopicAtStart("b", None))
    assert not config.auto_creates_topics
    assert config.num_partitions == 6
    assert config.broker_defaults == {"log.message.timestamp.type": "LogAppendTime"}
    assert warnings == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("prot = 1", "did you mean port?"),
        ('"num.partitions" = 1', r"go under [kafka]"),
        ('kafka."num.partition" = 1', "did you mean num.partitions?"),
        ("port = 'x'", "expected a port"),
        ("port", "not TOML"),
    ],
)
def test_a_mistake_in_a_file_is_refused_with_its_path(
    tmp_path: Path, content: str, expected: str
) -> None:
    file = written(tmp_path, content)

    with pytest.raises(ConfigError) as refused:
        loaded(file=file)

    assert expected in str(refused.value)
    assert file in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"/nope\.toml: No such file.*--config"):
        loaded(file="/nope.toml")


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("num.partition=1", "did you mean num.partitions?"),
        ("memory.limt=1MiB", "did you mean memory.limit?"),
        ("memory.limit=2", "value must be at least 1048576"),
        ("memory.limit=64MB", "a size such as"),
        ("num.partitions=0", "value must be at least 1"),
        ("num.partitions", "expected KEY=VALUE"),
        ("=1", "neither"),
        ("port=1", "neither"),
        ("record.validation=some", "one of: header, full"),
        ("producer.id.expiration.ms=599999", "value must be at least 600000"),
        ("auto.create.topics.enable=1", "either true or false"),
        ("default.replication.factor=3", "above minibroker.max.replication.factor (1)"),
        ("max.message.bytes=1", "did you mean message.max.bytes?"),
    ],
)
def test_a_pair_that_is_wrong_is_refused_in_one_line_that_quotes_it(
    pair: str, expected: str
) -> None:
    line = refusal(pair)

    assert line.startswith(f"--set {pair}: ")
    assert expected in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("flag", "text", "expected"),
    [
        ("port", "65536", "expected a port, 0 to 65535"),
        ("port", "-1", "expected a port"),
        ("port", "", "expected a port"),
        ("host", "http://x", "the name or the address of a host"),
        ("host", "", "the name or the address of a host"),
        ("advertised", "9092", "expected HOST:PORT"),
        ("advertised", "h:0", "that they can connect to"),
        ("advertised", "0.0.0.0:1", "that they can connect to"),
        ("data", "./x", "leave it out to keep the log in memory"),
        ("fsync", "always", "expected os, group or interval:MS"),
        ("fsync", "os:3", "expected os, group or interval:MS"),
        ("fsync", "interval:0", "expected os, group or interval:MS"),
        ("topic", "a/b", "only letters"),
        ("topic", "a:0", "expected NAME:PARTITIONS"),
        ("topic", "a:", "expected NAME:PARTITIONS"),
        ("topic", "a:9999999", "expected NAME:PARTITIONS"),
        ("topic", "a,a:2", "named twice"),
        ("first_producer_id", "-1", "a number, 0 or more"),
        ("log_format", "xml", "one of text, json"),
        ("log_level", "loud", "one of debug, info"),
    ],
)
def test_a_flag_that_is_wrong_is_refused_in_one_line_that_quotes_it(
    flag: str, text: str, expected: str
) -> None:
    line = refusal(**{flag: text})

    assert line.startswith(f"--{flag.replace('_', '-')} {text}: ")
    assert expected in line


def test_flags_are_read() -> None:
    flags: dict[str, str | tuple[str, ...]] = {
        "fsync": "interval:50",
        "memory-limit": "2 MiB",
        "topic": ("a:3", "b"),
        "first-producer-id": "0",
        "log-format": "json",
        "log-level": "DEBUG",
    }

    config, _ = loaded(flags=flags)

    assert config.fsync == FsyncPolicy("interval", 50)
    assert config.memory_limit_bytes == 2 * 2**20
    assert config.topics == (TopicAtStart("a", 3), TopicAtStart("b", None))
    assert config.first_producer_id == 0
    assert (config.log_format, config.log_level) == ("json", "debug")


def test_keys_of_bytes_take_units() -> None:
    config, _ = loaded("message.max.bytes=2MiB", "socket.request.max.bytes=1GiB")

    assert config.broker_defaults == {"message.max.bytes": "2097152"}
    assert config.socket_request_max_bytes == 2**30


def test_the_older_name_of_the_node_id_counts_where_the_newer_is_not_set() -> None:
    assert loaded("broker.id=3").config.node_id == 3
    assert loaded("broker.id=3", "node.id=4").config.node_id == 4
    assert loaded("broker.id=-1").config.node_id == 0


def test_a_larger_replication_factor_may_be_allowed() -> None:
    config, _ = loaded("default.replication.factor=3", "minibroker.max.replication.factor=3")

    assert (config.default_replication_factor, config.max_replication_factor) == (3, 3)


def test_keys_of_kafka_without_effect_get_one_warning() -> None:
    _, warnings = loaded("log.dirs=/x", "num.io.threads=3", "ssl.key.password=secret")

    (warning,) = warnings
    assert warning == "no effect in this release: log.dirs, num.io.threads, ssl.key.password"


def test_keywords_are_flags_and_keys_and_the_port_is_free() -> None:
    config = Config.of(
        num_partitions=4,
        memory_limit="64MiB",
        topics=["a", "b:3"],
        auto_create_topics_enable=False,
        settings={"log.retention.hours": 3},
        log_level=None,
    )

    assert config.listeners == (Listener("PLAINTEXT", "localhost", 0, "localhost", 0),)
    assert config.num_partitions == 4
    assert config.memory_limit_bytes == 64 * 2**20
    assert config.topics == (TopicAtStart("a", None), TopicAtStart("b", 3))
    assert not config.auto_creates_topics
    assert config.broker_defaults == {"log.retention.hours": "3"}


def test_keywords_may_name_a_port_or_listeners() -> None:
    assert Config.of(port=7).listeners[0].port == 7
    assert Config.of(listeners="A://localhost:1").listeners[0].name == "A"


@pytest.mark.parametrize(
    ("keyword", "value", "expected"),
    [
        ("num_partition", 4, "num_partition='4': .* did you mean num.partitions"),
        ("port", "x", "port='x': expected a port"),
        ("num_partitions", 0, "num_partitions='0': value must be at least 1"),
        ("settings", {"num.partition": 1}, r"settings\['num.partition'\]='1': .*num.partitions"),
    ],
)
def test_a_keyword_that_is_wrong_is_refused(
    keyword: str, value: str | int | dict[str, str | int | float], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        Config.of(**{keyword: value})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1048576", 2**20),
        ("512MiB", 512 * 2**20),
        ("2 gib", 2**31),
        ("1KiB", 1024),
        ("1MB", None),
        ("MiB", None),
        ("-1", None),
        ("1.5GiB", None),
        ("max", None),
        ("9" * 30, None),
    ],
)
def test_sizes_take_binary_units(text: str, expected: int | None) -> None:
    assert bytes_of(text) == expected

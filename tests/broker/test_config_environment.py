"""Variables: what counts, what is left out with one warning, and that nothing is ever refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibroker.config import Loaded, load

KUBERNETES_SERVICE = {
    "MINIBROKER_PORT": "tcp://10.96.0.7:9092",
    "MINIBROKER_PORT_9092_TCP": "tcp://10.96.0.7:9092",
    "MINIBROKER_PORT_9092_TCP_ADDR": "10.96.0.7",
    "MINIBROKER_SERVICE_HOST": "10.96.0.7",
    "MINIBROKER_SERVICE_PORT": "9092",
}


def loaded(environ: dict[str, str]) -> Loaded:
    return load({}, (), None, environ)


def test_variables_give_flags() -> None:
    config, warnings = loaded(
        {
            "MINIBROKER_HOST": "127.0.0.1",
            "MINIBROKER_PORT": "7",
            "MINIBROKER_MEMORY_LIMIT": "64MiB",
            "MINIBROKER_TOPIC": "a:2,b",
            "MINIBROKER_FIRST_PRODUCER_ID": "5",
            "MINIBROKER_SET": "num.partitions=3 node.id=9",
        }
    )

    assert (config.listeners[0].host, config.listeners[0].port) == ("127.0.0.1", 7)
    assert config.memory_limit_bytes == 64 * 2**20
    assert [topic.name for topic in config.topics] == ["a", "b"]
    assert config.first_producer_id == 5
    assert (config.num_partitions, config.node_id) == (3, 9)
    assert warnings == ()


def test_keys_are_spelled_as_the_official_image_does() -> None:
    config, warnings = loaded(
        {
            "KAFKA_NUM_PARTITIONS": "3",
            "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
            "KAFKA_LISTENER_NAME_MY__OWN_SASL_ENABLED_MECHANISMS": "x",
            "KAFKA_LISTENER_NAME_A___B_SSL_KEYSTORE_TYPE": "x",
        }
    )

    assert config.num_partitions == 3
    assert not config.auto_creates_topics
    assert warnings == (
        "no effect in this release: listener.name.a-b.ssl.keystore.type, "
        "listener.name.my_own.sasl.enabled.mechanisms",
    )


def test_a_kubernetes_service_called_minibroker_costs_one_warning() -> None:
    config, warnings = loaded(KUBERNETES_SERVICE)

    (warning,) = warnings
    assert config.listeners[0].port == 9092
    assert warning.startswith("ignored in the environment: ")
    assert all(name in warning for name in KUBERNETES_SERVICE)


def test_a_kubernetes_service_called_kafka_sets_no_flag() -> None:
    config, warnings = loaded({"KAFKA_PORT": "7", "KAFKA_HOST": "x", "KAFKA_TOPIC": "t"})

    assert (config.listeners[0].host, config.listeners[0].port) == ("localhost", 9092)
    assert config.topics == ()
    assert len(warnings) == 1


@pytest.mark.parametrize(
    "environ",
    [
        {"MINIBROKER_DATA": "/data"},
        {"MINIBROKER_FSYNC": "always"},
        {"MINIBROKER_SET": "num.partitions"},
        {"MINIBROKER_SET": "nope=1"},
        {"MINIBROKER_CONFIG": "/nope.toml"},
        {"MINIBROKER_LISTENERS": "A://localhost:1"},
        {"KAFKA_NUM_PARTITIONS": "many"},
        {"KAFKA_LISTENERS": "SSL://localhost:1"},
        {"KAFKA_LISTENERS": "nonsense"},
        {"KAFKA_ADVERTISED_LISTENERS": "NOBODY://localhost:1"},
        {"KAFKA_HEAP_OPTS": "-Xmx1g"},
        {"KAFKA_DEFAULT_REPLICATION_FACTOR": "3"},
        {"KAFKA_LISTENERS": "A://localhost:1", "MINIBROKER_PORT": "7"},
    ],
)
def test_what_is_unusable_is_left_out_with_one_warning(environ: dict[str, str]) -> None:
    config, warnings = loaded(environ)
    plain, _ = loaded({})

    (warning,) = warnings
    assert config == plain
    assert all(name in warning for name in environ)


def test_a_warning_does_not_repeat_what_may_be_a_secret() -> None:
    _, warnings = loaded({"KAFKA_PASSWORD": "hunter2", "KAFKA_NODE_ID": "hunter2"})

    assert "hunter2" not in "".join(warnings)


def test_empty_variables_and_those_of_others_are_nothing() -> None:
    _, warnings = loaded(
        {"MINIBROKER_PORT": "", "KAFKA_": "x", "KAFKAESQUE": "x", "PATH": "/", "MINIBROKER_": "x"}
    )

    assert warnings == ()


def test_the_command_line_is_refused_even_if_the_environment_is_wrong_too() -> None:
    with pytest.raises(Exception, match="--set num"):
        load({}, ("num.partitions=0",), None, KUBERNETES_SERVICE)


def test_a_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    path = tmp_path / "broker.toml"
    path.write_text("port = 7")

    assert loaded({"MINIBROKER_CONFIG": str(path)}).config.listeners[0].port == 7


NAMES = st.sampled_from(
    ["PORT", "HOST", "SET", "LISTENERS", "ADVERTISED_LISTENERS", "NODE_ID", "MEMORY_LIMIT"]
)
VARIABLES = st.builds("_".join, st.tuples(st.sampled_from(["MINIBROKER", "KAFKA"]), NAMES))
TEXTS = st.text(max_size=20) | st.sampled_from(["A://h:1", "A://h:1,B://h:2", "7", "SSL://:1", "="])


@given(st.dictionaries(VARIABLES, TEXTS, max_size=4))
def test_no_environment_keeps_the_broker_from_starting(environ: dict[str, str]) -> None:
    config, warnings = loaded(environ)

    assert config.listeners
    assert len([one for one in warnings if one.startswith("ignored")]) <= 1

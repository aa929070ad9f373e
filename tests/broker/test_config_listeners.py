"""Kafka's listener syntax, and what clients are told."""

import pytest

from minibroker.config import ConfigError, load
from minibroker.listeners import Listener, address

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - nothing is bound here


def listeners(*set_pairs: str, **flags: str) -> tuple[Listener, ...]:
    return load(flags, set_pairs, None, {}).config.listeners


def test_two_listeners_have_an_advertised_address_each() -> None:
    assert listeners(
        f"listeners=HOST://{EVERY_ADDRESS}:9092,DOCKER://{EVERY_ADDRESS}:29092",
        "advertised.listeners=DOCKER://broker:29092, HOST://localhost:9092",
    ) == (
        Listener("HOST", EVERY_ADDRESS, 9092, "localhost", 9092),
        Listener("DOCKER", EVERY_ADDRESS, 29092, "broker", 29092),
    )


def test_what_is_not_advertised_is_told_as_it_is() -> None:
    assert listeners("listeners=A://127.0.0.1:1,B://[::1]:2", "advertised.listeners=B://b:3") == (
        Listener("A", "127.0.0.1", 1, "127.0.0.1", 1),
        Listener("B", "::1", 2, "b", 3),
    )


def test_flags_give_one_listener() -> None:
    assert listeners(host="::1", port="0") == (Listener("PLAINTEXT", "::1", 0, "::1", 0),)
    assert listeners(host="[::1]")[0].host == "::1"
    assert listeners(advertised="broker:29092") == (
        Listener("PLAINTEXT", "localhost", 9092, "broker", 29092),
    )


def test_an_advertised_flag_goes_with_a_single_listener_of_any_name() -> None:
    (listener,) = listeners("listeners=HOST://localhost:1", advertised="h:2")

    assert (listener.advertised_host, listener.advertised_port) == ("h", 2)


def test_a_listener_without_host_is_on_every_address() -> None:
    (listener,) = listeners("listeners=PLAINTEXT://:9092")

    assert (listener.host, listener.advertised_host) == (EVERY_ADDRESS, "localhost")


@pytest.mark.parametrize("host", [EVERY_ADDRESS, "::"])
def test_every_address_without_an_advertised_one_is_warned_of(host: str) -> None:
    _, warnings = load({"host": host}, (), None, {})
    _, advertised = load({"host": host, "advertised": "h:1"}, (), None, {})

    (warning,) = warnings
    assert "--advertised HOST:PORT" in warning
    assert advertised == ()


def test_the_listeners_of_a_controller_are_left_out() -> None:
    (listener,) = listeners(
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093",
        "advertised.listeners=PLAINTEXT://h:9092,CONTROLLER://h:9093",
        "controller.listener.names=CONTROLLER",
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    )

    assert (listener.name, listener.advertised_host) == ("PLAINTEXT", "h")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (("listeners=localhost:9092",), "expected NAME://HOST:PORT, got 'localhost:9092'"),
        (("listeners=A://localhost",), "expected NAME://HOST:PORT"),
        (("listeners=A://localhost:99999",), "expected NAME://HOST:PORT"),
        (("listeners=A://::1:9092",), "expected NAME://HOST:PORT"),
        (("listeners=://h:1",), "expected NAME://HOST:PORT"),
        (("listeners=",), "expected NAME://HOST:PORT"),
        (("listeners=A://h:1,a://h:2",), "a name of its own"),
        (("listeners=A://h:1,B://h:1",), "a port of its own"),
        (("listeners=SASL_SSL://h:1",), "only PLAINTEXT is served"),
        (
            ("listeners=A://h:1", "listener.security.protocol.map=A:SSL"),
            "listener A asks for SSL; only PLAINTEXT is served",
        ),
        (("advertised.listeners=B://h:1",), "no listener called B"),
        (("advertised.listeners=PLAINTEXT://0.0.0.0:1",), "that they can connect to"),
        (("advertised.listeners=PLAINTEXT://h:0",), "that they can connect to"),
        (("advertised.listeners=PLAINTEXT://:1",), "that they can connect to"),
    ],
)
def test_listeners_that_cannot_be_are_refused(pairs: tuple[str, ...], expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        listeners(*pairs)

    assert expected in str(refused.value)


def test_one_advertised_address_cannot_serve_two_listeners() -> None:
    with pytest.raises(ConfigError, match=r"use advertised\.listeners"):
        listeners("listeners=A://h:1,B://h:2", advertised="x:1")


def test_two_listeners_may_both_ask_for_any_free_port() -> None:
    assert [one.port for one in listeners("listeners=A://h:0,B://h:0")] == [0, 0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9092", ("localhost", 9092)),
        (" [fe80::1]:1 ", ("fe80::1", 1)),
        (":1", ("", 1)),
        ("h", None),
        ("h:", None),
        ("h:x", None),
        ("h:\u0663", None),
        ("fe80::1:1", None),
        ("http://h:1", None),
        ("a b:1", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, expected: tuple[str, int] | None) -> None:
    assert address(text) == expected

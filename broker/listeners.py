"""Listeners: where the broker listens, and what address its clients are told.

Kafka's syntax is NAME://HOST:PORT, several with commas; --host, --port and --advertised are the
short way to say one listener, called PLAINTEXT.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from .config_sources import ConfigError, Given

DEFAULT_HOST = "localhost"
DEFAULT_PORT = 9092
DEFAULT_NAME = "PLAINTEXT"

_EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104 - recognised here, never a default
_SECURE_PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")


class Listener(Struct, frozen=True, gc=False):
    """One address to listen on. `localhost` means both loopback addresses."""

    name: str
    host: str
    port: int  # 0: any free one
    advertised_host: str
    advertised_port: int  # 0: the one that it listens on


class _Endpoint(Struct, frozen=True, gc=False):
    name: str
    host: str
    port: int


def listeners_of(options: Mapping[str, Given]) -> tuple[Listener, ...]:
    """The listeners that the options ask for; one on localhost:9092 if they ask for none.

    Raises ConfigError if they are malformed, contradict each other, or ask for encryption.
    """
    endpoints = _endpoints(options)
    advertised = _advertised(options, endpoints)
    return tuple(
        Listener(
            name=endpoint.name,
            host=endpoint.host,
            port=endpoint.port,
            advertised_host=address.host,
            advertised_port=address.port,
        )
        for endpoint in endpoints
        for address in (advertised.get(endpoint.name) or _reachable(endpoint),)
    )


def wildcard_warning(listeners: Sequence[Listener]) -> str | None:
    """A word about a listener on every address of the machine whose clients are told localhost."""
    for listener in listeners:
        if listener.host in _EVERY_ADDRESS and listener.advertised_host == DEFAULT_HOST:
            return (
                f"listener {listener.name} listens on every address but clients are told "
                f"{DEFAULT_HOST}: for clients on other machines give --advertised HOST:PORT"
            )
    return None


def address(text: str) -> tuple[str, int] | None:
    """HOST:PORT, with brackets round an IPv6 address; None if it is malformed."""
    host, colon, port_text = text.strip().rpartition(":")
    port = port_number(port_text)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        return None
    return None if not colon or port is None or any(c in host for c in "/@ ") else (host, port)


def port_number(text: str) -> int | None:
    """0 to 65535, or None."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        return None
    return int(text) if int(text) <= 65535 else None


def _endpoints(options: Mapping[str, Given]) -> tuple[_Endpoint, ...]:
    given = options.get("listeners")
    if given is None:
        host, port = _host(options.get("--host")), _port(options.get("--port"))
        return (_Endpoint(DEFAULT_NAME, host, port),)
    endpoints = tuple(
        _Endpoint(endpoint.name, endpoint.host or _EVERY_ADDRESS[0], endpoint.port)
        for endpoint in _without_controllers(_parsed(given), options)
    )
    if not endpoints:
        raise ConfigError("expected NAME://HOST:PORT, such as PLAINTEXT://localhost:9092", given)
    _check_distinct(endpoints, given)
    _check_plaintext(endpoints, given, options.get("listener.security.protocol.map"))
    return endpoints


def _parsed(given: Given) -> tuple[_Endpoint, ...]:
    return tuple(_endpoint(part.strip(), given) for part in given.text.split(",") if part.strip())


def _endpoint(text: str, given: Given) -> _Endpoint:
    name, separator, rest = text.partition("://")
    parsed = address(rest)
    if not separator or not name or parsed is None:
        raise ConfigError(f"expected NAME://HOST:PORT, got {text!r}", given)
    return _Endpoint(name.upper(), *parsed)


def _without_controllers(
    endpoints: tuple[_Endpoint, ...], options: Mapping[str, Given]
) -> tuple[_Endpoint, ...]:
    """The files of KRaft nodes list the controller's listener too; there is no controller here."""
    given = options.get("controller.listener.names")
    names = {name.strip().upper() for name in given.text.split(",")} if given else set()
    return tuple(endpoint for endpoint in endpoints if endpoint.name not in names)


def _check_distinct(endpoints: tuple[_Endpoint, ...], given: Given) -> None:
    names = [endpoint.name for endpoint in endpoints]
    places = [(endpoint.host, endpoint.port) for endpoint in endpoints if endpoint.port]
    if len(set(names)) < len(names):
        raise ConfigError("each listener needs a name of its own", given)
    if len(set(places)) < len(places):
        raise ConfigError("each listener needs a port of its own", given)


def _check_plaintext(
    endpoints: tuple[_Endpoint, ...], given: Given, protocol_map: Given | None
) -> None:
    pairs = protocol_map.text.split(",") if protocol_map else []
    protocols = {
        name.strip().upper(): protocol.strip().upper()
        for name, _, protocol in (pair.partition(":") for pair in pairs)
    }
    for endpoint in endpoints:
        protocol = protocols.get(endpoint.name, endpoint.name)
        if protocol in _SECURE_PROTOCOLS:
            causes = (given,) if protocol_map is None else (given, protocol_map)
            raise ConfigError(
                f"listener {endpoint.name} asks for {protocol}; only PLAINTEXT is served yet",
                *causes,
            )


def _advertised(
    options: Mapping[str, Given], endpoints: tuple[_Endpoint, ...]
) -> Mapping[str, _Endpoint]:
    short, full = options.get("--advertised"), options.get("advertised.listeners")
    if short is not None:
        if len(endpoints) > 1:
            raise ConfigError("with several listeners, use advertised.listeners", short)
        parsed = address(short.text)
        if parsed is None:
            raise ConfigError("expected HOST:PORT", short)
        return _checked((_Endpoint(endpoints[0].name, *parsed),), endpoints, short)
    if full is not None:
        return _checked(_without_controllers(_parsed(full), options), endpoints, full)
    return {}


def _checked(
    advertised: tuple[_Endpoint, ...], endpoints: tuple[_Endpoint, ...], given: Given
) -> Mapping[str, _Endpoint]:
    names = {endpoint.name for endpoint in endpoints}
    for endpoint in advertised:
        if endpoint.host in ("", *_EVERY_ADDRESS) or not endpoint.port:
            raise ConfigError("clients need a host and a port that they can connect to", given)
        if endpoint.name not in names:
            raise ConfigError(f"there is no listener called {endpoint.name}", given)
    return {endpoint.name: endpoint for endpoint in advertised}


def _reachable(endpoint: _Endpoint) -> _Endpoint:
    """What clients are told when nothing is said: the listener's own address."""
    host = DEFAULT_HOST if endpoint.host in _EVERY_ADDRESS else endpoint.host
    return _Endpoint(endpoint.name, host, endpoint.port)


def _host(given: Given | None) -> str:
    if given is None:
        return DEFAULT_HOST
    parsed = address(given.text + ":0") or address(f"[{given.text}]:0")
    if parsed is None or not parsed[0]:
        raise ConfigError("expected the name or the address of a host", given)
    return parsed[0]


def _port(given: Given | None) -> int:
    if given is None:
        return DEFAULT_PORT
    port = port_number(given.text)
    if port is None:
        raise ConfigError("expected a port, 0 to 65535", given)
    return port

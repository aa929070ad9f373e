"""Messages that kio or kafka-python do not know, against bytes that Kafka's own client wrote."""

import json
from base64 import b64decode, urlsafe_b64decode
from pathlib import Path

import pytest

from minibroker.protocol.fields import ArrayOf, Blob, Kind, StructOf, field_table
from minibroker.protocol.messages import all_schemas
from minibroker.protocol.types import Fixed, Message

from .test_messages_oracle import UNKNOWN_TO_KAFKA_PYTHON, UNKNOWN_TO_KIO
from .values import codec

LINES = [
    line.split(" ", 4)
    for line in (Path(__file__).parent / "golden" / "kafka_clients.txt").read_text().splitlines()
    if not line.startswith("#")
]
SCHEMAS = {schema.key: schema for schema in all_schemas()}


@pytest.mark.parametrize(("key", "version", "side", "written", "meant"), LINES)
def test_kafka_clients_read_and_write_the_same(
    key: str, version: str, side: str, written: str, meant: str
) -> None:
    message, encode, decode = codec(SCHEMAS[int(key)], side, int(version))
    value = from_json(message, json.loads(meant))

    assert decode(memoryview(bytes.fromhex(written))) == value
    assert encode(value).hex() == written


def test_what_the_libraries_lack_is_all_here() -> None:
    assert {(int(key), int(version)) for key, version, *_ in LINES} == (
        UNKNOWN_TO_KIO | UNKNOWN_TO_KAFKA_PYTHON
    )


def from_json(message: type[Message], given: dict[str, object]) -> Message:
    kinds = {field.name: field.kind for field in field_table(message)}
    named = {snake_case(name): value for name, value in given.items()}
    return message(**{name: json_value(kinds[name], value) for name, value in named.items()})


def json_value(kind: Kind, value: object) -> object:
    match kind, value:
        case StructOf(message), dict():
            return from_json(message, value)
        case ArrayOf(element), list():
            return tuple(json_value(element, item) for item in value)
        case Fixed("16s"), str():
            return urlsafe_b64decode(value + "==")
        case Blob(), str():
            return b64decode(value)
        case _:
            return value


def snake_case(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)

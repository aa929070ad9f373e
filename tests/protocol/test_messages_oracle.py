"""Every message in every version, byte for byte as kio and kafka-python write and read it.

An oracle reads our bytes, shows the values that we meant, and writes the same bytes again. Both
libraries make their codecs from Kafka's own message definitions; ours come from our field tables.
"""

import io
import warnings
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Protocol
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer
from msgspec.structs import replace

from minibroker.protocol.fields import field_table
from minibroker.protocol.messages.api_versions import ApiVersionsResponse
from minibroker.protocol.schema import AnySchema
from minibroker.protocol.types import ZERO_TOPIC_ID, Message

from .values import codec, every_version, messages

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BIT_FIELDS = {
    "authorized_operations",
    "topic_authorized_operations",
    "cluster_authorized_operations",
}
KIO_NONE: dict[object, object] = {"datetime_i64": -1, "uuid": bytes(16)}
VERSIONS = [pytest.param(*v, id=f"{v[0].name}-{v[1]}-{v[2]}") for v in every_version()]

# What a library does not know: for these the golden bytes of Kafka's own client stand in.
UNKNOWN_TO_KIO = {(18, 5), (42, 3)}
UNKNOWN_TO_KAFKA_PYTHON = {(18, 5), (42, 3), (68, 0), (68, 1), (69, 0), (69, 1)}

few = settings(
    max_examples=4,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize(("schema", "side", "version"), VERSIONS)
def test_kio_reads_and_writes_the_same(schema: AnySchema, side: str, version: int) -> None:
    if (schema.key, version) in UNKNOWN_TO_KIO:
        pytest.skip("not in kio: see the golden bytes")
    load = load_request_schema if side == "request" else load_response_schema
    entity = load(schema.key, version)
    message, encode, decode = codec(schema, side, version)

    @few
    @given(messages(message, version))
    def check(value: Message) -> None:
        ours = encode(value)

        parsed, size = entity_reader(entity)(ours, 0)
        theirs = io.BytesIO()
        entity_writer(entity)(theirs, parsed)

        assert size == len(ours)
        assert kio_values(parsed) == our_values(value, version)
        assert theirs.getvalue() == ours
        assert decode(memoryview(theirs.getvalue())) == value

    check()


@pytest.mark.parametrize(("schema", "side", "version"), VERSIONS)
def test_kafka_python_reads_and_writes_the_same(schema: AnySchema, side: str, version: int) -> None:
    if (schema.key, version) in UNKNOWN_TO_KAFKA_PYTHON:
        pytest.skip("not in kafka-python: see the golden bytes")
    theirs = KAFKA_PYTHON[schema.key, side]
    message, encode, decode = codec(schema, side, version)
    values = messages(message, version)
    if message is ApiVersionsResponse:
        # It takes one with an error for a v0 body, whatever the version (KIP-511).
        values = values.map(lambda value: replace(value, error_code=0))

    @few
    @given(values)
    def check(value: Message) -> None:
        ours = encode(value)

        parsed = theirs.decode(ours, version=version)
        parsed.with_header()  # without one, some classes cannot be encoded
        written = bytes(parsed.encode())

        assert plain(parsed.to_dict(json=False)) == our_values(value, version, absent_is_none=True)
        assert written == ours
        assert decode(memoryview(written)) == value

    check()


class KafkaPythonMessage(Protocol):
    def with_header(self) -> None: ...

    def encode(self) -> bytearray: ...

    def to_dict(self, json: bool) -> dict[str, object]: ...


class KafkaPythonClass(Protocol):
    API_KEY: int
    type: str

    def decode(self, data: bytes, version: int) -> KafkaPythonMessage: ...


def kafka_python_classes() -> dict[tuple[int, str], KafkaPythonClass]:
    with warnings.catch_warnings():
        # It reads its definitions with a function that Python 3.11 deprecates.
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in ("admin", "consumer", "metadata", "producer", "sasl"):
            import_module(f"kafka.protocol.{module}")
    base = import_module("kafka.protocol.api_message").ApiMessage
    return {(cls.API_KEY, cls.type): cls for cls in base.__subclasses__()}


KAFKA_PYTHON = kafka_python_classes()


def our_values(value: object, version: int, absent_is_none: bool = False) -> object:
    """Values only, in wire order: a name is spelled differently by each library.

    kafka-python shows None for a struct in a tag that was not sent, and for the zero id.
    """
    if isinstance(value, Message):
        present = [f for f in field_table(type(value)) if f.first <= version <= f.last]
        return [
            None
            if absent_is_none
            and isinstance(f.default, Message)
            and getattr(value, f.name) == f.default
            else our_values(getattr(value, f.name), version, absent_is_none)
            for f in present
        ]
    if isinstance(value, tuple):
        return [our_values(item, version, absent_is_none) for item in value]
    return None if absent_is_none and value == ZERO_TOPIC_ID else value


def kio_values(value: object) -> object:
    if is_dataclass(value):
        return [
            KIO_NONE.get(f.metadata.get("kafka_type"))
            if getattr(value, f.name) is None
            else kio_values(getattr(value, f.name))
            for f in fields(value)
        ]
    if isinstance(value, tuple | list):
        return [kio_values(item) for item in value]
    match value:
        case UUID():
            return value.bytes
        case datetime():
            return (value - EPOCH) // timedelta(milliseconds=1)
        case timedelta():
            return value // timedelta(milliseconds=1)
        case _:
            return value


def plain(value: object) -> object:
    match value:
        case dict():
            return [
                bits(item) if name in BIT_FIELDS else plain(item) for name, item in value.items()
            ]
        case list() | tuple():
            return [plain(item) for item in value]
        case UUID():
            return value.bytes
        case _:
            return value


def bits(value: object) -> object:
    """kafka-python shows most bit fields as a set, and the one for "not asked for" as None."""
    if not isinstance(value, set | None):
        return value
    unsigned = 1 << 31 if value is None else sum(1 << bit for bit in value)
    return unsigned - (1 << 32) if unsigned >= 1 << 31 else unsigned

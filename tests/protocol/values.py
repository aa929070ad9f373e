"""Random values of any message: what a version of it can carry, and nothing else."""

from collections.abc import Callable, Iterator

from hypothesis import strategies as st

from minibroker.protocol.errors import ErrorCode
from minibroker.protocol.fields import ArrayOf, Blob, Field, Kind, StructOf, Text, field_table
from minibroker.protocol.messages import all_schemas
from minibroker.protocol.schema import AnySchema
from minibroker.protocol.types import Fixed, Message

MILLISECONDS = st.integers(-1, 4_000_000_000_000)
NARROWED: dict[str, st.SearchStrategy[object]] = {
    # kio turns these into enums, datetimes and timedeltas, which hold less than the wire.
    "error_code": st.sampled_from([int(code) for code in ErrorCode if code < 120]),
    "int64 milliseconds": MILLISECONDS,
}
FIXED: dict[str, st.SearchStrategy[object]] = {
    "?": st.booleans(),
    "b": st.integers(-(1 << 7), (1 << 7) - 1),
    "h": st.integers(-(1 << 15), (1 << 15) - 1),
    "i": st.integers(-(1 << 31), (1 << 31) - 1),
    "q": st.integers(-(1 << 63), (1 << 63) - 1),
    "d": st.floats(allow_nan=False),
    "16s": st.binary(min_size=16, max_size=16),
}
TEXT = st.text(max_size=5) | st.just("é" * 100)
BLOB = st.binary(max_size=5) | st.just(b"\x80" * 200)


def messages(message: type[Message], version: int) -> st.SearchStrategy[Message]:
    """Values with all fields of the version drawn and all others at their defaults."""
    present = [f for f in field_table(message) if f.first <= version <= f.last]
    return st.builds(message, **{f.name: _field(f, version) for f in present})


def _field(field: Field, version: int) -> st.SearchStrategy[object]:
    narrowed = NARROWED.get(_narrowing(field))
    values = _kind(field.kind, version) if narrowed is None else narrowed
    if field.tag is not None:
        values = st.just(field.default) | values
    return st.none() | values if field.is_nullable(version) else values


def _narrowing(field: Field) -> str:
    is_time = field.name.endswith("_ms") or "timestamp" in field.name
    return "int64 milliseconds" if is_time and field.kind == Fixed("q", 8) else field.name


def _kind(kind: Kind, version: int) -> st.SearchStrategy[object]:
    match kind:
        case Fixed(code):
            return FIXED[code]
        case Text():
            return TEXT
        case Blob():
            return BLOB
        case StructOf(message):
            return messages(message, version)
        case ArrayOf(element):
            return st.lists(_kind(element, version), max_size=2).map(tuple)


Decode = Callable[[memoryview], Message]
Encode = Callable[[Message], bytes]


def every_version() -> Iterator[tuple[AnySchema, str, int]]:
    """Each (API, "request" or "response", version)."""
    for schema in all_schemas():
        for version in range(schema.oldest, schema.newest + 1):
            yield schema, "request", version
            yield schema, "response", version


def codec(schema: AnySchema, side: str, version: int) -> tuple[type[Message], Encode, Decode]:
    """The class of one side of an API, and its two functions at a version."""
    if side == "request":
        return (
            schema.request,
            lambda value: schema.encode_request(version, value),
            lambda view: schema.decode_request(version, view),
        )
    return (
        schema.response,
        lambda value: schema.encode_response(version, value),
        lambda view: schema.decode_response(version, view),
    )

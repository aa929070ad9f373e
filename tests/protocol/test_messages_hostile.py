"""Bytes of an enemy: nothing but Malformed, and never much memory.

CVE-2026-111115: tags, counted by the sender, made into millions of objects. CVE-2026-111108: arrays
allocated on the sender's word. A hostile byte may cost 32 bytes of memory and no more.
"""

import tracemalloc
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from minibroker.protocol.errors import Malformed
from minibroker.protocol.fields import ArrayOf, Field, Kind, StructOf, field_table
from minibroker.protocol.messages.produce import PRODUCE
from minibroker.protocol.schema import AnySchema
from minibroker.protocol.types import Fixed, Message

from .values import codec, every_version, messages

VERSIONS = [pytest.param(*v, id=f"{v[0].name}-{v[1]}-{v[2]}") for v in every_version()]
REQUESTS = [v for v in VERSIONS if v.values[1] == "request"]
MEMORY_PER_BYTE = 32
ONCE = 4096  # what an exception and its traceback take, however short the frame
ELEMENTS = 300

few = settings(
    max_examples=3,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.mark.parametrize(("schema", "side", "version"), VERSIONS)
def test_damaged_bytes_are_a_message_or_malformed(
    schema: AnySchema, side: str, version: int
) -> None:
    message, encode, decode = codec(schema, side, version)

    @few
    @given(messages(message, version), st.integers(0, 1 << 32))
    def check(value: Message, seed: int) -> None:
        random = Random(seed)
        whole = encode(value)
        for _ in range(20):
            try:
                accepted = decode(memoryview(damage(whole, random)))
            except Malformed:
                continue
            written = encode(accepted)
            assert encode(decode(memoryview(written))) == written

    check()


@pytest.mark.parametrize(("schema", "side", "version"), VERSIONS)
def test_every_truncation_is_malformed(schema: AnySchema, side: str, version: int) -> None:
    message, encode, decode = codec(schema, side, version)
    whole = encode(smallest(message, version, b"ab"))

    for cut in range(len(whole)):
        with pytest.raises(Malformed):
            decode(memoryview(whole[:cut]))


@pytest.mark.parametrize(("schema", "side", "version"), REQUESTS)
def test_many_small_elements_cost_little_memory(schema: AnySchema, side: str, version: int) -> None:
    message, encode, _ = codec(schema, side, version)

    for content in (b"", b"ab"):
        for value in swollen(message, version, content):
            body = encode(value)
            assert peak_of_decoding(schema, version, body) <= MEMORY_PER_BYTE * len(body) + ONCE


@pytest.mark.parametrize(("schema", "side", "version"), REQUESTS)
def test_a_huge_count_costs_nothing(schema: AnySchema, side: str, version: int) -> None:
    message, encode, _ = codec(schema, side, version)
    whole = encode(smallest(message, version, b""))

    for position in range(len(whole)):
        for count in ("7fffffff", "ffffffff0f", "ffffff7f"):
            body = whole[:position] + bytes.fromhex(count) + whole[position:]
            assert peak_of_decoding(schema, version, body) <= MEMORY_PER_BYTE * len(body) + ONCE


@pytest.mark.parametrize(("schema", "side", "version"), REQUESTS)
def test_tags_cost_nothing(schema: AnySchema, side: str, version: int) -> None:
    if not schema.is_flexible(version):
        pytest.skip("no tags")
    message, encode, _ = codec(schema, side, version)
    head = encode(smallest(message, version, b""))[:-1]  # without the count of tags, 0
    many = b"".join(bytes([tag, 0]) for tag in range(20, 84))

    for tags in (b"\x40" + many, b"\x41" + many, b"\xff\xff\xff\xff\x0f" + many * 100):
        assert peak_of_decoding(schema, version, head + tags) <= ONCE


def test_twelve_bytes_of_produce_with_a_huge_array_are_malformed() -> None:
    body = memoryview(bytes.fromhex("ffff 0001 00000001 7fffffff"))

    with pytest.raises(Malformed, match="topic_data announces more than was sent"):
        PRODUCE.decode_request(8, body)


@given(st.binary(max_size=60), st.sampled_from([v.values for v in VERSIONS]))
def test_arbitrary_bytes_are_a_message_or_malformed(
    body: bytes, which: tuple[AnySchema, str, int]
) -> None:
    _, encode, decode = codec(*which)

    try:
        accepted = decode(memoryview(body))
    except Malformed:
        return

    encode(accepted)


def damage(whole: bytes, random: Random) -> bytes:
    body = bytearray(whole)
    for _ in range(random.randint(1, 3)):
        position = random.randint(0, len(body))
        match random.randint(0, 3):
            case 0:
                body[position : position + 1] = random.randbytes(1)
            case 1:
                body[position:position] = random.randbytes(random.randint(1, 5))
            case 2:
                del body[position : position + random.randint(1, 5)]
            case _:
                body[position : position + 4] = random.choice([b"\x7f\xff\xff\xff", b"\xff" * 4])
    return bytes(body)


def peak_of_decoding(schema: AnySchema, version: int, body: bytes) -> int:
    """The most memory that was held at once; the codec is compiled before."""
    view = memoryview(body)
    _decode(schema, version, view)
    tracemalloc.start()
    try:
        kept = _decode(schema, version, view)
        _, peak = tracemalloc.get_traced_memory()
        del kept
    finally:
        tracemalloc.stop()
    return peak


def _decode(schema: AnySchema, version: int, view: memoryview) -> Message | None:
    try:
        return schema.decode_request(version, view)
    except Malformed:
        return None


def smallest(message: type[Message], version: int, content: bytes) -> Message:
    """The value with the shortest encoding, but for `content` in each string and in all bytes."""
    return message(**{f.name: _least(f.kind, version, content) for f in _present(message, version)})


def _present(message: type[Message], version: int) -> list[Field]:
    fields = field_table(message)
    return [f for f in fields if f.first <= version <= f.last and f.tag is None]


def _least(kind: Kind, version: int, content: bytes) -> object:
    match kind:
        case Fixed("16s"):
            return bytes(16)
        case Fixed():
            return 0x71
        case ArrayOf():
            return ()
        case StructOf(message):
            return smallest(message, version, content)
    return content if type(kind).__name__ == "Blob" else content.decode()


def swollen(
    message: type[Message], version: int, content: bytes, elements: int = ELEMENTS
) -> Iterator[Message]:
    """For each array: many of it, empty; and many of those around it, one element in each."""
    base = smallest(message, version, content)
    for field in _present(message, version):
        match field.kind:
            case ArrayOf(element):
                for item in _elements(element, version, content):
                    yield replace(base, **{field.name: (item,) * elements})
                if isinstance(element, StructOf):
                    for inner in swollen(element.message, version, content, elements):
                        yield replace(base, **{field.name: (inner,)})
            case StructOf(inner_message):
                for inner in swollen(inner_message, version, content, elements):
                    yield replace(base, **{field.name: inner})


def _elements(kind: Kind, version: int, content: bytes) -> Iterator[object]:
    yield _least(kind, version, content)
    if isinstance(kind, StructOf):
        base = smallest(kind.message, version, content)
        arrays = [f for f in _present(kind.message, version) if isinstance(f.kind, ArrayOf)]
        for field in arrays:
            assert isinstance(field.kind, ArrayOf)
            for inner in _elements(field.kind.element, version, content):
                yield replace(base, **{field.name: (inner,)})

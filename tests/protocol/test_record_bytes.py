"""Records byte by byte: laid out by hand, well or badly, and read by the code under test."""

import tracemalloc
from collections.abc import Sequence
from struct import pack, pack_into
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibroker.protocol.compression import Codec, compress
from minibroker.protocol.errors import Malformed
from minibroker.protocol.records import (
    RecordProblem,
    check_records,
    crc_matches,
    iter_batches,
    iter_records,
    parse_header,
    recompress,
    stamp_log_append_time,
)
from tests.batches import batch, record, varint

BASE_OFFSET, BASE_TIME = 1000, 1_700_000_000_000
TRANSACTIONAL = 0x10


class Laid(NamedTuple):
    """A record as the wire has it: its offset and time are deltas."""

    offset_delta: int
    time_delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]


def sized(field: bytes | None) -> bytes:
    return varint(-1) if field is None else varint(len(field)) + field


def framed(body: bytes) -> bytes:
    return varint(len(body)) + body


def laid_out(one: Laid) -> bytes:
    body = b"\0" + varint(one.time_delta) + varint(one.offset_delta)
    body += sized(one.key) + sized(one.value) + varint(len(one.headers))
    return framed(body + b"".join(sized(name) + sized(value) for name, value in one.headers))


def batch_of(
    data: bytes, count: int, *, last: int | None = None, codec: Codec = Codec.NONE, bits: int = 0
) -> memoryview:
    """A batch around any record bytes; its CRC is wrong, which is nobody's business here."""
    data = compress(codec, data)
    last = count - 1 if last is None else last
    head = pack(">ibIhi", -1, 2, 0, bits | codec, last)
    head += pack(">qqqhii", BASE_TIME, BASE_TIME + 5, 9, 3, 17, count)
    return memoryview(pack(">qi", BASE_OFFSET, len(head) + len(data)) + head + data)


binary = st.binary(max_size=200)
time_deltas = st.integers(-(1 << 62), 1 << 62) | st.integers(-100, 100)
bodies = st.tuples(
    st.integers(1, 1 << 20),  # the step of the offset
    time_deltas,
    st.none() | binary,
    st.none() | binary,
    st.lists(st.tuples(st.sampled_from([b"", b"a", b"\xff\0"]) | binary, st.none() | binary)),
)


@given(
    drawn=st.lists(bodies, max_size=6),
    codec=st.sampled_from(list(Codec)),
    appended=st.booleans(),
    spare=st.integers(0, 3),
)
def test_records_are_read_as_they_were_laid_out(
    drawn: list[tuple[int, int, bytes | None, bytes | None, list[tuple[bytes, bytes | None]]]],
    codec: Codec,
    appended: bool,
    spare: int,
) -> None:
    """With gaps, as a compacted log has them, and header names that repeat and are no text."""
    laid, delta = [], -1
    for step, time_delta, key, value, headers in drawn:
        delta += step
        laid.append(Laid(delta, time_delta, key, value, headers))
    data = b"".join(map(laid_out, laid))
    bits = 8 if appended else 0

    read = iter_records(
        batch_of(data, len(laid), last=delta + spare, codec=codec, bits=bits), None, 1 << 20
    )

    assert list(read) == [
        (
            BASE_OFFSET + one.offset_delta,
            BASE_TIME + (5 if appended else one.time_delta),
            one.key,
            one.value,
            tuple(one.headers),
        )
        for one in laid
    ]


GOOD = b"\0" + varint(0) + varint(0)  # attributes, time and offset: key, value and headers follow
NULL = varint(-1)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (varint(0), "a record of 0 bytes"),
        (varint(-1), "a record of -1 bytes"),
        (varint(7) + GOOD + NULL + NULL + varint(0), "a record of 7 bytes where 6 are left"),
        (varint(2**31 - 1), "a record of 2147483647 bytes"),
        (framed(GOOD + varint(-2) + NULL + varint(0)), "a field of -2 bytes"),
        (framed(GOOD + varint(4) + NULL + varint(0)), "a field of 4 bytes where 2 are left"),
        (framed(GOOD + NULL + varint(-(2**31)) + varint(0)), "a field of -2147483648 bytes"),
        (framed(GOOD + NULL + NULL + varint(-1)), "-1 headers"),
        (framed(GOOD + NULL + NULL + varint(2) + bytes(3)), "2 headers in 3 bytes"),
        (framed(GOOD + NULL + NULL + varint(2**31 - 1)), "2147483647 headers in 0 bytes"),
        (framed(GOOD + NULL + NULL + varint(1) + NULL + NULL), "a record header without a name"),
        (framed(GOOD + NULL + NULL + varint(0) + b"\0"), "end 1 bytes before its length says"),
        (varint(5) + GOOD + NULL + NULL + varint(0), "end -1 bytes before its length says"),
        (framed(GOOD + b"\x80"), "the records end within a number"),
        (b"\x80" * 5 + b"\0", "a number of more than 32 bits"),
        (b"\xff\xff\xff\xff\x1f", "a number of more than 32 bits"),
        (framed(b"\0" + b"\xff" * 9 + b"\x02" + bytes(4)), "a number of more than 64 bits"),
        (framed(b"\0" + b"\x80" * 10 + bytes(4)), "a number of more than 64 bits"),
        (framed(b"\0" + varint(2**63 - 1) + varint(0) + NULL + NULL + varint(0)), "a timestamp"),
        (record(0, b"k", b"v") + b"\0", "1 bytes behind the last record"),
        (record(-1, b"k", b"v"), "offset delta -1"),
        (record(1, b"k", b"v"), "offset delta 1"),
        (b"", "the records end within a number"),
    ],
)
@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_a_record_that_lies_is_malformed_for_what_it_says(
    data: bytes, problem: str, codec: Codec
) -> None:
    with pytest.raises(Malformed, match=problem):
        list(iter_records(batch_of(data, 1, codec=codec)))


@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (0, 1, 1), (2, 1, 2)])
def test_offsets_that_do_not_ascend_are_malformed(deltas: Sequence[int]) -> None:
    data = b"".join(record(delta, b"k", b"v") for delta in deltas)

    with pytest.raises(Malformed, match="offset delta"):
        list(iter_records(batch_of(data, len(deltas), last=2)))


def test_a_negative_count_is_malformed_even_without_records() -> None:
    assert list(iter_records(batch_of(b"", 0))) == []
    with pytest.raises(Malformed):
        list(iter_records(batch_of(b"", -1)))


def test_the_records_before_a_bad_one_are_given_out() -> None:
    records = iter_records(batch_of(record(0, b"k", b"v") + varint(0), 2))

    assert next(records).value == b"v"
    with pytest.raises(Malformed):
        next(records)


@pytest.mark.parametrize("length", [-(2**31), -12, -1, 0, 48, 2**31 - 1])
def test_a_batch_of_an_impossible_length_is_malformed(length: int) -> None:
    data = bytearray(batch(0, 0, timestamp=1))
    pack_into(">i", data, 8, length)

    with pytest.raises(Malformed, match=f"batch length {length} "):
        list(iter_batches(memoryview(data)))


def test_a_buffer_of_batches_has_only_those_of_magic_2() -> None:
    with pytest.raises(Malformed, match="magic 1"):
        list(iter_batches(memoryview(batch(0, 0, timestamp=1) + batch(1, 1, magic=1))))


def test_the_crc_ends_with_its_batch() -> None:
    one = batch(0, 2, timestamp=1)
    view = memoryview(one + batch(3, 3, timestamp=1))

    assert crc_matches(view, parse_header(view))


def problems_of(data: bytes, count: int, **options: int) -> list[tuple[int, str]]:
    view = batch_of(data, count)
    found = check_records(view, parse_header(view), requires_keys=False, **options)
    return [(problem.batch_index, problem.message) for problem in found]


def test_a_producers_offsets_have_no_gaps() -> None:
    data = b"".join(record(delta, None, b"v") for delta in (0, 2, 2, 0))

    assert problems_of(data, 4) == [
        (1, "offset delta 2 instead of 1"),
        (3, "offset delta 0 instead of 3"),
    ]


def test_what_cannot_be_read_is_the_last_problem() -> None:
    readable = record(1, None, b"v") + record(1, None, b"v")

    assert [index for index, _ in problems_of(readable + varint(0) + readable, 5)] == [0, 2]
    assert problems_of(readable + b"\0", 2)[1:] == [(2, "1 bytes behind the last record")]
    assert problems_of(b"", 1) == [(0, "the records end within a number")]


def test_a_peer_does_not_decide_how_many_problems_are_kept() -> None:
    data = record(5, None, b"v") * 10_000
    tracemalloc.start()
    try:
        found = problems_of(data, 10_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(found) == 100
    assert peak < 3 * len(data)  # the data is copied, and 100 problems fit into the rest
    assert len(problems_of(data, 10_000, max_problems=3)) == 3


def test_a_record_may_have_as_many_problems_as_are_left() -> None:
    view = batch_of(record(5, None, b"v") * 2, 2)

    found = check_records(view, parse_header(view), requires_keys=True, max_problems=3)

    assert [problem.batch_index for problem in found] == [0, 0, 1]
    assert isinstance(found[0], RecordProblem)


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_a_change_of_the_batch_keeps_the_other_attributes(codec: Codec) -> None:
    view = batch_of(record(0, b"k", b"v"), 1, codec=codec, bits=TRANSACTIONAL)

    assert parse_header(recompress(view, Codec.ZSTD)).attributes == TRANSACTIONAL | Codec.ZSTD
    stamped = stamp_log_append_time(view, 1)
    changed = parse_header(view)._replace(
        attributes=TRANSACTIONAL | codec | 8, max_timestamp=1, crc=parse_header(stamped).crc
    )
    assert parse_header(stamped) == changed
    assert stamped[61:] == view[61:]


def test_recompressing_takes_a_level_and_refuses_what_cannot_be_read() -> None:
    view = batch_of(record(0, b"k", b"broker partition offset " * 2000), 1, codec=Codec.GZIP)

    sizes = [len(recompress(view, Codec.ZSTD, level)) for level in (-50, 19)]

    assert sizes[0] > sizes[1]
    for damaged in (view[:-1], view[:60]):
        with pytest.raises(Malformed):
            recompress(damaged, Codec.NONE)
    with pytest.raises(Malformed):
        recompress(view, Codec.NONE, None, 1000)


MANY = 5_000
SHAPES = {
    "empty records": (b"".join(record(at, None, None, -(1 << 40)) for at in range(MANY)), MANY),
    "fields of 2 bytes": (b"".join(record(at, b"kk", b"vv") for at in range(MANY)), MANY),
    "null headers": (framed(GOOD + NULL + NULL + varint(MANY) + (varint(0) + NULL) * MANY), 1),
    "headers of 2 bytes": (
        framed(GOOD + NULL + NULL + varint(MANY) + (sized(b"ab") + sized(b"cd")) * MANY),
        1,
    ),
    "headers of which the last is cut": (
        framed(GOOD + NULL + NULL + varint(MANY) + (varint(0) + NULL) * (MANY - 1) + b"\0\x7e"),
        1,
    ),
}


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
@pytest.mark.parametrize("shape", SHAPES)
def test_hostile_records_cost_at_most_64_bytes_a_decompressed_byte(
    shape: str, codec: Codec
) -> None:
    data, count = SHAPES[shape]
    view = batch_of(data, count, codec=codec)
    kept = []
    tracemalloc.start()
    try:
        for one in iter_records(view):
            kept.append(one)
    except Malformed:
        assert "cut" in shape
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert len(kept) == (0 if "cut" in shape else count)
    assert peak <= 64 * len(data) + 4096


@given(
    noise=st.binary(max_size=40),
    at=st.integers(0, 60),
    width=st.integers(0, 8),
    codec=st.sampled_from(list(Codec)),
)
def test_damage_under_the_compression_raises_nothing_but_malformed(
    noise: bytes, at: int, width: int, codec: Codec
) -> None:
    """Damaged outside, nearly every batch fails its codec's checksum: here the records are hit."""
    good = laid_out(Laid(0, 1, b"key", None, [(b"a", b"1"), (b"a", None)])) + record(1, None, b"")
    data = good[:at] + noise + good[at + width :]
    view = batch_of(data, 2, codec=codec)

    try:
        read = list(iter_records(view))
    except Malformed:
        return

    assert len(read) == 2
    assert sum(len(one.key or b"") + len(one.value or b"") for one in read) <= len(data)

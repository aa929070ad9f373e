"""Record batches: what is read is what was written, by us, by hand and by clients' builders."""

import tracemalloc
from contextlib import suppress
from itertools import product
from random import Random
from struct import pack_into, unpack_from

import pytest
from fastcrc.crc32 import iscsi
from hypothesis import given
from hypothesis import strategies as st

from minibroker.protocol.batch_builder import NewRecord, build_batch
from minibroker.protocol.compression import Codec
from minibroker.protocol.errors import Malformed
from minibroker.protocol.records import (
    check_records,
    crc32c,
    crc_matches,
    first_record_at_or_after,
    iter_batches,
    iter_records,
    parse_header,
    recompress,
    record_with_max_timestamp,
    stamp_log_append_time,
)
from tests.batches import batch

from .client_batches import CLIENTS, Client, Sent

each_codec = pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda one: type(one).__name__)

RECORDS = (
    Sent(1_700_000_000_000, b"key", b"value"),
    Sent(1_700_000_000_009, None, b"null key", (("a", b"1"), ("b", None), ("a", b""))),
    Sent(1_700_000_000_004, b"", None),
    Sent(1_700_000_000_004, bytes(range(256)), b""),
)


def as_sent(data: bytes | bytearray) -> list[Sent]:
    """The records of a batch in the words of the clients."""
    return [
        Sent(
            record.timestamp,
            record.key,
            record.value,
            tuple((bytes(name).decode(), value) for name, value in record.headers),
        )
        for record in iter_records(memoryview(data))
    ]


def ours(codec: Codec, sent: tuple[Sent, ...] = RECORDS) -> bytes:
    records = [
        NewRecord(
            one.value,
            one.key,
            one.timestamp,
            [(name.encode(), value) for name, value in one.headers],
        )
        for one in sent
    ]
    return build_batch(records, codec=codec, producer_id=9, producer_epoch=3, base_sequence=17)


def test_a_header_is_read_field_by_field() -> None:
    header = parse_header(memoryview(batch(5, 7, producer_id=11, epoch=4, timestamp=99)))

    assert (header.base_offset, header.magic, header.attributes) == (0, 2, 0)
    assert (header.last_offset_delta, header.records_count) == (2, 3)
    assert (header.base_timestamp, header.max_timestamp) == (99, 99)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (11, 4, 5)
    assert header.size_bytes == len(batch(5, 7, producer_id=11, epoch=4, timestamp=99))


def test_the_crc_covers_everything_from_the_attributes_on() -> None:
    good = bytearray(batch(0, 2, timestamp=1))
    assert crc_matches(memoryview(good), parse_header(memoryview(good)))

    for at in range(len(good)):
        damaged = bytearray(good)
        damaged[at] ^= 1
        header = parse_header(memoryview(good))._replace(crc=unpack_from(">I", damaged, 17)[0])
        covered = at >= 17
        assert crc_matches(memoryview(damaged), header) is not covered, at


def test_crc_32c_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@each_codec
@each_client
def test_what_a_clients_builder_writes_is_read(client: Client, codec: Codec) -> None:
    data = client.write(RECORDS, codec, 9)

    assert as_sent(data) == list(RECORDS)
    assert (
        check_records(memoryview(data), parse_header(memoryview(data)), requires_keys=False) == ()
    )


@each_codec
@each_client
def test_what_we_build_is_read_by_clients(client: Client, codec: Codec) -> None:
    assert client.read(ours(codec)) == list(enumerate(RECORDS))


@each_client
def test_without_compression_the_bytes_are_the_clients_own(client: Client) -> None:
    assert ours(Codec.NONE)[16:] == client.write(RECORDS, 0, 9)[16:]


@each_codec
def test_batches_one_behind_the_other(codec: Codec) -> None:
    pair = ours(codec) + bytes(batch(0, 0, timestamp=5))

    sizes = [header.size_bytes for header, _ in iter_batches(memoryview(pair))]

    assert sizes == [len(ours(codec)), len(batch(0, 0, timestamp=5))]
    with pytest.raises(Malformed):
        list(iter_batches(memoryview(pair[:-1])))


@pytest.mark.parametrize(("source", "target"), list(product(Codec, Codec)))
def test_recompressing_changes_the_codec_and_nothing_that_is_read(
    source: Codec, target: Codec
) -> None:
    data = ours(source)

    again = recompress(memoryview(data), target, None)

    assert as_sent(again) == list(RECORDS)
    header, before = parse_header(memoryview(again)), parse_header(memoryview(data))
    assert header.codec == target
    assert header.crc == iscsi(bytes(again[21:]))
    assert header.size_bytes == len(again)
    assert header[6:] == before[6:]


@each_codec
def test_log_append_time_is_every_records_time(codec: Codec) -> None:
    stamped = stamp_log_append_time(ours(codec), 1_800_000_000_000)

    header = parse_header(memoryview(stamped))
    assert header.attributes & 8
    assert header.crc == iscsi(bytes(stamped[21:]))
    assert {one.timestamp for one in as_sent(stamped)} == {1_800_000_000_000}
    assert [one[1:] for one in as_sent(stamped)] == [one[1:] for one in RECORDS]
    found = first_record_at_or_after(memoryview(stamped), 1_800_000_000_000)
    assert found == (0, 1_800_000_000_000)


@given(
    times=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    asked=st.integers(0, 60),
    codec=st.sampled_from(list(Codec)),
    base=st.integers(0, 1 << 40),
)
def test_looking_up_by_time(times: list[int], asked: int, codec: Codec, base: int) -> None:
    data = build_batch(
        [NewRecord(b"v", None, time) for time in times], codec=codec, base_offset=base
    )

    found = first_record_at_or_after(memoryview(data), asked)
    greatest = record_with_max_timestamp(memoryview(data))

    expected = next(((base + at, time) for at, time in enumerate(times) if time >= asked), None)
    assert found == expected
    assert greatest == (base + times.index(max(times)), max(times))


def edited(at: int, code: str, value: int) -> bytes:
    data = bytearray(batch(0, 1, timestamp=1))
    pack_into(code, data, at, value)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        edited(57, ">i", 3),
        edited(57, ">i", 1),
        edited(57, ">i", -1),
        edited(57, ">i", 2**31 - 1),
        edited(61, "B", 0x7E),
        edited(61, "B", 0x01),
        edited(8, ">i", 5),
        edited(16, "B", 1),
        batch(0, 1, timestamp=1)[:-1],
        batch(0, 1, timestamp=1)[:60],
        b"",
    ],
)
def test_what_is_no_batch_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        list(iter_records(memoryview(data)))


def test_problems_are_named_by_record() -> None:
    keyless = build_batch([NewRecord(b"v", key) for key in (b"a", None, b"", None)])

    problems = check_records(
        memoryview(keyless), parse_header(memoryview(keyless)), requires_keys=True
    )

    assert [problem.batch_index for problem in problems] == [1, 3]
    cut = edited(57, ">i", 3)
    (problem,) = check_records(memoryview(cut), parse_header(memoryview(cut)), requires_keys=False)
    assert problem.batch_index == 2


@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_raise_nothing_but_malformed(data: bytes) -> None:
    with suppress(Malformed):
        list(iter_records(memoryview(data)))


@given(seed=st.integers(0, 1 << 32), codec=st.sampled_from(list(Codec)), flips=st.integers(1, 5))
def test_damaged_batches_raise_nothing_but_malformed(seed: int, codec: Codec, flips: int) -> None:
    random = Random(seed)
    data = bytearray(ours(codec))
    for _ in range(flips):
        data[random.randrange(len(data))] = random.randrange(256)

    with suppress(Malformed):
        list(iter_records(memoryview(data), None, 1 << 20))


@pytest.mark.parametrize("count", [1, 10_000])
def test_a_hostile_byte_costs_at_most_64_bytes(count: int) -> None:
    """The smallest records there can be: everything in them is an object."""
    data = memoryview(build_batch([NewRecord(None, None, 0)] * count))
    list(iter_records(data))
    tracemalloc.start()
    try:
        kept = list(iter_records(data))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(kept) == count
    assert peak <= 64 * len(data) + 1024


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_bomb_stops_at_the_cap(codec: Codec) -> None:
    bomb = build_batch([NewRecord(bytes(1 << 24), None, 0)], codec=codec)

    with pytest.raises(Malformed):
        list(iter_records(memoryview(bomb), None, 1 << 20))

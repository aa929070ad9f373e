"""Record batches of magic 2: header, CRC, the records inside, and what a broker changes.

| bytes | field                  | | bytes | field                       |
|-------|------------------------|-|-------|-----------------------------|
| 0-7   | base_offset            | | 27-34 | base_timestamp              |
| 8-11  | batch_length           | | 35-42 | max_timestamp               |
| 12-15 | partition_leader_epoch | | 43-50 | producer_id                 |
| 16    | magic                  | | 51-52 | producer_epoch              |
| 17-20 | crc                    | | 53-56 | base_sequence               |
| 21-22 | attributes             | | 57-60 | records_count               |
| 23-26 | last_offset_delta      | | 61-   | records, perhaps compressed |

batch_length counts the bytes behind itself; the CRC-32C covers byte 21 to the end, so that a broker
sets the base offset and the leader epoch without a new one.

A record is: length, attributes (one unused byte), timestamp delta, offset delta, key, value,
headers; every number a zigzag varint, every length -1 for null. Offset deltas ascend within
0..last_offset_delta: 0..n-1 as a producer sends them, with gaps once a log was compacted.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from fastcrc.crc32 import iscsi

from .compression import MAX_DECOMPRESSED_BYTES, Buffer, Codec, compress, decompress
from .errors import Malformed

crc32c = iscsi
"""CRC-32C of any buffer, without a copy."""

BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
_BATCH_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_ATTRIBUTES = struct.Struct(">h")
_TIMESTAMP = struct.Struct(">q")

HEADER_BYTES = 61
LOG_OVERHEAD = 12
MAGIC = 2

BASE_OFFSET_AT = 0
BATCH_LENGTH_AT = 8
PARTITION_LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21  # also where the bytes begin that the CRC covers
BASE_TIMESTAMP_AT = 27
MAX_TIMESTAMP_AT = 35

CODEC_MASK = 0x07
LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20
DELETE_HORIZON = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records: Kafka's names in the order of the wire."""

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, the offset and length in front included."""
        return LOG_OVERHEAD + self.batch_length

    @property
    def codec(self) -> int:
        """The three codec bits, which may name no codec: see compression.Codec."""
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def uses_log_append_time(self) -> bool:
        """Then every record's timestamp is max_timestamp, whatever its own delta says."""
        return self.attributes & LOG_APPEND_TIME != 0


class Record(NamedTuple):
    """One record, its offset and timestamp absolute. Header names stay bytes: not all are UTF-8."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[bytes, bytes | None], ...]


class OffsetAtTime(NamedTuple):
    """Where a time lookup landed."""

    offset: int
    timestamp: int


class RecordProblem(NamedTuple):
    """What is wrong with a record, counted from 0 in its batch: an entry of `record_errors`."""

    batch_index: int
    message: str


def parse_header(view: Buffer, offset: int = 0) -> BatchHeader:
    """The header at `offset`, unjudged: magic, length and counts may be anything.

    Raises Malformed where fewer than 61 bytes are left.
    """
    if len(view) - offset < HEADER_BYTES:
        raise Malformed(f"{len(view) - offset} bytes are no batch header")
    return BatchHeader._make(BATCH_HEADER.unpack_from(view, offset))


def crc_matches(batch: memoryview, header: BatchHeader) -> bool:
    """Whether the header's CRC-32C is that of the batch, which must be whole."""
    return crc32c(batch[ATTRIBUTES_AT : header.size_bytes]) == header.crc


def iter_batches(view: memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Each batch of a buffer of whole batches, with its header; its CRC is not checked.

    Raises Malformed on a batch that is cut, has an impossible length or is not of magic 2.
    """
    position = 0
    while position < len(view):
        header = parse_header(view, position)
        end = position + header.size_bytes
        if header.size_bytes < HEADER_BYTES or end > len(view):
            raise Malformed(f"batch length {header.batch_length} in a buffer of {len(view)} bytes")
        if header.magic != MAGIC:
            raise Malformed(f"a batch of magic {header.magic}")
        yield header, view[position:end]
        position = end


def iter_records(
    batch: memoryview, header: BatchHeader | None = None, max_bytes: int = MAX_DECOMPRESSED_BYTES
) -> Iterator[Record]:
    """The records of one whole batch, one at a time; at most `max_bytes` are decompressed for them.

    Raises Malformed at the first thing that is wrong, behind the records before it.
    """
    if header is None:
        header = parse_header(batch)
    data = _records_data(batch, header, max_bytes)
    position, previous_delta = 0, -1
    for index in range(header.records_count):
        position, record = _read_record(data, position, header)
        delta = record.offset - header.base_offset
        if not previous_delta < delta <= header.last_offset_delta:
            raise Malformed(f"record {index} has offset delta {delta} behind {previous_delta}")
        previous_delta = delta
        yield record
    if position != len(data):
        raise Malformed(f"{len(data) - position} bytes behind the last record")


def check_records(
    batch: memoryview,
    header: BatchHeader,
    *,
    requires_keys: bool,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    max_problems: int = 100,
) -> tuple[RecordProblem, ...]:
    """What is wrong with the records of a batch as a producer sent it: empty if nothing is.

    A problem behind which nothing can be read is the last one; what goes beyond `max_problems` is
    left out, since the peer decides how many there are.
    """
    problems: list[RecordProblem] = []
    index = position = 0
    try:
        data = _records_data(batch, header, max_bytes)
        while index < header.records_count and len(problems) < max_problems:
            position, record = _read_record(data, position, header)
            if record.offset - header.base_offset != index:
                delta = record.offset - header.base_offset
                problems.append(RecordProblem(index, f"offset delta {delta} instead of {index}"))
            if requires_keys and record.key is None:
                problems.append(
                    RecordProblem(index, "a compacted topic needs a key in every record")
                )
            index += 1
        if index == header.records_count and position != len(data):
            raise Malformed(f"{len(data) - position} bytes behind the last record")
    except Malformed as error:
        problems.append(RecordProblem(index, str(error)))
    return tuple(problems[:max_problems])


def first_record_at_or_after(
    batch: memoryview,
    timestamp_ms: int,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
    *,
    from_offset: int = 0,
) -> OffsetAtTime | None:
    """The first record, by offset, that is not older than `timestamp_ms`. Raises Malformed."""
    for record in iter_records(batch, None, max_bytes):
        if record.timestamp >= timestamp_ms and record.offset >= from_offset:
            return OffsetAtTime(record.offset, record.timestamp)
    return None


def record_with_max_timestamp(
    batch: memoryview, max_bytes: int = MAX_DECOMPRESSED_BYTES, *, from_offset: int = 0
) -> OffsetAtTime | None:
    """The first record that has the largest timestamp; None without records. Raises Malformed."""
    found: OffsetAtTime | None = None
    for record in iter_records(batch, None, max_bytes):
        is_larger = found is None or record.timestamp > found.timestamp
        if is_larger and record.offset >= from_offset:
            found = OffsetAtTime(record.offset, record.timestamp)
    return found


def recompress(
    batch: memoryview,
    codec: Codec,
    level: int | None = None,
    max_bytes: int = MAX_DECOMPRESSED_BYTES,
) -> bytearray:
    """The same batch with its records in another codec: new length, codec bits and CRC.

    Raises Malformed where the records cannot be decompressed; they are not looked at one by one.
    """
    header = parse_header(batch)
    data = compress(codec, _records_data(batch, header, max_bytes), level)
    changed = bytearray(batch[:HEADER_BYTES]) + data
    _BATCH_LENGTH.pack_into(changed, BATCH_LENGTH_AT, len(changed) - LOG_OVERHEAD)
    _ATTRIBUTES.pack_into(changed, ATTRIBUTES_AT, header.attributes & ~CODEC_MASK | codec)
    seal(changed)
    return changed


def stamp_log_append_time(batch: Buffer, timestamp_ms: int) -> bytearray:
    """A copy of the batch whose records all read as of `timestamp_ms`, which becomes max_timestamp.

    The records' deltas and base_timestamp stay, as in Kafka: readers look at the bit.
    """
    stamped = bytearray(batch)
    (attributes,) = _ATTRIBUTES.unpack_from(stamped, ATTRIBUTES_AT)
    _ATTRIBUTES.pack_into(stamped, ATTRIBUTES_AT, attributes | LOG_APPEND_TIME)
    _TIMESTAMP.pack_into(stamped, MAX_TIMESTAMP_AT, timestamp_ms)
    seal(stamped)
    return stamped


def seal(batch: bytearray) -> None:
    """Write the CRC-32C of the batch into it."""
    crc = crc32c(memoryview(batch)[ATTRIBUTES_AT:])
    _CRC.pack_into(batch, CRC_AT, crc)


def _records_data(batch: memoryview, header: BatchHeader, max_bytes: int) -> bytes:
    """The record bytes of a whole batch, decompressed. Raises Malformed.

    They are copied once, on purpose: records keep slices of bytes, and bytes are faster to index.
    """
    if header.magic != MAGIC or header.size_bytes != len(batch) or header.records_count < 0:
        raise Malformed(f"{len(batch)} bytes are not one batch of magic {MAGIC}")
    return decompress(header.codec, batch[HEADER_BYTES:], max_bytes)


def _read_record(data: bytes, position: int, header: BatchHeader) -> tuple[int, Record]:
    """The record at `position` and the position behind it. Raises Malformed."""
    length, position = _read_varint(data, position)
    end = position + length
    if length < 1 or end > len(data):
        raise Malformed(f"a record of {length} bytes where {len(data) - position} are left")
    timestamp_delta, position = _read_varint(data, position + 1, bits=64)
    offset_delta, position = _read_varint(data, position)
    key, position = _read_nullable(data, position, end)
    value, position = _read_nullable(data, position, end)
    headers, position = _read_headers(data, position, end)
    if position != end:
        raise Malformed(f"a record's fields end {end - position} bytes before its length says")
    timestamp = header.base_timestamp + timestamp_delta
    if not -(1 << 63) <= timestamp < 1 << 63:
        raise Malformed(f"a timestamp of {timestamp} ms")
    if header.uses_log_append_time:
        timestamp = header.max_timestamp
    return end, Record(header.base_offset + offset_delta, timestamp, key, value, headers)


def _read_headers(
    data: bytes, position: int, end: int
) -> tuple[tuple[tuple[bytes, bytes | None], ...], int]:
    count, position = _read_varint(data, position)
    if count == 0:
        return (), position
    if not 0 < count <= (end - position) // 2:  # a name and a value take a byte each at least
        raise Malformed(f"{count} headers in {end - position} bytes")
    headers: list[tuple[bytes, bytes | None]] = []
    for _ in range(count):
        name, position = _read_nullable(data, position, end)
        if name is None:
            raise Malformed("a record header without a name")
        value, position = _read_nullable(data, position, end)
        headers.append((name, value))
    return tuple(headers), position


def _read_nullable(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    """A length and as many bytes; -1 is null. Nothing is copied before the length is checked."""
    length, position = _read_varint(data, position)
    if length == -1:
        return None, position
    behind = position + length
    if length < 0 or behind > end:
        raise Malformed(f"a field of {length} bytes where {end - position} are left")
    return data[position:behind], behind


def _read_varint(data: bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """A zigzag varint and the position behind it: 5 bytes at most for 32 bits, 10 for 64."""
    try:
        value = data[position]
        if value < 0x80:  # most numbers of most records
            return (value >> 1) ^ -(value & 1), position + 1
        value &= 0x7F
        for shift in range(7, bits, 7):
            position += 1
            byte = data[position]
            value |= (byte & 0x7F) << shift
            if byte < 0x80 and value >> bits == 0:
                return (value >> 1) ^ -(value & 1), position + 1
    except IndexError:
        raise Malformed("the records end within a number") from None
    raise Malformed(f"a number of more than {bits} bits")

"""Record batches of magic 2 as a producer builds them: for tools, fixtures and tests.

The bytes are those of Kafka's own builder: base_timestamp is the first record's, numbers are as
short as they can be. A broker only ever changes batches, see records.py.
"""

from collections.abc import Sequence
from typing import NamedTuple

from .compression import Codec, compress
from .records import (
    BATCH_HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    seal,
)


class NewRecord(NamedTuple):
    """What a producer hands in: the offset is the broker's business."""

    value: bytes | None
    key: bytes | None = None
    timestamp: int = NO_TIMESTAMP
    headers: Sequence[tuple[bytes, bytes | None]] = ()


def build_batch(
    records: Sequence[NewRecord],
    *,
    codec: Codec = Codec.NONE,
    attributes: int = 0,
    base_offset: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    partition_leader_epoch: int = -1,
) -> bytes:
    """One batch of the records, in order; `attributes` are the bits beside the codec's."""
    timestamps = [record.timestamp for record in records] or [NO_TIMESTAMP]
    data = bytearray()
    for offset_delta, record in enumerate(records):
        body = _record_body(record, record.timestamp - timestamps[0], offset_delta)
        data += _varint(len(body)) + body
    compressed = compress(codec, data)
    batch = bytearray(HEADER_BYTES) + compressed
    BATCH_HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LOG_OVERHEAD,
        partition_leader_epoch,
        MAGIC,
        0,  # the CRC, which the last line sets
        attributes | codec,
        len(records) - 1,
        timestamps[0],
        max(timestamps),
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )
    seal(batch)
    return bytes(batch)


def _record_body(record: NewRecord, timestamp_delta: int, offset_delta: int) -> bytes:
    parts = [b"\0", _varint(timestamp_delta), _varint(offset_delta)]
    parts += _nullable(record.key), _nullable(record.value), _varint(len(record.headers))
    for name, value in record.headers:
        parts += _nullable(name), _nullable(value)
    return b"".join(parts)


def _nullable(field: bytes | None) -> bytes:
    return _varint(-1) if field is None else _varint(len(field)) + field


def _varint(number: int) -> bytes:
    """Zigzag, seven bits a byte, lowest first."""
    rest = number << 1 if number >= 0 else ~(number << 1)
    encoded = bytearray()
    while rest >= 0x80:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)

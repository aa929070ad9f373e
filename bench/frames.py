"""Frames for the raw driver, built before the clock runs: every one is sent once."""

from struct import Struct, pack, unpack_from

from fastcrc.crc32 import iscsi as crc32c

PRODUCE_VERSION = 9
_TAIL = Struct(">hiqqqhii")


def varint(value: int) -> bytes:
    """A zigzag varint."""
    return uvarint((value << 1) ^ (value >> 63))


def uvarint(value: int) -> bytes:
    """An unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(delta: int, value: bytes) -> bytes:
    """One record without key and headers."""
    body = b"\0\0" + varint(delta) + varint(-1) + varint(len(value)) + value + b"\0"
    return varint(len(body)) + body


def batch(records: bytes, count: int, now_ms: int, producer_id: int, sequence: int) -> bytes:
    """A batch of magic 2 of epoch 0."""
    tail = _TAIL.pack(0, count - 1, now_ms, now_ms, producer_id, 0, sequence, count) + records
    return pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def produce_frames(
    topic: str, partition: int, producer_id: int, now_ms: int, batch_bytes: int, frames: int
) -> list[bytes]:
    """Consecutive Produce frames of one partition: one record each, or 1 KB ones up to a size."""
    value = b"v" * 100 if batch_bytes <= 200 else b"v" * 1000
    count = max(1, batch_bytes // (len(value) + 10))
    records = b"".join(record(delta, value) for delta in range(count))
    name = topic.encode()
    out = []
    for number in range(frames):
        data = batch(records, count, now_ms, producer_id, number * count)
        body = (
            pack(">hhih", 0, PRODUCE_VERSION, number, 5)
            + b"bench\0"
            + b"\0"
            + pack(">hi", -1, 30_000)
            + b"\x02"
            + uvarint(len(name) + 1)
            + name
            + b"\x02"
            + pack(">i", partition)
            + uvarint(len(data) + 1)
            + data
            + b"\0\0\0"
        )
        out.append(pack(">i", len(body)) + body)
    return out


def init_producer_id() -> bytes:
    """InitProducerId v0 without a transactional id."""
    body = pack(">hhih", 22, 0, 1, -1) + pack(">hi", -1, 60_000)
    return pack(">i", len(body)) + body


def api_versions() -> bytes:
    """ApiVersions v0."""
    body = pack(">hhih", 18, 0, 1, -1)
    return pack(">i", len(body)) + body


def fetch(topic: str, partition: int, offset: int, max_bytes: int) -> bytes:
    """Fetch v4 of one partition."""
    name = topic.encode()
    body = (
        pack(">hhih", 1, 4, 1, -1)
        + pack(">iiiib", -1, 1000, 1, max_bytes, 0)
        + pack(">ih", 1, len(name))
        + name
        + pack(">iiqi", 1, partition, offset, max_bytes)
    )
    return pack(">i", len(body)) + body


def next_offset(topic: str, answer: bytes) -> int:
    """The offset behind the records of a Fetch v4 answer; 0 if it has none."""
    at, offset = 48 + len(topic.encode()), 0
    while at + 61 <= len(answer):
        base_offset, length = unpack_from(">qi", answer, at)
        offset = base_offset + unpack_from(">i", answer, at + 23)[0] + 1
        at += 12 + length
    return offset

"""Record batches by hand, sharing nothing with the code under test."""

import gzip
from collections.abc import Sequence
from struct import pack

from fastcrc.crc32 import iscsi as crc32c


def varint(value: int) -> bytes:
    """A zigzag varint."""
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def record(delta: int, key: bytes | None, value: bytes | None, time_delta: int = 0) -> bytes:
    """One record without headers."""

    def sized(data: bytes | None) -> bytes:
        return varint(-1) if data is None else varint(len(data)) + data

    body = b"\0" + varint(time_delta) + varint(delta) + sized(key) + sized(value) + varint(0)
    return varint(len(body)) + body


def batch(
    first: int,
    last: int,
    *,
    producer_id: int = 7,
    epoch: int = 0,
    timestamp: int | None = None,
    values: Sequence[bytes] | None = None,
    key: bytes | None = b"k",
    count: int | None = None,
    base_offset: int = 0,
    attributes: int = 0,
    magic: int = 2,
    wrong_crc: bool = False,
    times: Sequence[int] | None = None,
    is_gzip: bool = False,
) -> bytes:
    """The batch that the spec writes as [first-last]: a record a sequence, across the wrap too.

    `times` are the records' own, one each.
    """
    length = (last - first) % 2**31 + 1
    values = values or [b"value %d" % ((first + at) % 2**31) for at in range(length)]
    times = times or [now_ms() if timestamp is None else timestamp] * len(values)
    records = b"".join(
        record(at, key, value, times[at] - times[0]) for at, value in enumerate(values)
    )
    stated = len(values) if count is None else count
    codec = 1 if is_gzip else 0
    tail = pack(">hiqq", attributes | codec, len(values) - 1, times[0], max(times))
    tail += pack(">qhii", producer_id, epoch, first, stated)
    tail += gzip.compress(records) if is_gzip else records
    head = pack(">ibI", -1, magic, crc32c(tail) ^ wrong_crc)
    return pack(">qi", base_offset, len(head) + len(tail)) + head + tail


def now_ms() -> int:
    """The machine's clock, which a broker under test has too."""
    import time

    return time.time_ns() // 1_000_000

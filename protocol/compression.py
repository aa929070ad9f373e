"""Kafka's compression codecs, each with a hard cap on what it may put out.

| codec  | in                                                 | out                                |
|--------|----------------------------------------------------|------------------------------------|
| gzip   | members                                            | one member                         |
| snappy | xerial blocks (Java, aiokafka) or raw (librdkafka) | xerial blocks                      |
| lz4    | frames                                             | one frame, blocks independent      |
| zstd   | frames                                             | one frame                          |

Cut input, and bytes that belong to no member, frame or block, are refused, as most clients do: what
one of them cannot read is no batch for a broker to hand on. Java reads only independent lz4 blocks.
"""

import mmap
import struct
from enum import IntEnum

from .errors import Malformed

Buffer = bytes | bytearray | memoryview

# Clients bound a batch before they compress it (16 KB to a few MB), or the broker bounds it behind
# (max.message.bytes); this is far beyond what they send, and a bound for those who lie.
MAX_DECOMPRESSED_BYTES = 128 * 1024 * 1024

_XERIAL_MAGIC = b"\x82SNAPPY\0"
# Version 1, readable from version 1. Readers ignore both: some clients write them in little-endian.
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES = 32 * 1024
_BLOCK_LENGTH = struct.Struct(">i")


class Codec(IntEnum):
    """The codec bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# What Kafka takes where a topic sets no level (KIP-390); for lz4 that is its fast compressor.
_DEFAULT_LEVELS = {Codec.GZIP: 6, Codec.LZ4: 1, Codec.ZSTD: 3}


def decompress(codec: int, data: Buffer, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> bytes:
    """What `data` holds: at most `max_bytes`, which is at least 1.

    Raises Malformed if the data is damaged or holds more, or the codec is none of ours.
    """
    if codec == Codec.NONE:
        if len(data) > max_bytes:
            raise Malformed(f"{len(data)} bytes of records where {max_bytes} are allowed")
        return bytes(data)
    import cramjam

    # The system provides the pages of this memory that are written, not more: the cap costs nothing
    # where it is not reached, and nothing is allocated by what the input says of its own size.
    with mmap.mmap(-1, max_bytes) as memory, memoryview(memory) as output:
        try:
            size_bytes = _decompress_into(codec, memoryview(data), output)
        except cramjam.DecompressionError as error:
            raise Malformed(f"records of codec {codec}: {error}") from error
        return bytes(output[:size_bytes])


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` in the form that every client reads. Snappy has no levels."""
    import cramjam

    if level is None:
        level = _DEFAULT_LEVELS.get(codec)
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level))
        case Codec.SNAPPY:
            return _compress_xerial(memoryview(data))
        case Codec.LZ4:
            compressor = cramjam.lz4.Compressor(level, content_checksum=False, block_linked=False)
            compressor.compress(bytes(data))  # it takes no other buffer
            return bytes(compressor.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level))


def _decompress_into(codec: int, data: memoryview, output: memoryview) -> int:
    """How many bytes of `output` were filled; cramjam refuses to write beyond its end."""
    import cramjam

    match codec:
        case Codec.GZIP:
            return cramjam.gzip.decompress_into(data, output)
        case Codec.SNAPPY if data[: len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            return _decompress_xerial_into(data[len(_XERIAL_HEADER) :], output)
        case Codec.SNAPPY:
            return cramjam.snappy.decompress_raw_into(data, output)
        case Codec.LZ4:
            return cramjam.lz4.decompress_into(data, output)
        case Codec.ZSTD:
            return cramjam.zstd.decompress_into(data, output)
    raise Malformed(f"no codec has the number {codec}")


def _decompress_xerial_into(blocks: memoryview, output: memoryview) -> int:
    """Each block is a length and as many bytes of raw snappy."""
    import cramjam

    filled = 0
    while blocks:
        if len(blocks) < _BLOCK_LENGTH.size:
            raise Malformed("snappy: a block's length is cut")
        (length,) = _BLOCK_LENGTH.unpack_from(blocks)
        block, blocks = blocks[_BLOCK_LENGTH.size :][:length], blocks[_BLOCK_LENGTH.size + length :]
        if length < 1 or len(block) < length:
            raise Malformed(f"snappy: a block of {length} bytes where {len(block)} are left")
        with output[filled:] as rest:
            filled += cramjam.snappy.decompress_raw_into(block, rest)
    return filled


def _compress_xerial(data: memoryview) -> bytes:
    import cramjam

    parts = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        parts += _BLOCK_LENGTH.pack(len(block)), block
    return b"".join(parts)

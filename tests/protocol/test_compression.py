"""Codecs: what clients' libraries write and read, and what a hostile peer may cost."""

import gzip
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from random import Random

import aiokafka.codec as aiokafka_codec
import kafka.codec as kafka_python_codec
import lz4.frame  # type: ignore[import-untyped]  # ships no types
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from minibroker.protocol.compression import Codec, compress, decompress
from minibroker.protocol.errors import Malformed

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"The quick brown fox jumps over the lazy dog. " * 2000
NOISE = Random(7).randbytes(100_000)
SAMPLES = [b"a", TEXT, NOISE]

each_codec = pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
each_library = pytest.mark.parametrize(
    "library", [aiokafka_codec, kafka_python_codec], ids=["aiokafka", "kafka-python"]
)


def library_function(library: object, codec: Codec, direction: str) -> Callable[[bytes], bytes]:
    function: Callable[[bytes], bytes] = getattr(library, f"{codec.name.lower()}_{direction}")
    return function


@given(data=st.binary(max_size=500), repeats=st.integers(0, 300), codec=st.sampled_from(Codec))
def test_what_was_compressed_comes_back(data: bytes, repeats: int, codec: Codec) -> None:
    original = data * repeats

    assert decompress(codec, compress(codec, original)) == original


@each_codec
@each_library
@pytest.mark.parametrize("original", SAMPLES, ids=["byte", "text", "noise"])
def test_a_client_library_reads_what_we_write(
    library: object, codec: Codec, original: bytes
) -> None:
    assert library_function(library, codec, "decode")(compress(codec, original)) == original


@each_codec
@each_library
@pytest.mark.parametrize("original", SAMPLES, ids=["byte", "text", "noise"])
def test_we_read_what_a_client_library_writes(
    library: object, codec: Codec, original: bytes
) -> None:
    compressed = library_function(library, codec, "encode")(original)

    assert decompress(codec, compressed) == original
    assert decompress(codec, memoryview(bytearray(compressed))) == original


def test_raw_snappy_as_librdkafka_sends_it_is_read() -> None:
    # A length of 9; a literal of 3 bytes; a copy of 6 bytes from 3 bytes back.
    assert decompress(Codec.SNAPPY, b"\x09\x08abc\x09\x03") == b"abcabcabc"


def test_xerial_versions_in_little_endian_are_read_as_some_clients_write_them() -> None:
    framed = b"\x82SNAPPY\0" + struct.pack("<ii", 1, 1) + struct.pack(">i", 4) + b"\x02\x04ab"

    assert decompress(Codec.SNAPPY, framed) == b"ab"


def test_snappy_leaves_in_the_framing_that_java_writes() -> None:
    compressed = compress(Codec.SNAPPY, bytes(70_000))

    assert compressed[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    sizes = []
    position = 16
    while position < len(compressed):
        (length,) = struct.unpack_from(">i", compressed, position)
        position += 4 + length
        sizes.append(length)
    assert len(sizes) == 3  # of 32 KiB each, and the rest


def test_lz4_leaves_in_independent_blocks_since_java_reads_no_others() -> None:
    compressed = compress(Codec.LZ4, TEXT * 10)

    assert lz4.frame.get_frame_info(compressed)["block_linked"] is False


@pytest.mark.parametrize(("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.ZSTD, (-5, 19))])
def test_a_higher_level_compresses_more(codec: Codec, levels: tuple[int, int]) -> None:
    words = [b"broker", b"partition", b"offset", b"epoch", b"sequence", b"producer"]
    text = b" ".join(Random(3).choices(words, k=20_000))

    fast, small = (compress(codec, text, level) for level in levels)

    assert len(small) < len(fast)
    assert decompress(codec, small) == decompress(codec, fast) == text


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, 6), (Codec.LZ4, 1), (Codec.ZSTD, 3)])
def test_without_a_level_it_is_kafkas_own(codec: Codec, level: int) -> None:
    text = b" ".join(b"%d" % (number * number) for number in range(5000))

    assert compress(codec, text) == compress(codec, text, level)
    assert compress(codec, text) != compress(codec, text, level + 3)


@pytest.mark.parametrize("level", [1, 9, 17])
def test_every_lz4_level_of_kafka_is_taken(level: int) -> None:
    assert lz4.frame.decompress(compress(Codec.LZ4, TEXT, level)) == TEXT


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_the_cap_is_exact(codec: Codec) -> None:
    compressed = compress(codec, TEXT)

    assert decompress(codec, compressed, len(TEXT)) == TEXT
    with pytest.raises(Malformed):
        decompress(codec, compressed, len(TEXT) - 1)


@pytest.mark.parametrize("compressor", [gzip.compress, lz4.frame.compress, zstandard.compress])
def test_members_and_frames_may_follow_each_other(compressor: Callable[[bytes], bytes]) -> None:
    codec = {gzip.compress: Codec.GZIP, lz4.frame.compress: Codec.LZ4}.get(compressor, Codec.ZSTD)
    compressed = compressor(b"one") + compressor(b"two")

    assert decompress(codec, compressed) == b"onetwo"
    with pytest.raises(Malformed):
        decompress(codec, compressed, 5)


@each_codec
def test_cut_input_is_malformed_wherever_it_is_cut(codec: Codec) -> None:
    compressed = compress(codec, NOISE[:300] + bytes(300))
    first_cut = 17 if codec is Codec.SNAPPY else 0  # a frame without blocks is empty, not cut

    for size in range(first_cut, len(compressed)):
        with pytest.raises(Malformed):
            decompress(codec, compressed[:size])


@each_codec
def test_bytes_behind_the_end_are_malformed(codec: Codec) -> None:
    with pytest.raises(Malformed):
        decompress(codec, compress(codec, TEXT) + b"surplus")


@pytest.mark.parametrize("length", [-1, 0, 5, 2**31 - 1, -(2**31)])
def test_an_impossible_length_of_a_xerial_block_is_malformed(length: int) -> None:
    framed = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + struct.pack(">i", length) + b"\x02\x04ab"

    with pytest.raises(Malformed, match=f"a block of {length} bytes"):
        decompress(Codec.SNAPPY, framed)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_malformed(codec: int) -> None:
    with pytest.raises(Malformed):
        decompress(codec, b"")


@given(codec=st.integers(0, 7), data=st.binary(max_size=200))
def test_arbitrary_bytes_raise_nothing_but_malformed(codec: int, data: bytes) -> None:
    with suppress(Malformed):
        assert len(decompress(codec, data, 1000)) <= 1000


@given(codec=st.sampled_from(CODECS), seed=st.integers(0, 1 << 32), flips=st.integers(1, 4))
def test_damaged_bytes_raise_nothing_but_malformed(codec: Codec, seed: int, flips: int) -> None:
    random = Random(seed)
    damaged = bytearray(compress(codec, TEXT[:2000]))
    for _ in range(flips):
        damaged[random.randrange(len(damaged))] = random.randrange(256)

    with suppress(Malformed):
        assert len(decompress(codec, damaged, 10_000)) <= 10_000


BOMBS = """
import resource, sys
from minibroker.protocol.compression import decompress
from minibroker.protocol.errors import Malformed

def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

codec, cap = int(sys.argv[1]), int(sys.argv[2])
bomb = sys.stdin.buffer.read()
try:
    decompress(codec, bomb[:10], cap)  # the codec is loaded before anything is measured
except Malformed:
    pass
before = peak_kib()
try:
    decompress(codec, bomb, cap)
except Malformed:
    print(peak_kib() - before)
"""
ZEROS = bytes(1 << 26)
XERIAL_OF_ZEROS = compress(Codec.SNAPPY, ZEROS)


def zstd_with_window(window_log: int, states_size: bool) -> bytes:
    parameters = zstandard.ZstdCompressionParameters.from_level(
        3, window_log=window_log, write_content_size=states_size
    )
    return zstandard.ZstdCompressor(compression_params=parameters).compress(ZEROS)


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        pytest.param(Codec.GZIP, gzip.compress(ZEROS) * 16, id="gzip, 1 GiB"),
        pytest.param(Codec.SNAPPY, XERIAL_OF_ZEROS, id="snappy blocks, 64 MiB"),
        pytest.param(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f\0a", id="snappy that claims 4 GiB"),
        pytest.param(Codec.LZ4, lz4.frame.compress(ZEROS) * 16, id="lz4, 1 GiB"),
        pytest.param(Codec.ZSTD, zstandard.compress(ZEROS) * 64, id="zstd, 4 GiB"),
        pytest.param(Codec.ZSTD, zstd_with_window(27, True), id="zstd that states its size"),
        pytest.param(Codec.ZSTD, zstd_with_window(27, False), id="zstd with a window of 128 MiB"),
    ],
)
def test_a_bomb_stops_at_the_cap_and_costs_no_more_memory(codec: Codec, bomb: bytes) -> None:
    cap_bytes = 4 << 20

    result = subprocess.run(
        [sys.executable, "-c", BOMBS, str(int(codec)), str(cap_bytes)],
        input=bomb,
        capture_output=True,
        check=True,
        timeout=30,
    )

    grown_bytes = int(result.stdout) * 1024  # no number at all: it was not Malformed
    assert grown_bytes < 3 * cap_bytes


def test_codecs_are_imported_when_first_used() -> None:
    script = "import sys, minibroker.protocol.records; print('cramjam' in sys.modules)"

    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, timeout=30
    )

    assert result.stdout.strip() == "False"

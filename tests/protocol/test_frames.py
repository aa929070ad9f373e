"""Splitting: however the bytes come, the frames are the same, and nobody gets another's."""

import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, cycle, islice, repeat
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibroker.protocol.errors import FrameTooLarge
from minibroker.protocol.frames import (
    LARGE_FRAME_BYTES,
    RECEIVE_BYTES,
    FrameSplitter,
    ReceiveBuffers,
)

MAX_BYTES = 4 * 1024 * 1024
SIZES = st.one_of(
    st.integers(0, 40),
    st.integers(LARGE_FRAME_BYTES - 8, LARGE_FRAME_BYTES + 8),
    st.integers(RECEIVE_BYTES - 8, RECEIVE_BYTES + 8),
    st.integers(0, 700_000),
)
CUTS = st.one_of(
    st.integers(1, 8), st.integers(LARGE_FRAME_BYTES - 8, LARGE_FRAME_BYTES + 8), st.just(1 << 30)
)


def frames_of(sizes: Iterable[int]) -> list[bytes]:
    """Frames whose bytes tell which one they are of, and where in it."""
    return [bytes((size + at * 7 + i) & 0xFF for i in range(min(size, 251))) * (size // 251 + 1)
            for at, size in enumerate(sizes)]  # fmt: skip


def sent(frames: Iterable[bytes]) -> bytes:
    return b"".join(pack(">i", len(frame)) + frame for frame in frames)


def put(splitter: FrameSplitter, data: bytes) -> int:
    """One read of the beginning of the data; how much of it fitted."""
    space = splitter.space()
    count = min(len(space), len(data))
    assert count, "a read without room would look like the end of the connection"
    space[:count] = data[:count]
    splitter.received(count)
    return count


def whole(splitter: FrameSplitter) -> Iterator[bytes]:
    while (frame := splitter.next_frame()) is not None:
        yield bytes(frame)


def split(data: bytes, cut: Callable[[], int]) -> list[bytes]:
    splitter = FrameSplitter(ReceiveBuffers(), MAX_BYTES)
    got: list[bytes] = []
    while data:
        count = put(splitter, data[: cut()])
        data = data[count:]
        got += whole(splitter)
        splitter.keep()
    return got


@given(st.lists(SIZES, max_size=4), st.lists(CUTS, min_size=1, max_size=5))
def test_cut_anywhere_the_frames_are_the_same(sizes: list[int], cuts: list[int]) -> None:
    frames = frames_of(sizes)
    # Small cuts go on for a while only: a large frame byte by byte would take long.
    turns = chain(islice(cycle(cuts), 200), repeat(1 << 30))

    assert split(sent(frames), lambda: next(turns)) == frames


def test_byte_at_a_time_equals_at_once() -> None:
    frames = frames_of([0, 1, 3, 4, 5, 300, LARGE_FRAME_BYTES + 1, 0, 17])
    data = sent(frames)

    assert split(data, lambda: 1) == split(data, lambda: len(data)) == frames


def test_thousands_of_small_frames_in_one_read() -> None:
    frames = [pack(">i", at) for at in range(30_000)]

    assert split(sent(frames), lambda: 1 << 30) == frames


@given(st.lists(st.integers(0, 60_000), max_size=8), st.lists(st.integers(0, 3), max_size=9))
def test_a_busy_caller_finds_its_frames_again(sizes: list[int], patience: list[int]) -> None:
    frames = frames_of(sizes)
    turns = cycle([*patience, 1])
    splitter = FrameSplitter(ReceiveBuffers(), MAX_BYTES)
    rest, got, is_waiting = sent(frames), list[bytes](), False

    while len(got) < len(frames):
        if is_waiting:
            splitter.reconsider()
        else:
            rest = rest[put(splitter, rest) :]
        is_waiting = False
        for _ in range(next(turns)):
            frame = splitter.next_frame()
            if frame is None:
                break
            got.append(bytes(frame))
        else:
            is_waiting = True
        splitter.keep(may_grow=not is_waiting)

    assert got == frames


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 90_000)), max_size=60))
def test_pooled_buffers_never_mix_connections(turns: list[tuple[int, int]]) -> None:
    buffers = ReceiveBuffers()
    streams = [sent([bytes([one]) * size for size in (5, 70_000, 9, 400_000) * 3]) for one in
               (1, 2, 3)]  # fmt: skip
    splitters = [FrameSplitter(buffers, MAX_BYTES) for _ in streams]

    for one, count in turns:
        if not streams[one]:
            continue
        streams[one] = streams[one][put(splitters[one], streams[one][:count]) :]
        for frame in whole(splitters[one]):
            assert set(frame) == {one + 1}
        splitters[one].keep()


@pytest.mark.parametrize("size", [-1, -(2**31), MAX_BYTES + 1, 2**31 - 1])
def test_a_size_that_is_not_allowed_is_refused_before_its_frame_comes(size: int) -> None:
    splitter = FrameSplitter(ReceiveBuffers(), MAX_BYTES)
    put(splitter, sent([b"fine"]) + pack(">i", size))

    assert next(whole(splitter)) == b"fine"
    with pytest.raises(FrameTooLarge, match=str(size)):
        splitter.next_frame()


@pytest.mark.parametrize("count", [4, 100, LARGE_FRAME_BYTES, 50_000, RECEIVE_BYTES])
def test_an_announced_size_costs_at_most_32_bytes_for_each_byte_sent(count: int) -> None:
    buffers = ReceiveBuffers()
    splitter = FrameSplitter(buffers, 1 << 30)
    data = pack(">i", 1 << 30) + bytes(count - 4)

    tracemalloc.start()
    try:
        put(splitter, data)
        assert splitter.next_frame() is None
        held_bytes = splitter.keep()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak <= 32 * count + 4096
    assert count <= held_bytes <= 32 * count


def test_without_leave_to_grow_only_what_was_sent_is_held() -> None:
    splitter = FrameSplitter(ReceiveBuffers(), 1 << 30)
    frame = bytes(range(256)) * 2000
    data = sent([frame])
    taken = put(splitter, data)

    assert splitter.next_frame() is None
    assert splitter.keep(may_grow=False) == taken == RECEIVE_BYTES

    splitter.reconsider()
    assert splitter.next_frame() is None
    assert splitter.keep() > taken
    assert put(splitter, data[taken:]) == len(data) - taken
    assert list(whole(splitter)) == [frame]
    assert splitter.keep() == 0


def test_what_is_given_back_is_used_again_up_to_a_bound() -> None:
    buffers = ReceiveBuffers()
    first = buffers.take(100_000)
    buffers.give_back(first)

    assert buffers.take(70_000) is first
    assert buffers.take(70_000) is not first

    kept = [bytearray(1 << 20) for _ in range(40)]
    for buffer in kept:
        buffers.give_back(buffer)
    taken = [buffers.take(1 << 20) for _ in range(40)]
    assert len({id(buffer) for buffer in taken} & {id(buffer) for buffer in kept}) == 16

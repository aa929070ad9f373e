"""The log in memory against a list, and its bound."""

import logging
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.storage.chunks import LARGEST_CHUNK_BYTES, SMALLEST_CHUNK_BYTES
from minibroker.storage.engine import OffsetAndTime, StorageFailed
from minibroker.storage.memory import MemoryEngine, MemoryLog
from tests.batches import batch

LIMIT_BYTES = 4 * SMALLEST_CHUNK_BYTES


def make_log(engine: MemoryEngine, name: str = "t") -> MemoryLog:
    return engine.create(ZERO_TOPIC_ID, name, 0)


class Stored(NamedTuple):
    """A batch as the list has it."""

    base_offset: int
    records: int
    times: tuple[int, ...]
    data: bytes

    @property
    def end(self) -> int:
        return self.base_offset + self.records


class MemoryLogMachine(RuleBasedStateMachine):
    """Random operations on a log and on a list, with a limit that is soon reached."""

    @initialize()
    def start(self) -> None:
        self.log = make_log(MemoryEngine(LIMIT_BYTES))
        self.stored: list[Stored] = []
        self.end = 0
        self.held: list[tuple[memoryview, bytes]] = []

    @rule(
        times=st.lists(st.integers(-3, 50), min_size=1, max_size=3),
        size=st.sampled_from([10, 300, 5000, 15_000]),
        is_gzip=st.booleans(),
    )
    def append(self, times: list[int], size: int, is_gzip: bool) -> None:
        count = len(times)
        values = [bytes([size % 251]) * size] * count
        sent = batch(0, count - 1, values=values, times=times, is_gzip=is_gzip)
        try:
            offset = self.log.append(memoryview(sent), count, max(times))
        except StorageFailed:
            assert len(sent) > LIMIT_BYTES
            return
        assert offset == self.end
        self.stored.append(Stored(offset, count, tuple(times), sent))
        self.end += count
        # What the limit took was the oldest.
        self.stored = [one for one in self.stored if one.end > self.log.log_start_offset]

    @rule(offset=st.integers(0, 60), max_bytes=st.sampled_from([0, 1, 400, 6000, 1 << 20]))
    def read(self, offset: int, max_bytes: int) -> None:
        offset = max(self.log.log_start_offset, min(self.end, offset))
        views = self.log.read(offset, max_bytes, self.end)
        expected = [one for one in self.stored if one.end > offset]
        got = b"".join(views)

        at, read = 0, 0
        for one in expected:
            if at == len(got):
                break
            size = len(one.data)
            assert got[at : at + 8] == one.base_offset.to_bytes(8, "big")
            assert got[at + 8 : at + 12] == one.data[8:12]
            assert got[at + 16 : at + size] == one.data[16:]
            at, read = at + size, read + 1
        assert at == len(got)
        assert read or not expected, "the first batch is always whole"
        assert len(got) <= max_bytes or read == 1
        following = expected[read : read + 1]
        if following and max_bytes > 0:
            assert len(got) + len(following[0].data) > max_bytes
        if views:
            self.held.append((views[0], bytes(views[0])))

    @precondition(lambda self: self.held)
    @rule()
    def send_what_was_read(self) -> None:
        """A view that a slow client still sends from has kept its bytes, whatever came since."""
        view, content = self.held.pop()
        assert view == content

    @precondition(lambda self: self.stored)
    @rule(data=st.data())
    def read_to_an_end(self, data: st.DataObject) -> None:
        """What is acknowledged is whole batches; nothing behind them is read."""
        end = data.draw(st.sampled_from(self.stored)).base_offset
        offset = data.draw(st.integers(self.log.log_start_offset, self.end))
        expected = [one for one in self.stored if one.end > offset and one.base_offset < end]
        got = b"".join(self.log.read(offset, 1 << 20, end))
        assert len(got) == sum(len(one.data) for one in expected if offset < end)

    def readable(self) -> list[tuple[int, int]]:
        """(time, offset) of every record."""
        return [
            (time, one.base_offset + at)
            for one in self.stored
            for at, time in enumerate(one.times)
            if one.base_offset + at >= self.log.log_start_offset
        ]

    @rule(timestamp=st.integers(-5, 60))
    def look_up(self, timestamp: int) -> None:
        found = self.log.offset_at_or_after(timestamp)
        expected = next((one for one in self.readable() if one[0] >= timestamp), None)
        assert (found and (found.timestamp, found.offset)) == expected

    @rule()
    def look_up_the_newest(self) -> None:
        found = self.log.max_timestamp()
        expected = max(self.readable(), key=lambda one: one[0], default=None)
        assert (found and (found.timestamp, found.offset)) == expected

    @rule(offset=st.integers(0, 60))
    def trim(self, offset: int) -> None:
        before = self.log.log_start_offset
        self.log.trim(offset)
        assert self.log.log_start_offset == max(before, min(offset, self.end))
        self.stored = [one for one in self.stored if one.end > self.log.log_start_offset]

    @invariant()
    def bounds(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.end_offset == self.log.acknowledged_offset == self.end
        assert 0 <= self.log.log_start_offset <= self.end
        assert self.log._pool.allocated_bytes <= LIMIT_BYTES
        assert self.log.size_bytes >= sum(len(one.data) for one in self.stored)
        size = sum(len(one.data) for one in self.stored)
        assert self.log.bytes_between(self.log.log_start_offset, self.end) == size


MemoryLogMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestMemoryLog = MemoryLogMachine.TestCase


def append(log: MemoryLog, size: int) -> None:
    log.append(memoryview(batch(0, 0, values=[bytes(size)])), 1, 1)


def test_the_oldest_chunk_of_all_logs_goes_and_one_line_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = MemoryEngine(4 * SMALLEST_CHUNK_BYTES)
    old, new = make_log(engine, "old"), make_log(engine, "new")
    append(old, 10_000)

    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            append(new, 10_000)

    assert (old.log_start_offset, old.end_offset, old.size_bytes) == (1, 1, 0)
    assert new.log_start_offset > 0
    assert engine.pool.allocated_bytes <= 4 * SMALLEST_CHUNK_BYTES
    assert sum("of topic old first" in record.getMessage() for record in caplog.records) == 1
    assert sum("of topic new first" in record.getMessage() for record in caplog.records) == 1
    assert len(caplog.records) == 2
    append(old, 10)
    assert old.end_offset == 2


def test_a_batch_that_no_memory_is_enough_for_is_refused_and_nothing_is_lost() -> None:
    log = make_log(MemoryEngine(LIMIT_BYTES))
    append(log, 10)

    with pytest.raises(StorageFailed, match=r"memory\.limit is 65536 bytes"):
        append(log, LIMIT_BYTES)

    assert (log.log_start_offset, log.end_offset) == (0, 1)


def test_chunks_are_used_again() -> None:
    engine = MemoryEngine(1 << 30)
    log = make_log(engine)
    for _ in range(50):
        append(log, 100_000)
    allocated = engine.pool.allocated_bytes

    for _ in range(5):
        log.trim(log.end_offset)
        for _ in range(40):
            append(log, 100_000)

    assert engine.pool.allocated_bytes <= allocated + LARGEST_CHUNK_BYTES


def test_ten_thousand_logs_that_hold_a_record_each_stay_small() -> None:
    engine = MemoryEngine(1 << 30)
    for number in range(10_000):
        append(make_log(engine, f"t{number}"), 10)

    assert engine.pool.allocated_bytes == 10_000 * SMALLEST_CHUNK_BYTES


def test_what_a_deleted_log_held_is_free() -> None:
    engine = MemoryEngine(LIMIT_BYTES)
    log = make_log(engine)
    append(log, 40_000)
    log.close()

    append(make_log(engine, "next"), 40_000)

    assert engine.pool.allocated_bytes <= LIMIT_BYTES


@given(sizes=st.lists(st.integers(0, 3000), min_size=1, max_size=40), at=st.integers(0, 39))
def test_bytes_between_are_those_of_the_batches(sizes: list[int], at: int) -> None:
    log = make_log(MemoryEngine(1 << 24))
    stored = [batch(0, 0, values=[bytes(size)]) for size in sizes]
    for one in stored:
        log.append(memoryview(one), 1, 1)

    start = min(at, len(sizes))

    assert log.bytes_between(start, len(sizes)) == sum(len(one) for one in stored[start:])
    assert log.bytes_between(0, start) == sum(len(one) for one in stored[:start])


def test_what_cannot_be_read_is_found_by_what_its_header_says() -> None:
    log = make_log(MemoryEngine(LIMIT_BYTES))
    log.append(memoryview(batch(0, 1, times=[3, 8])[:61] + b"not a record"), 2, 8)
    log.trim(1)

    assert log.offset_at_or_after(5) == OffsetAndTime(1, 8)
    assert log.max_timestamp() == OffsetAndTime(1, 8)


def test_a_batch_larger_than_the_largest_chunk_has_one_of_its_own_that_is_not_kept() -> None:
    engine = MemoryEngine(8 * LARGEST_CHUNK_BYTES)
    log = make_log(engine)
    append(log, 2 * LARGEST_CHUNK_BYTES)
    allocated = engine.pool.allocated_bytes
    assert len(b"".join(log.read(0, 1, 1))) > 2 * LARGEST_CHUNK_BYTES

    log.trim(1)

    assert allocated > 2 * LARGEST_CHUNK_BYTES
    assert engine.pool.allocated_bytes == 0


def test_what_was_deleted_is_not_found_by_its_time() -> None:
    log = make_log(MemoryEngine(LIMIT_BYTES))
    log.append(memoryview(batch(0, 3, times=[10, 99, 5, 20], is_gzip=True)), 4, 99)
    log.append(memoryview(batch(0, 0, times=[30])), 1, 30)
    log.trim(2)

    assert log.offset_at_or_after(8) == OffsetAndTime(3, 20)
    assert log.offset_at_or_after(50) is None
    assert log.max_timestamp() == OffsetAndTime(4, 30)

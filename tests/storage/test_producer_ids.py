"""Producer ids: never one twice, and known as issued."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minibroker.storage.producer_ids import BLOCK_IDS, ProducerIds, first_producer_id


def test_a_block_is_kept_before_its_first_id_leaves() -> None:
    kept: list[tuple[int, int]] = []
    ids = ProducerIds(5000, lambda start, end: kept.append((start, end)))
    assert kept == []

    assert ids.allocate() == 5000
    assert kept == [(5000, 6000)]
    assert [ids.allocate() for _ in range(BLOCK_IDS)] == list(range(5001, 6001))
    assert kept == [(5000, 6000), (6000, 7000)]


def test_where_a_block_cannot_be_kept_no_id_leaves() -> None:
    failures = [OSError("full")]

    def reserve(start: int, end: int) -> None:
        if failures:
            raise failures.pop()

    ids = ProducerIds(1000, reserve)
    with pytest.raises(OSError, match="full"):
        ids.allocate()
    assert not ids.is_issued(1000)

    assert ids.allocate() == 1000


@given(
    blocks=st.lists(st.integers(0, 50), unique=True, max_size=10),
    probe=st.integers(0, 60_000),
    allocated=st.integers(0, 3),
)
def test_issued_is_what_is_in_a_reserved_block(
    blocks: list[int], probe: int, allocated: int
) -> None:
    reserved = [(block * 1000, block * 1000 + 1000) for block in blocks]
    ids = ProducerIds(52_000, lambda start, end: None, reserved)
    for _ in range(allocated):
        ids.allocate()

    is_reserved = any(start <= probe < end for start, end in reserved)
    assert ids.is_issued(probe) == (is_reserved or (allocated > 0 and 52_000 <= probe < 53_000))


@pytest.mark.parametrize(
    ("now_ms", "above", "expected"),
    [
        (1_700_000_000_000, [], 1_700_000_000_000_000),
        (1_700_000_000_000, [5], 1_700_000_000_000_000),
        (1_700_000_000_000, [1_700_000_000_000_000, 3], 1_700_000_000_000_001),
        (0, [], 0),
    ],
)
def test_a_start_is_above_everything_seen_and_above_the_clock(
    now_ms: int, above: list[int], expected: int
) -> None:
    assert first_producer_id(now_ms, above) == expected

"""Fuzz target: a batch, of any codec, decodes to records that build an equal one, or is Malformed.

python -m tests.fuzz.fuzz_batch [seconds]
"""

from pathlib import Path

from minibroker.protocol.batch_builder import NewRecord, build_batch
from minibroker.protocol.errors import Malformed
from minibroker.protocol.records import check_records, iter_records, parse_header

from .explorer import Target, main

MAX_DECOMPRESSED = 1 << 20


def check_batch(batch: bytes) -> bool:
    """Whether its records can be read. Raises: whatever shows a bug."""
    view = memoryview(batch)
    try:
        header = parse_header(view)
        records = list(iter_records(view, header, MAX_DECOMPRESSED))
    except Malformed:
        return False

    assert len(records) == header.records_count
    problems = check_records(view, header, requires_keys=False, max_bytes=MAX_DECOMPRESSED)
    deltas = [record.offset - header.base_offset for record in records]
    assert (problems == ()) == (deltas == list(range(len(records))))
    if problems or header.uses_log_append_time or header.base_offset:
        return True
    try:
        again = build_batch(
            [NewRecord(r.value, r.key, r.timestamp, r.headers) for r in records],
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
        )
    except OverflowError:  # a timestamp that no 64 bits hold: base and delta are the peer's
        return True
    assert [record[1:] for record in iter_records(memoryview(again))] == [
        record[1:] for record in records
    ]
    return True


BATCHES = Target("batch", Path(__file__).parent / "batch_corpus", check_batch)

if __name__ == "__main__":
    main(BATCHES)

"""Fuzz target: a batch, of any codec, decodes to records that build an equal one, or is Malformed.

python -m tests.fuzz.fuzz_batch [seconds]
"""

from pathlib import Path
from struct import pack_into

from minibroker.protocol.batch_builder import NewRecord, build_batch
from minibroker.protocol.compression import Codec
from minibroker.protocol.errors import Malformed
from minibroker.protocol.records import (
    BATCH_LENGTH_AT,
    HEADER_BYTES,
    LOG_OVERHEAD,
    BatchHeader,
    Record,
    check_records,
    iter_records,
    parse_header,
    recompress,
)

from .explorer import Target, main

MAX_DECOMPRESSED = 1 << 20


def check_batch(batch: bytes) -> bool:
    """Whether its records can be read: the same with any codec. Raises: whatever shows a bug."""
    view = memoryview(fitted(batch))
    records = read(view)
    try:
        others = [recompress(view, codec, max_bytes=MAX_DECOMPRESSED) for codec in Codec]
    except Malformed:
        assert records is None
        return False

    for other in others:
        assert read(memoryview(other)) == records
    if records is None:
        return False
    header = parse_header(view)
    assert len(records) == header.records_count
    problems = check_records(view, header, requires_keys=False, max_bytes=MAX_DECOMPRESSED)
    deltas = [record.offset - header.base_offset for record in records]
    assert (problems == ()) == (deltas == list(range(len(records))))
    if problems == () and deltas_of_time_fit(records):
        check_rebuilt(header, records)
    return True


def fitted(batch: bytes) -> bytes:
    """With the length that it has: most changes move it, and would get no further."""
    if len(batch) < HEADER_BYTES:
        return batch
    changed = bytearray(batch)
    pack_into(">i", changed, BATCH_LENGTH_AT, len(batch) - LOG_OVERHEAD)
    return bytes(changed)


def read(view: memoryview) -> list[Record] | None:
    """Its records; None if it is Malformed."""
    try:
        return list(iter_records(view, None, MAX_DECOMPRESSED))
    except Malformed:
        return None


def deltas_of_time_fit(records: list[Record]) -> bool:
    """Whether a builder, who counts from the first record's time, can write all others' times."""
    return all(
        -(1 << 63) <= record.timestamp - records[0].timestamp < 1 << 63 for record in records
    )


def check_rebuilt(header: BatchHeader, records: list[Record]) -> None:
    """What is built of the records has all of them, and the header's fields but those of times."""
    codec = Codec(header.codec)
    rebuilt = build_batch(
        [NewRecord(one.value, one.key, one.timestamp, one.headers) for one in records],
        codec=codec,
        attributes=header.attributes & ~int(codec),
        base_offset=header.base_offset,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        partition_leader_epoch=header.partition_leader_epoch,
    )
    again = parse_header(rebuilt)
    assert list(iter_records(memoryview(rebuilt))) == records
    assert again == header._replace(
        batch_length=again.batch_length,
        crc=again.crc,
        last_offset_delta=len(records) - 1,
        base_timestamp=again.base_timestamp,
        max_timestamp=again.max_timestamp,
    )


BATCHES = Target("batch", Path(__file__).parent / "batch_corpus", check_batch)

if __name__ == "__main__":
    main(BATCHES)

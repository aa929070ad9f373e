"""What a batch must be, in one order; and what a topic's settings do to it."""

from itertools import combinations
from struct import pack_into, unpack_from
from typing import NamedTuple

import pytest
from fastcrc.crc32 import iscsi

from minibroker.protocol.batch_builder import NewRecord, build_batch
from minibroker.protocol.compression import Codec
from minibroker.protocol.records import iter_records
from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.outcome import NotWritten, Outcome, Written
from minibroker.storage.partition import Partition, Sender
from minibroker.storage.producers import FormerProducers, ProducerLimits, ProducerTable
from minibroker.storage.topic_config import resolve
from minibroker.storage.turned_away import TurnedAway
from tests.batches import batch

NOW_MS = 1_800_000_000_000
LIMITS = ProducerLimits(86_400_000, 1000, 300_000)


def partition(**overrides: str) -> Partition:
    """One whose topic has these settings, with dots or underscores between the words."""
    settings = {name.replace("_", "."): value for name, value in overrides.items()}
    log = MemoryEngine(1 << 24).create(ZERO_TOPIC_ID, "t", 0)
    table = ProducerTable(LIMITS, FormerProducers(), "t-0")
    return Partition("t", 0, log, table, resolve(settings, {}), lambda producer_id: True)


def append(to: Partition, records: bytes | None, version: int = 9) -> Outcome:
    view = None if records is None else memoryview(records)
    return to.append(view, Sender(version, TurnedAway()), NOW_MS)


def stored(of: Partition) -> bytes:
    return b"".join(of.log.read(0, 1 << 24, of.log.end_offset))


class Problem(NamedTuple):
    """One thing that is wrong with a batch, and the answer to it."""

    name: str
    answer: int
    says: str
    """In the message: codes alone do not tell the checks apart."""
    edits: tuple[tuple[int, str, int], ...] = ()
    """(offset, struct code, value) in the header; attributes are or-ed."""
    is_behind: bool = False
    """The edits are made once the CRC is right."""
    settings: tuple[tuple[str, str], ...] = ()


ATTRIBUTES_AT = 21
# In the order in which they are to be answered.
PROBLEMS = (
    Problem("an old magic", 87, "message format 1", ((16, "b", 1),)),
    Problem("another magic", 2, "got magic 5", ((16, "b", 5),)),
    Problem("bytes behind", 87, "exactly one", ((8, ">i", 100),), is_behind=True),
    Problem("a length beyond the end", 2, "by its own length", ((8, ">i", 9999),)),
    Problem("an unknown codec", 76, "codec 7", ((ATTRIBUTES_AT, ">h", 7),)),
    Problem("a base offset", 87, "base offset 0", ((0, ">q", 9),)),
    Problem("too large", 10, "max.message.bytes", settings=(("max.message.bytes", "50"),)),
    Problem("a wrong CRC", 2, "CRC-32C", ((17, ">I", 1),), is_behind=True),
    Problem("a count that differs", 87, "records_count 3", ((57, ">i", 3),)),
    Problem("a control batch", 87, "control", ((ATTRIBUTES_AT, ">h", 0x20),)),
    Problem("no sequence", 87, "base sequence -1", ((53, ">i", -1),)),
    Problem("an impossible count", 87, "cannot be in", ((57, ">i", 99), (23, ">i", 98))),
    Problem("the broker's time", 32, "LogAppendTime", ((ATTRIBUTES_AT, ">h", 8),)),
    Problem("a wrong time", 32, "timestamps from", ((35, ">q", NOW_MS + 10**9),)),
    Problem("no key", 87, "needs a key", settings=(("cleanup.policy", "compact"),)),
    Problem("a gap", 45, "expected base sequence 0", ((53, ">i", 5),)),
)


def combined(*problems: Problem) -> tuple[Partition, bytes]:
    """A topic and a batch with these problems and no other."""
    is_keyless = any(problem.name == "no key" for problem in problems)
    sent = bytearray(batch(0, 1, timestamp=NOW_MS, key=None if is_keyless else b"k"))
    for is_behind in (False, True):
        for problem in problems:
            for at, code, value in problem.edits if problem.is_behind is is_behind else ():
                if at == ATTRIBUTES_AT:
                    value |= unpack_from(code, sent, at)[0]
                pack_into(code, sent, at, value)
        if not is_behind:
            pack_into(">I", sent, 17, iscsi(bytes(sent[21:])))
    settings = dict(setting for problem in problems for setting in problem.settings)
    if any(problem.name == "bytes behind" for problem in problems):
        pack_into(">i", sent, 8, len(sent) - 12)
        sent += b"more"
    return partition(**settings), bytes(sent)


def can_meet(one: Problem, other: Problem) -> bool:
    """Whether a batch can have both: not where they want other values in the same place."""
    places = {at for at, _, _ in one.edits} & {at for at, _, _ in other.edits}
    is_count = {"a count that differs", "an impossible count"} == {one.name, other.name}
    return not places - {ATTRIBUTES_AT} and not is_count


PAIRS = [pair for pair in combinations(PROBLEMS, 2) if can_meet(*pair)]


@pytest.mark.parametrize("problem", PROBLEMS, ids=[problem.name for problem in PROBLEMS])
def test_each_problem_has_its_answer_and_writes_nothing(problem: Problem) -> None:
    to, sent = combined(problem)

    outcome = append(to, sent)

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == problem.answer
    assert problem.says in outcome.message
    assert to.log.end_offset == 0
    assert len(to.producers) == 0


@pytest.mark.parametrize(
    ("first", "second"), PAIRS, ids=[f"{one.name}, {other.name}" for one, other in PAIRS]
)
def test_of_two_problems_the_earlier_one_is_answered(first: Problem, second: Problem) -> None:
    outcome = append(*combined(first, second))

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == first.answer
    assert first.says in outcome.message


def test_nearly_every_two_problems_meet() -> None:
    assert len(PAIRS) >= 115


def test_the_undamaged_batch_is_written() -> None:
    assert append(*combined()) == Written(0, -1, is_duplicate=False)


def test_a_batch_cut_anywhere_is_corrupt() -> None:
    _, whole = combined()
    for length in range(1, len(whole)):
        outcome = append(partition(), whole[:length])
        assert isinstance(outcome, NotWritten)
        assert outcome.error_code == 2, length


@pytest.mark.parametrize(("records", "got"), [(None, "null records"), (b"", "none")])
def test_no_batch_at_all_is_invalid(records: bytes | None, got: str) -> None:
    outcome = append(partition(), records)

    assert isinstance(outcome, NotWritten)
    assert (outcome.error_code, outcome.message) == (87, f"expected one record batch, got {got}")


def test_what_is_larger_once_it_is_recompressed_is_too_large() -> None:
    to = partition(compression_type="uncompressed", max_message_bytes="1000")
    sent = batch(0, 0, timestamp=NOW_MS, values=[bytes(5000)], is_gzip=True)
    assert len(sent) < 200

    outcome = append(to, sent)

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == 10
    assert (to.log.end_offset, len(to.producers)) == (0, 0)


def test_zstd_needs_produce_7() -> None:
    sent = build_batch([NewRecord(b"v", None, NOW_MS)], codec=Codec.ZSTD)

    old = append(partition(), sent, version=6)
    assert isinstance(old, NotWritten)
    assert old.error_code == 76
    assert append(partition(), sent, version=7) == Written(0, -1, is_duplicate=False)


@pytest.mark.parametrize(("attributes", "most"), [(0, 100 // 7), (1, 100_000)])
def test_a_count_must_be_plausible_for_the_bytes(attributes: int, most: int) -> None:
    def claiming(count: int) -> bytes:
        sent = bytearray(batch(0, 0, timestamp=NOW_MS, attributes=attributes, values=[b""]))
        sent = sent[:61] + bytes(100)
        pack_into(">i", sent, 8, len(sent) - 12)
        pack_into(">i", sent, 23, count - 1)
        pack_into(">i", sent, 57, count)
        pack_into(">I", sent, 17, iscsi(bytes(sent[21:])))
        return bytes(sent)

    assert isinstance(append(partition(), claiming(most)), Written)
    refused = append(partition(), claiming(most + 1))
    assert isinstance(refused, NotWritten)
    assert refused.error_code == 87


def test_times_are_judged_by_the_first_and_the_largest_and_named_by_record() -> None:
    records = [NewRecord(b"v", None, NOW_MS + at) for at in (0, 10**8, 5, 10**8)]

    outcome = append(partition(), build_batch(records))

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == 32
    assert [problem.batch_index for problem in outcome.record_errors] == [1, 3]
    assert "message.timestamp.after.max.ms" in outcome.message


def test_no_time_at_all_is_no_wrong_time() -> None:
    sent = build_batch([NewRecord(b"v", None, -1)])

    assert isinstance(append(partition(message_timestamp_before_max_ms="1000"), sent), Written)


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
def test_a_producer_may_not_say_that_its_times_are_the_brokers(kind: str) -> None:
    to = partition(message_timestamp_type=kind)

    outcome = append(to, batch(0, 0, timestamp=NOW_MS, attributes=8))

    assert isinstance(outcome, NotWritten)
    assert (outcome.error_code, len(outcome.record_errors)) == (32, 1)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
@pytest.mark.parametrize("codec", list(Codec))
def test_a_compacted_topic_wants_keys(policy: str, codec: Codec) -> None:
    records = [NewRecord(b"v", key, NOW_MS) for key in (b"k", None, b"", None)]

    outcome = append(partition(cleanup_policy=policy), build_batch(records, codec=codec))

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == 87
    assert [problem.batch_index for problem in outcome.record_errors] == [1, 3]


def broken_records() -> bytes:
    """A batch whose header and CRC are right and whose only record is not."""
    sent = bytearray(batch(0, 0, timestamp=NOW_MS))
    sent[61] = 0x7F  # the record's length
    pack_into(">I", sent, 17, iscsi(bytes(sent[21:])))
    return bytes(sent)


def test_records_are_looked_at_only_where_the_topic_asks_for_it() -> None:
    assert isinstance(append(partition(), broken_records()), Written)

    outcome = append(partition(record_validation="full"), broken_records())
    assert isinstance(outcome, NotWritten)
    assert (outcome.error_code, outcome.record_errors[0].batch_index) == (87, 0)


def test_the_brokers_time_is_stamped_and_the_crc_renewed() -> None:
    to = partition(message_timestamp_type="LogAppendTime")
    sent = batch(0, 1, timestamp=5)

    assert append(to, sent) == Written(0, NOW_MS, is_duplicate=False)

    kept = stored(to)
    (crc,) = unpack_from(">I", kept, 17)
    assert crc == iscsi(kept[21:])
    assert [record.timestamp for record in iter_records(memoryview(kept))] == [NOW_MS, NOW_MS]
    assert append(to, sent) == Written(0, NOW_MS, is_duplicate=True)


@pytest.mark.parametrize("codec", list(Codec))
@pytest.mark.parametrize("sent_as", list(Codec))
def test_the_topics_codec_is_what_is_kept(codec: Codec, sent_as: Codec) -> None:
    to = partition(compression_type="uncompressed" if codec is Codec.NONE else codec.name.lower())
    records = [NewRecord(b"value", b"key", NOW_MS + at) for at in range(3)]
    sent = build_batch(records, codec=sent_as, producer_id=7, producer_epoch=0, base_sequence=0)

    assert append(to, sent) == Written(0, -1, is_duplicate=False)

    kept = stored(to)
    assert unpack_from(">h", kept, 21)[0] & 7 == codec
    assert unpack_from(">I", kept, 17)[0] == iscsi(kept[21:])
    assert [
        (record.key, record.value, record.timestamp) for record in iter_records(memoryview(kept))
    ] == [(b"key", b"value", NOW_MS + at) for at in range(3)]
    assert append(to, sent) == Written(0, -1, is_duplicate=True)
    assert to.other_bytes_count == 0, "the window keeps the CRC that the client sent"


def test_what_cannot_be_read_cannot_be_recompressed() -> None:
    outcome = append(partition(compression_type="gzip"), broken_records())

    assert isinstance(outcome, NotWritten)
    assert outcome.error_code == 87


def test_the_same_sequences_with_other_bytes_are_a_duplicate_and_counted() -> None:
    to = partition()
    append(to, batch(0, 0, timestamp=NOW_MS, values=[b"one"]))

    assert append(to, batch(0, 0, timestamp=NOW_MS, values=[b"other"])) == Written(
        0, -1, is_duplicate=True
    )
    assert to.other_bytes_count == 1

"""A run gives each batch the answer that Partition.append gives, and leaves the same state."""

from struct import pack, unpack_from
from typing import Any  # fields of several types, drawn by name

from fastcrc.crc32 import iscsi
from hypothesis import given, settings
from hypothesis import strategies as st

from minibroker.protocol.types import ZERO_TOPIC_ID
from minibroker.storage.memory import MemoryEngine
from minibroker.storage.outcome import Outcome, Written
from minibroker.storage.partition import Partition, Sender
from minibroker.storage.producers import FormerProducers, ProducerLimits, ProducerTable
from minibroker.storage.run import NOT_TAKEN
from minibroker.storage.topic_config import resolve
from minibroker.storage.turned_away import ProducerHere, TurnedAway

NOW_MS = 1_800_000_000_000
LIMITS = ProducerLimits(expiration_ms=86_400_000, max_producers=100, gap_timeout_ms=300_000)
RUN_FIELDS = ">qi4xbIhiqqqhii"

CONFIGS = st.sampled_from(
    [{}, {"max.message.bytes": "120"}, {"message.timestamp.type": "LogAppendTime"}]
)
BATCHES = st.fixed_dictionaries(
    {
        "base_offset": st.sampled_from([0] * 9 + [1]),
        "magic": st.sampled_from([2] * 9 + [1]),
        "attributes": st.sampled_from([0] * 9 + [2, 4, 8, 16, 32]),
        "wrong_crc": st.sampled_from([False] * 9 + [True]),
        "delta_shift": st.sampled_from([0] * 9 + [1]),
        "time_shift": st.sampled_from([0] * 9 + [10**9]),
        "epoch": st.sampled_from([0] * 9 + [-1, 1]),
        "sequence_shift": st.sampled_from([0] * 9 + [-1, 1, -(2**31) + 2]),
        "count": st.integers(0, 4),
        "padding": st.sampled_from([0, 0, 0, 60]),
        "same_run": st.booleans(),
    }
)


def partition(overrides: dict[str, str]) -> Partition:
    """One whose producer 7 has written the sequences up to 2^31 - 4: the wrap is near."""
    table = ProducerTable(LIMITS, FormerProducers(), "run-0")
    log = MemoryEngine(1 << 20).create(ZERO_TOPIC_ID, "run", 0)
    made = Partition("run", 0, log, table, resolve({}, {}), lambda producer_id: False)
    first = batch(sequence=2**31 - 6, count=3)
    assert isinstance(made.append(first, sender(), NOW_MS), Written)
    made.configure(resolve(overrides, {}))
    return made


def sender() -> Sender:
    return Sender(9, TurnedAway())


def batch(
    *,
    sequence: int,
    count: int,
    base_offset: int = 0,
    magic: int = 2,
    attributes: int = 0,
    wrong_crc: bool = False,
    delta_shift: int = 0,
    time_shift: int = 0,
    epoch: int = 0,
    padding: int = 0,
) -> memoryview:
    """A batch by hand; its records are never looked at."""
    times = (NOW_MS, NOW_MS + time_shift)
    delta = count - 1 + delta_shift
    tail = pack(">hiqqqhii", attributes, delta, *times, 7, epoch, sequence, count)
    tail += bytes(7 * count + padding)
    crc = iscsi(tail) ^ wrong_crc
    return memoryview(pack(">qiibI", base_offset, len(tail) + 9, -1, magic, crc) + tail)


def everything(of: Partition) -> tuple[object, ...]:
    """The log's bytes and the producers' entries."""
    log = b"".join(of.log.read(0, 1 << 20, of.log.end_offset))
    return log, of.log.end_offset, list(of.producers.unexpired(NOW_MS))


@settings(max_examples=300)
@given(CONFIGS, st.lists(BATCHES, max_size=12))
def test_a_run_and_the_long_way_agree(
    overrides: dict[str, str], wanted: list[dict[str, Any]]
) -> None:
    with_runs, long_way = partition(overrides), partition(overrides)
    sequence, taken = 2**31 - 3, 0
    run = with_runs.run(7, sender(), NOW_MS)

    for fields in wanted:
        shift, same_run = fields.pop("sequence_shift"), fields.pop("same_run")
        sent = batch(sequence=(sequence + shift) % 2**31, **fields)
        if not same_run and run:
            run.close()
            run = with_runs.run(7, sender(), NOW_MS)
        offset = NOT_TAKEN
        if run and len(sent) >= 61:
            base_offset, _, magic, crc, attributes, delta, base, last, _, *rest = unpack_from(
                RUN_FIELDS, sent
            )
            offset = run.append(sent, base_offset, magic, crc, attributes, delta, base, last, *rest)
        got: Outcome
        if offset == NOT_TAKEN:
            if run:
                run.close()
            got = with_runs.append(sent, sender(), NOW_MS)
            run = with_runs.run(7, sender(), NOW_MS)
        else:
            taken += 1
            got = Written(offset, -1, is_duplicate=False)
        expected = long_way.append(sent, sender(), NOW_MS)
        assert got == expected
        if isinstance(expected, Written) and not expected.is_duplicate:
            sequence = (sequence + shift + fields["count"]) % 2**31
    if run:
        run.close()

    assert everything(with_runs) == everything(long_way)


def test_a_run_takes_ordinary_batches_and_hands_on_a_duplicate() -> None:
    of = partition({})
    run = of.run(7, sender(), NOW_MS)
    assert run
    sent = batch(sequence=2**31 - 3, count=4)
    fields = unpack_from(RUN_FIELDS, sent)

    def append() -> int:
        assert run
        return run.append(sent, fields[0], *fields[2:8], *fields[9:])

    assert append() == 3
    assert append() == NOT_TAKEN
    run.close()
    assert of.append(sent, sender(), NOW_MS) == Written(3, -1, is_duplicate=True)


def test_where_the_topic_changes_batches_there_are_no_runs() -> None:
    for overrides in (
        {"compression.type": "gzip"},
        {"message.timestamp.type": "LogAppendTime"},
        {"cleanup.policy": "compact"},
        {"record.validation": "full"},
    ):
        assert partition(overrides).run(7, sender(), NOW_MS) is None


def test_where_a_batch_of_the_producer_is_awaited_again_there_are_no_runs() -> None:
    of, waiting = partition({}), sender()
    for other in (("another", 0, 7, 0), ("run", 1, 7, 0), ("run", 0, 8, 0), ("run", 0, 7, 1)):
        waiting.turned_away.add(ProducerHere(*other), 5)
    assert of.run(7, waiting, NOW_MS)

    waiting.turned_away.add(ProducerHere("run", 0, 7, 0), 5)

    assert of.run(7, waiting, NOW_MS) is None


def test_a_run_goes_on_unless_something_else_has_happened_to_its_producer() -> None:
    of = partition({})
    run = of.run(7, sender(), NOW_MS)
    assert run
    run.close()

    assert run.resume(NOW_MS)
    run.close()
    of.append(batch(sequence=2**31 - 3, count=1), sender(), NOW_MS)  # by another connection
    assert not run.resume(NOW_MS)

    run = of.run(7, sender(), NOW_MS)
    assert run
    of.configure(resolve({"max.message.bytes": "70"}, {}))
    assert not run.resume(NOW_MS)

    run = of.run(7, sender(), NOW_MS)
    assert run
    assert not run.resume(NOW_MS + LIMITS.expiration_ms)

    of = partition({})
    run = of.run(7, sender(), NOW_MS)
    assert run
    of.is_deleted = True
    assert not run.resume(NOW_MS)

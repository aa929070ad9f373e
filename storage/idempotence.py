"""The idempotent producer's rules: one table, one pure function.

A batch of an idempotent producer names its producer id, its epoch, and the sequence numbers of its
first and last record. `decide` judges it against what the partition knows of that producer; the
first row that fits answers:

 row  condition                                               verdict
 ---  ------------------------------------------------------  --------------------------------------
  0   producer_id < 0                                         not idempotent, never comes here
  1   same epoch, first and last equal a batch in the window  Duplicate: its offset, not written
  2   epoch older than seen                                   Refused: 47 INVALID_PRODUCER_EPOCH
  3   epoch newer than seen, base sequence 0                  Accepted: new window
  4   epoch newer than seen, base sequence not 0              Refused: 45 OUT_OF_ORDER_SEQUENCE_...
  5   base sequence is the next one                           Accepted
  6   same epoch, anything else                               Refused: 45
  7   producer unknown here, base sequence 0                  Accepted
  8   producer unknown here, an innocent explanation holds    Accepted
  9   producer unknown here, otherwise                        Refused: 45, earlier ones are missing

Rows 4 and 9 are stricter than Apache Kafka 4.4, which accepts there: accepting loses the batches
before silently, since librdkafka then reports them as delivered. Never answered to Produce: 46
(taken as success without an offset), 59 (history) and 90 (kills a Java producer for good).

Innocent explanations of a gap (row 8), in the order in which they are looked at, are `Explanation`.
None but `WAITED_OUT` holds while a lower base of the same producer and epoch was turned away on
this connection and has not been settled since: that batch is about to be retried, and accepting
this one would lose it.

Sources: KIP-98, KIP-360, KAFKA-15591; Apache Kafka's ProducerAppendInfo for the rows where both
agree.
"""

from collections.abc import Set
from enum import Enum
from typing import NamedTuple

from minibroker.protocol.errors import ErrorCode

from .producer_entry import ProducerEntry, sequence_range_of

SEQUENCE_RING = 2**31
"""Sequences are 0 … 2147483647; after the last comes 0 again, and one batch may straddle the wrap.
"""


LAST_SEQUENCE = SEQUENCE_RING - 1


def sequence_after(sequence: int, count: int = 1) -> int:
    """The sequence that is `count` places further on the ring."""
    return (sequence + count) % SEQUENCE_RING


def is_lower_sequence(sequence: int, other: int) -> bool:
    """Whether `sequence` is before `other` on the ring, within half a turn."""
    return 0 < (other - sequence) % SEQUENCE_RING < SEQUENCE_RING // 2


class Explanation(Enum):
    """Why a producer that is unknown here may start at a base sequence above 0 without anything
    being lost.
    """

    FOREIGN = "this broker did not issue the producer id"
    BELOW_FLOOR = "the partition may have dropped what it knew of the producer id"
    CONTINUES_DELETED_TOPIC = (
        "the batch continues or retries what was sent to the deleted topic of this name"
    )
    BEHIND_REFUSAL = "the batch follows one that was refused for good"
    WAITED_OUT = "the missing batches did not come within producer.gap.timeout.ms"


class Gap(NamedTuple):
    """What row 9 has answered to one producer and epoch so far; kept by the partition."""

    producer_epoch: int
    first_answered_ms: int
    first_base: int
    bases: frozenset[int]
    is_retried: bool
    """A base came a second time, or one below the first: the missing batches are still on their
    way.
    """


class Circumstances(NamedTuple):
    """What is known around a producer that has no entry here; what `Explanation` is judged by."""

    is_foreign: bool
    is_below_floor: bool
    deleted_entry: ProducerEntry | None
    """Its entry in the deleted topic of the same name."""
    bases_behind_refusals: Set[int]
    """Base sequences right behind a batch of this epoch that was refused for good."""
    gap: Gap | None
    gap_timeout_ms: int
    bases_turned_away: Set[int]
    """Bases of this producer and epoch, on this connection, that will be retried."""
    now_ms: int


class Accepted(NamedTuple):
    """Write the batch."""

    row: int
    explanation: Explanation | None = None


class Duplicate(NamedTuple):
    """Answer success with what was answered first; write nothing."""

    base_offset: int
    append_time_ms: int
    crc: int
    """CRC-32C of the stored batch as its client sent it; it decides nothing."""


class Refused(NamedTuple):
    """Answer the error; write nothing."""

    row: int
    error_code: ErrorCode
    message: str
    is_early: bool = False
    """Batches before it are missing; its client sends it again, or everything anew."""


Verdict = Accepted | Duplicate | Refused

_NEW_INCARNATION = Accepted(row=3)
_IN_ORDER = Accepted(row=5)
_FIRST_BATCH = Accepted(row=7)


def is_in_order(
    seen_epoch: int, next_sequence: int, producer_epoch: int, first_sequence: int
) -> bool:
    """Row 5. It may be looked at before row 1, since five batches of at most MAX_RECORDS_A_BATCH
    records do not go round the ring: no batch in the window has the next sequence as its base."""
    return first_sequence == next_sequence and producer_epoch == seen_epoch


def decide(
    entry: ProducerEntry | None,
    producer_id: int,
    producer_epoch: int,
    first_sequence: int,
    last_sequence: int,
    circumstances: Circumstances | None,
) -> Verdict:
    """Judge one batch of an idempotent producer; pure.

    `entry` is what the partition knows of the producer, None where it knows nothing; only then are
    the circumstances looked at, and None stands for "no explanation". Sequences are on the ring,
    both included.
    """
    if entry is None:
        return _decide_unknown(producer_id, producer_epoch, first_sequence, circumstances)
    seen_epoch, next_sequence, *window = entry.rule_fields()
    if producer_epoch == seen_epoch:
        if is_in_order(seen_epoch, next_sequence, producer_epoch, first_sequence):
            return _IN_ORDER
        if (wanted := sequence_range_of(first_sequence, last_sequence)) in window:
            return Duplicate(*entry.batch_at(window.index(wanted)))
        return _out_of_order(6, entry, producer_id, producer_epoch, next_sequence, first_sequence)
    if producer_epoch < seen_epoch:
        return Refused(
            2,
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"expected producer epoch {seen_epoch}, got the older {producer_epoch}"
            f" (producer {producer_id}): a newer incarnation has written here",
        )
    if first_sequence == 0:
        return _NEW_INCARNATION
    return _out_of_order(4, entry, producer_id, producer_epoch, 0, first_sequence)


def _decide_unknown(
    producer_id: int, producer_epoch: int, base: int, circumstances: Circumstances | None
) -> Verdict:
    """Rows 7 to 9."""
    if base == 0:
        return _FIRST_BATCH
    if circumstances and (reason := explain(producer_epoch, base, circumstances)):
        return Accepted(8, reason)
    return Refused(
        9,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"expected base sequence 0, got {base} (producer {producer_id} epoch {producer_epoch}"
        f" has written nothing here: earlier batches were lost or are still on their way)",
        is_early=True,
    )


def explain(producer_epoch: int, base: int, around: Circumstances) -> Explanation | None:
    """The innocent explanation of row 8 for a base sequence above 0, or None; pure."""
    if _is_waited_out(producer_epoch, base, around):
        return Explanation.WAITED_OUT
    if any(is_lower_sequence(lower, base) for lower in around.bases_turned_away):
        return None
    if around.is_foreign:
        return Explanation.FOREIGN
    if around.is_below_floor:
        return Explanation.BELOW_FLOOR
    if _continues_deleted(producer_epoch, base, around.deleted_entry):
        return Explanation.CONTINUES_DELETED_TOPIC
    if base in around.bases_behind_refusals:
        return Explanation.BEHIND_REFUSAL
    return None


def _continues_deleted(producer_epoch: int, base: int, entry: ProducerEntry | None) -> bool:
    """Its epoch in the deleted topic, and its next sequence or the base of a batch in its window
    there.
    """
    if entry is None or entry.producer_epoch != producer_epoch:
        return False
    return base == entry.next_sequence or any(base == batch.first for batch in entry.window())


def _is_waited_out(producer_epoch: int, base: int, around: Circumstances) -> bool:
    """The timeout has passed since row 9 first answered, and nothing was retried since."""
    gap = around.gap
    if gap is None or gap.producer_epoch != producer_epoch:
        return False
    gap = gap_after(gap, producer_epoch, base, around.now_ms)
    return not gap.is_retried and around.now_ms - gap.first_answered_ms >= around.gap_timeout_ms


MAX_GAP_BASES = 1000
"""Bases remembered of one gap; with more the gap counts as retried, which only ever refuses."""


def gap_after(gap: Gap | None, producer_epoch: int, base: int, now_ms: int) -> Gap:
    """The gap's record once row 9 has met `base` too."""
    if gap is None or gap.producer_epoch != producer_epoch:
        return Gap(producer_epoch, now_ms, base, frozenset((base,)), False)
    is_retried = (
        gap.is_retried
        or base in gap.bases
        or is_lower_sequence(base, gap.first_base)
        or len(gap.bases) >= MAX_GAP_BASES
    )
    return gap._replace(
        is_retried=is_retried, bases=gap.bases if is_retried else gap.bases | {base}
    )


def _out_of_order(
    row: int,
    entry: ProducerEntry,
    producer_id: int,
    producer_epoch: int,
    expected: int,
    got: int,
) -> Refused:
    window = " ".join(f"{batch.first}-{batch.last}@{batch.base_offset}" for batch in entry.window())
    return Refused(
        row,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"expected base sequence {expected}, got {got}"
        f" (producer {producer_id} epoch {producer_epoch}, window {window})",
        is_early=is_lower_sequence(expected, got),
    )

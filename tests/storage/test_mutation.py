"""Each row, explanation and bound of the rules is broken on purpose, and its own test must notice.

A mutant is one replacement of text in one file of a copy of the project. A mutant that no test of
test_idempotence.py notices fails, and so does one whose text is no longer there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.processes import ROOT

TESTS = "tests/storage/test_idempotence.py"


class Mutant(NamedTuple):
    """What is broken, and by which text in storage/."""

    what: str
    file: str
    old: str
    new: str


MUTANTS = (
    Mutant(
        "row 1: bases alone are compared",
        "idempotence.py",
        "if (wanted := sequence_range_of(first_sequence, last_sequence)) in window:",
        "if any((wanted := one) >> 32 == first_sequence for one in window if one >= 0):",
    ),
    Mutant("row 1: window of 4", "producer_entry.py", "WINDOW_BATCHES = 5", "WINDOW_BATCHES = 4"),
    Mutant("row 1: window of 6", "producer_entry.py", "WINDOW_BATCHES = 5", "WINDOW_BATCHES = 6"),
    Mutant(
        "row 1: the newest offset for every duplicate",
        "idempotence.py",
        "entry.batch_at(window.index(wanted))",
        "entry.batch_at(0)",
    ),
    Mutant(
        "row 2: older epochs are taken",
        "idempotence.py",
        "if producer_epoch < seen_epoch:",
        "if producer_epoch < seen_epoch - 99:",
    ),
    Mutant(
        "row 3: the old window stays",
        "producer_entry.py",
        "if entry is None or entry.producer_epoch != producer_epoch:",
        "if entry is None:",
    ),
    Mutant(
        "row 4: any base of a newer epoch is taken, as in the seed",
        "idempotence.py",
        "    if first_sequence == 0:\n        return _NEW_INCARNATION",
        "    if first_sequence >= 0:\n        return _NEW_INCARNATION",
    ),
    Mutant(
        "row 5: the sequence before the next one will do",
        "idempotence.py",
        "return first_sequence == next_sequence and",
        "return first_sequence in (next_sequence, next_sequence - 1) and",
    ),
    Mutant(
        "row 5: next is one too far",
        "producer_entry.py",
        "(batches[-1][1] + 1) & 0x7FFFFFFF",
        "(batches[-1][1] + 2) & 0x7FFFFFFF",
    ),
    Mutant(
        "row 5: the ring ends one too early",
        "producer_entry.py",
        "(batches[-1][1] + 1) & 0x7FFFFFFF",
        "(batches[-1][1] + 1) % 0x7FFFFFFF",
    ),
    Mutant(
        "row 6: a gap ahead is taken",
        "idempotence.py",
        "        return _out_of_order(6,",
        "        return _IN_ORDER if first_sequence > next_sequence else _out_of_order(6,",
    ),
    Mutant(
        "row 7: nobody may start",
        "idempotence.py",
        "    if base == 0:\n        return _FIRST_BATCH\n",
        "",
    ),
    Mutant(
        "row 8, foreign: never",
        "idempotence.py",
        "if around.is_foreign:",
        "if around.is_foreign and False:",
    ),
    Mutant(
        "row 8, foreign: issued ids too, as on Kafka",
        "producers.py",
        "is_foreign=not is_issued(producer_id)",
        "is_foreign=True",
    ),
    Mutant(
        "row 8, floor: not raised when an entry is dropped",
        "producers.py",
        "        del self._entries[producer_id]\n        self._raise_floor(producer_id)",
        "        del self._entries[producer_id]",
    ),
    Mutant(
        "row 8, floor: one too low",
        "producers.py",
        "max(self._floor, lost_producer_id + 1)",
        "max(self._floor, lost_producer_id)",
    ),
    Mutant(
        "row 8, floor: far too high",
        "producers.py",
        "max(self._floor, lost_producer_id + 1)",
        "max(self._floor, lost_producer_id + 1000)",
    ),
    Mutant(
        "row 8, deleted topic: any base",
        "idempotence.py",
        "return base == entry.next_sequence or",
        "return True or",
    ),
    Mutant(
        "row 8, deleted topic: its window is forgotten",
        "idempotence.py",
        "any(base == batch.first for batch in entry.window())",
        "False",
    ),
    Mutant(
        "row 8, deleted topic: any epoch",
        "idempotence.py",
        "if entry is None or entry.producer_epoch != producer_epoch:\n        return False",
        "if entry is None:\n        return False",
    ),
    Mutant(
        "row 8, deleted topic: memory never expires",
        "producers.py",
        "deleted_entry is not None and self._is_expired(deleted_entry, now_ms)",
        "False",
    ),
    Mutant(
        "row 8, refusal: not remembered",
        "partition.py",
        "self.producers.refused_for_good(producer_id, epoch, last)",
        "pass",
    ),
    Mutant(
        "row 8, refusal: remembered of a gap, too",
        "partition.py",
        "isinstance(outcome, NotWritten) and isinstance(verdict, Accepted) and circumstances",
        "isinstance(outcome, NotWritten) and circumstances",
    ),
    Mutant(
        "row 8, refusal: of batches that are split and come again",
        "partition.py",
        "return records_count == 1",
        "return True",
    ),
    Mutant(
        "row 8, refusal: of any epoch",
        "producers.py",
        "refusals.next_bases if refusals and is_same_epoch else _NO_BASES",
        "refusals.next_bases if refusals else _NO_BASES",
    ),
    Mutant(
        "row 8, refusal: not inherited",
        "producers.py",
        "        former.refusals.update(self._refusals)\n",
        "",
    ),
    Mutant(
        "row 8, waited out: at once",
        "idempotence.py",
        "around.now_ms - gap.first_answered_ms >= around.gap_timeout_ms",
        "True",
    ),
    Mutant(
        "row 8, waited out: also while it is retried",
        "idempotence.py",
        "return not gap.is_retried and around",
        "return around",
    ),
    Mutant(
        "row 8, waited out: a base below the first is no retry",
        "idempotence.py",
        "        or is_lower_sequence(base, gap.first_base)\n",
        "",
    ),
    Mutant(
        "row 8, waited out: held back by what was turned away",
        "idempotence.py",
        "    if _is_waited_out(producer_epoch, base, around):\n"
        "        return Explanation.WAITED_OUT\n"
        "    if any(is_lower_sequence(lower, base) for lower in around.bases_turned_away):\n"
        "        return None\n",
        "    if any(is_lower_sequence(lower, base) for lower in around.bases_turned_away):\n"
        "        return None\n"
        "    if _is_waited_out(producer_epoch, base, around):\n"
        "        return Explanation.WAITED_OUT\n",
    ),
    Mutant(
        "row 8: explained although a lower base is about to come again",
        "idempotence.py",
        "if any(is_lower_sequence(lower, base) for lower in around.bases_turned_away):",
        "if False:",
    ),
    Mutant(
        "turned away: an unknown topic is not noted",
        "partition.py",
        "turned_away.add(ProducerHere(topic, index, producer_id, producer_epoch), base_sequence)",
        "pass",
    ),
    Mutant(
        "turned away: a failed append is not noted",
        "partition.py",
        "if outcome.error_code is ErrorCode.KAFKA_STORAGE_ERROR:",
        "if False:",
    ),
    Mutant(
        "row 9: noted although an earlier check has answered",
        "partition.py",
        "return is_answered and isinstance",
        "return isinstance",
    ),
    Mutant(
        "turned away: a failed append of a known producer is not noted",
        "partition.py",
        "if circumstances or sender.turned_away or isinstance(outcome, NotWritten):",
        "if circumstances or sender.turned_away:",
    ),
    Mutant(
        "turned away: not settled by a duplicate",
        "partition.py",
        "            sender.turned_away.settle(here, first)\n            return self._duplicate",
        "            return self._duplicate",
    ),
    Mutant(
        "turned away: never settled",
        "turned_away.py",
        "if self._order.pop((producer, base), self) is self:",
        "if True:",
    ),
    Mutant(
        "expiry: one ms late",
        "producers.py",
        "now_ms - entry.last_append_ms >= self._limits.expiration_ms",
        "now_ms - entry.last_append_ms > self._limits.expiration_ms",
    ),
    Mutant(
        "eviction: young entries go",
        "producers.py",
        "if now_ms - entry.last_append_ms >= YOUNGEST_EVICTED_MS:",
        "if True:",
    ),
    Mutant(
        "eviction: nobody goes",
        "producers.py",
        "if now_ms - entry.last_append_ms >= YOUNGEST_EVICTED_MS:",
        "if False:",
    ),
    Mutant(
        "state changes although the append failed",
        "partition.py",
        "        if isinstance(outcome, Written):\n            self._apply(",
        "        if True:\n            self._apply(",
    ),
)


def copy_of_project(folder: Path) -> Path:
    """The three rooms as they are installed, and the tests beside them."""
    package = folder / "minibroker"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "broker", package, ignore=ignored)
    shutil.copytree(ROOT / "storage", package / "storage", ignore=ignored)
    shutil.copytree(ROOT / "protocol", package / "protocol", ignore=ignored)
    (folder / "tests" / "storage").mkdir(parents=True)
    for name in ("tests/__init__.py", "tests/batches.py", "tests/storage/__init__.py", TESTS):
        shutil.copy(ROOT / name, folder / name)
    return folder


def outcome_in(project: Path) -> tuple[int, str]:
    """The exit code of the tests, and what they printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", TESTS]
    done = subprocess.run(
        command,
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = copy_of_project(tmp_path_factory.mktemp("project"))
    code, printed = outcome_in(copy)
    assert code == 0, f"the tests fail without any mutant: {printed}"
    return copy


@pytest.mark.mutation
@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what for mutant in MUTANTS])
def test_the_mutant_is_noticed(mutant: Mutant, project: Path) -> None:
    file = project / "minibroker" / "storage" / mutant.file
    source = file.read_text()
    assert source.count(mutant.old) == 1, f"the text is there {source.count(mutant.old)} times"
    file.write_text(source.replace(mutant.old, mutant.new))
    try:
        code, printed = outcome_in(project)
    finally:
        file.write_text(source)

    assert code == 1, f"not noticed, or not run: {printed[-1500:]}"

"""Replays the corpus of the batch target, and explores a second's worth of it."""

from pathlib import Path

import pytest

from minibroker.protocol.compression import Codec
from minibroker.protocol.records import parse_header

from .explorer import explore
from .fuzz_batch import BATCHES, check_batch

# A name ending in -malformed is a batch that must be refused; all others must be accepted.
FILES = [pytest.param(file, id=file.name) for file in sorted(BATCHES.corpus.iterdir())]


@pytest.mark.parametrize("file", FILES)
def test_the_corpus_is_accepted_or_refused_as_its_name_says(file: Path) -> None:
    assert check_batch(file.read_bytes()) is not file.name.endswith("-malformed")


def test_the_corpus_has_batches_of_each_codec() -> None:
    codecs = {parse_header(memoryview(seed)).codec for seed in BATCHES.seeds() if len(seed) >= 61}

    assert set(Codec) <= codecs


def test_chance_finds_nothing_in_a_second() -> None:
    assert explore(BATCHES, seconds=1.0, seed=3) > 100

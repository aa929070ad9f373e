"""Replays the corpus of the frame target, and explores a second's worth of it."""

from pathlib import Path

import pytest

from .explorer import explore
from .fuzz_frame import FRAMES, SCHEMAS, check_frame

# A name ending in -malformed is a frame that must be refused; all others must be accepted.
FILES = [pytest.param(file, id=file.name) for file in sorted(FRAMES.corpus.iterdir())]


@pytest.mark.parametrize("file", FILES)
def test_the_corpus_is_accepted_or_refused_as_its_name_says(file: Path) -> None:
    assert check_frame(file.read_bytes()) is not file.name.endswith("-malformed")


def test_the_corpus_has_the_newest_request_of_each_api() -> None:
    names = {file.name for file in FRAMES.corpus.iterdir()}

    assert {f"{schema.name}-{schema.newest}" for schema in SCHEMAS.values()} <= names


def test_chance_finds_nothing_in_a_second() -> None:
    assert explore(FRAMES, seconds=1.0, seed=3) > 100

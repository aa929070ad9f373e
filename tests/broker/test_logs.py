"""What the log looks like on stderr."""

import logging
import re
from collections.abc import Iterator

import msgspec
import pytest

from minibroker import logs


@pytest.fixture(autouse=True)
def _root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_event_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("text", "info")
    logging.getLogger("minibroker.x").warning("topic %s is full", "a")

    printed = capsys.readouterr()
    assert re.fullmatch(r"[-\d]+ [:.\d]+ WARNING minibroker\.x: topic a is full\n", printed.err)
    assert printed.out == ""


def test_an_event_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("json", "info")
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("minibroker.x").exception("a bug")

    (line,) = capsys.readouterr().err.splitlines()
    event = msgspec.json.decode(line, type=dict[str, str])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", event["time"])
    assert (event["level"], event["logger"], event["message"]) == ("error", "minibroker.x", "a bug")
    assert "ValueError: two\nlines" in event["traceback"]


def test_events_below_the_level_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    logs.set_up("text", "error")
    logging.getLogger("minibroker.x").warning("a")

    assert capsys.readouterr().err == ""

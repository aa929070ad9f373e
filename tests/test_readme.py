"""What README.md shows is what is in examples/, and it works as pasted."""

import re
import sys
from pathlib import Path

import pytest

from .processes import ROOT, run, serving

README = (ROOT / "README.md").read_text()
SHOWN = dict(re.findall(r"<!-- (examples/\S+) -->\n```python\n(.*?)```", README, re.DOTALL))


def without_docstring(text: str) -> str:
    return re.sub(r'\A""".*?"""\n+', "", text, flags=re.DOTALL)


def test_the_examples_are_shown_as_they_are() -> None:
    assert set(SHOWN) == {"examples/producer.py", "examples/consumer.py", "examples/test_readme.py"}
    for path, text in SHOWN.items():
        assert without_docstring((ROOT / path).read_text()) == text, path


def test_the_pasted_producer_and_consumer_talk_through_a_broker(tmp_path: Path) -> None:
    for name in ("producer", "consumer"):
        (tmp_path / f"{name}.py").write_text(SHOWN[f"examples/{name}.py"])

    with serving("--port", "0") as (_, ready):
        bootstrap = ready.split()[4]
        sent = run([sys.executable, "producer.py", bootstrap], tmp_path).stdout.splitlines()
        read = run([sys.executable, "consumer.py", bootstrap], tmp_path).stdout.splitlines()

    assert sent == [f"sent to partition 0 at offset {number}" for number in range(10)]
    assert read == [f"offset {number}: hello {number}" for number in range(10)]


def test_the_pasted_test_passes(tmp_path: Path) -> None:
    (tmp_path / "test_pasted.py").write_text(SHOWN["examples/test_readme.py"])
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n")

    done = run([sys.executable, "-m", "pytest", "-q"], tmp_path)

    assert "1 passed" in done.stdout


def test_the_ready_line_is_the_one_shown() -> None:
    shown = re.search(r"`(minibroker \S+ ready on .*?)`", README)
    assert shown
    with serving("--port", "0") as (_, ready):
        expected = re.sub(r"localhost:9092 in \d+ ms", "localhost:PORT in N ms", shown[1])
        assert re.sub(r"localhost:\d+ in \d+ ms", "localhost:PORT in N ms", ready) == expected


@pytest.mark.parametrize("command", ["serve", "ready"])
def test_the_options_are_those_shown(command: str) -> None:
    shown = set(re.findall(r"--[a-z][a-z-]+", README[README.index("## Options") :]))
    offered = set(
        re.findall(
            r"--[a-z][a-z-]+", run([sys.executable, "-m", "minibroker", command, "--help"]).stdout
        )
    )
    assert offered - {"--help", "--data", "--fsync"} <= shown

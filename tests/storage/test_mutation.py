"""Each row, explanation and bound of the rules is broken on purpose, and its own test must notice.

A mutant is one replacement of text in one file of a copy of the project. One whose own test passes
all the same fails, and so does one whose text is no longer there.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT

from .mutants import MUTANTS, Mutant


def copy_of_project(folder: Path) -> Path:
    """The three rooms as they are installed, and the tests beside them."""
    package = folder / "minibroker"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "broker", package, ignore=ignored)
    shutil.copytree(ROOT / "storage", package / "storage", ignore=ignored)
    shutil.copytree(ROOT / "protocol", package / "protocol", ignore=ignored)
    shutil.copytree(ROOT / "tests" / "storage", folder / "tests" / "storage", ignore=ignored)
    for name in ("tests/__init__.py", "tests/batches.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def outcome_in(project: Path, *tests: str) -> tuple[int, str]:
    """The exit code of some tests of this folder, and what they printed."""
    names = [f"tests/storage/{test}" for test in tests]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *names]
    done = subprocess.run(
        command,
        cwd=project,
        env=os.environ
        | {
            "PYTHONPATH": str(project),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = copy_of_project(tmp_path_factory.mktemp("project"))
    code, printed = outcome_in(copy, *sorted({mutant.test for mutant in MUTANTS}))
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
        code, printed = outcome_in(project, mutant.test)
    finally:
        file.write_text(source)

    assert code == 1, f"not noticed, or not run: {printed[-1500:]}"

"""What is installed: every package, under one name, and nothing that stands in a user's way."""

import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

from .processes import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = PROJECT["tool"]["setuptools"]
CLIENTS = ("aiokafka", "confluent-kafka", "kafka-python", "pytest", "pytest-asyncio")


def folder_of(package: str) -> str:
    """Where a package's source is."""
    return str(SETUPTOOLS["package-dir"][package])


def test_every_folder_with_modules_is_installed_as_the_map_says() -> None:
    folders = {
        str(path.parent.relative_to(ROOT))
        for room in ("broker", "storage", "protocol")
        for path in (ROOT / room).rglob("*.py")
    }

    assert {folder_of(package) for package in SETUPTOOLS["packages"]} == folders
    assert set(SETUPTOOLS["package-dir"]) == set(SETUPTOOLS["packages"])
    assert not (ROOT / "minibroker").exists(), "it would hide the installed package"


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built wheel, from a copy of the sources: a build leaves files behind."""
    source = tmp_path_factory.mktemp("source")
    for name in ("broker", "storage", "protocol"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "build", "--wheel", "--outdir", "dist", ".", cwd=source)
    (built,) = (source / "dist").glob("*.whl")
    return built


@pytest.mark.wheel
@pytest.mark.timeout(300)
def test_the_wheel_has_every_module_and_nothing_at_the_top(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    expected = {
        f"{package.replace('.', '/')}/{path.name}"
        for package in SETUPTOOLS["packages"]
        for path in (ROOT / folder_of(package)).iterdir()
        if path.suffix == ".py" or path.name == "py.typed"
    }
    assert names == expected


@pytest.mark.wheel
@pytest.mark.timeout(300)
def test_the_examples_pass_in_a_project_with_the_same_names(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment, from the wheel, beside a user's own broker.py and storage/."""
    project = tmp_path / "project"
    (project / "storage").mkdir(parents=True)
    (project / "storage" / "__init__.py").write_text("NAME = 'the user\\'s storage'\n")
    (project / "broker.py").write_text("NAME = 'the user\\'s broker'\n")
    (project / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\npythonpath = .\n")
    for example in (ROOT / "examples").glob("test_*.py"):
        shutil.copy(example, project)
    (project / "test_own_names.py").write_text(
        "import broker, storage\n\n"
        "def test_own_modules_are_the_users(minibroker) -> None:\n"
        '    assert broker.NAME == "the user\'s broker"\n'
        '    assert storage.NAME == "the user\'s storage"\n'
    )
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    run(python, "-m", "pip", "install", "-q", str(wheel), *CLIENTS, cwd=tmp_path)

    printed = run(python, "-m", "pytest", "-q", cwd=project)

    assert "6 passed" in printed

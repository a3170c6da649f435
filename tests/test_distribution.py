"""What is built is what hosts get: the wheel holds everything, and its commands run from it."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from evenkeel import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"{PROJECT['name'].replace('-', '_')}-{__version__}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_holds_every_file_of_the_packages_and_the_commands(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        scripts = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode()
        metadata = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    sources = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }
    assert sources - names == set()
    folders = {"evenkeel", "icontrol_emulator", f"{NAME}.dist-info", f"{NAME}.data"}
    assert {name.partition("/")[0] for name in names} == folders
    assert f"{NAME}.data/data/share/evenkeel/systemd/evenkeel-agent.service" in names
    assert f"{NAME}.data/data/share/evenkeel/prometheus/alerts.yml" in names
    assert all(f"{name} = {place}" in scripts for name, place in PROJECT["scripts"].items())
    assert f"Name: {PROJECT['name']}\n" in metadata and f"Version: {__version__}\n" in metadata


def test_the_source_distribution_holds_the_locks_and_the_documents(built: Path) -> None:
    with tarfile.open(built / f"{NAME}.tar.gz") as source:
        names = {name.removeprefix(f"{NAME}/") for name in source.getnames()}
    extras = ("agent", "cli", "controller", "emulator", "haproxyd")
    assert {f"requirements/{extra}.txt" for extra in extras} | {"LICENSE", "docs/how-to/install.md"} <= names
    assert not [name for name in names if name.startswith((".venv", "dist/", ".git/"))]


def test_commands_run_from_the_wheel(built: Path) -> None:
    wheel = str(built / f"{NAME}-py3-none-any.whl")  # Python imports from it as from a folder
    code = (
        "import sys, evenkeel; from evenkeel.cmd import commands; print(evenkeel.__file__); sys.exit(commands.agent())"
    )
    run = [sys.executable, "-c", code, "--version"]
    done = subprocess.run(run, env={**os.environ, "PYTHONPATH": wheel}, capture_output=True, text=True, timeout=300)
    where, version = done.stdout.splitlines()
    assert where.startswith(wheel) and version == f"evenkeel-agent {__version__}"

"""What is built is what hosts get: a wheel holds everything of its distribution, and its commands run from it."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import evenkeel_neutron
import evenkeel_octavia
import icontrol_as3
import icontrol_emulator
from evenkeel import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME = f"{PROJECT['name'].replace('-', '_')}-{__version__}"


EMULATOR = ROOT / "packages" / "icontrol-emulator"
AS3 = ROOT / "packages" / "icontrol-as3"
PROVIDER = ROOT / "packages" / "evenkeel-octavia"
PLUGIN = ROOT / "packages" / "evenkeel-neutron"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheels and source distributions of the product and of the packages beside it."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, EMULATOR, AS3, PROVIDER, PLUGIN):
        run = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        done = subprocess.run(run, cwd=project, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    return folder


def sources_of(folder: Path) -> set[str]:
    """Paths of all files of packages below a folder of sources."""
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path)
    }


def test_the_wheel_holds_every_file_of_the_package_and_the_commands(built: Path) -> None:
    with zipfile.ZipFile(built / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        scripts = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode()
        metadata = wheel.read(f"{NAME}.dist-info/METADATA").decode()
    assert sources_of(ROOT / "src") - names == set()
    folders = {"evenkeel", f"{NAME}.dist-info", f"{NAME}.data"}
    assert {name.partition("/")[0] for name in names} == folders
    assert f"{NAME}.data/data/share/evenkeel/systemd/evenkeel-agent.service" in names
    assert f"{NAME}.data/data/share/evenkeel/prometheus/alerts.yml" in names
    assert all(f"{name} = {place}" in scripts for name, place in PROJECT["scripts"].items())
    assert f"Name: {PROJECT['name']}\n" in metadata and f"Version: {__version__}\n" in metadata


def test_the_emulator_is_a_distribution_of_its_own(built: Path) -> None:
    version = icontrol_emulator.__version__
    name = f"icontrol_emulator-{version}"
    with zipfile.ZipFile(built / f"{name}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        scripts = wheel.read(f"{name}.dist-info/entry_points.txt").decode()
        metadata = wheel.read(f"{name}.dist-info/METADATA").decode()
    assert sources_of(EMULATOR / "src") - names == set()
    assert {each.partition("/")[0] for each in names} == {"icontrol_emulator", f"{name}.dist-info"}
    assert f"{name}.dist-info/licenses/LICENSE" in names
    assert "icontrol-emulator = icontrol_emulator.__main__:main" in scripts
    assert f"Name: icontrol-emulator\nVersion: {version}\n" in metadata
    assert "evenkeel" not in metadata.partition("\n\n")[0]
    with tarfile.open(built / f"{name}.tar.gz") as source:
        held = {each.removeprefix(f"{name}/") for each in source.getnames()}
    assert {"LICENSE", "README.md", "USAGE.md", "CHANGELOG.md", "pyproject.toml"} <= held
    assert not [each for each in held if each.startswith("tests/")]


def test_as3_is_a_distribution_that_the_emulator_finds(built: Path) -> None:
    name = f"icontrol_as3-{icontrol_as3.__version__}"
    with zipfile.ZipFile(built / f"{name}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        points = wheel.read(f"{name}.dist-info/entry_points.txt").decode()
        metadata = wheel.read(f"{name}.dist-info/METADATA").decode()
    assert sources_of(AS3 / "src") - names == set()
    assert "[icontrol_emulator.extensions]\nas3 = icontrol_as3:As3" in points
    assert "evenkeel" not in metadata.partition("\n\n")[0]
    with tarfile.open(built / f"{name}.tar.gz") as source:
        held = {each.removeprefix(f"{name}/") for each in source.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= held
    assert not [each for each in held if each.startswith("tests/")]


@pytest.mark.parametrize(
    ("project", "package", "groups"),
    [
        (PROVIDER, evenkeel_octavia, ("octavia.api.drivers", "octavia.driver_agent.provider_agents")),
        (PLUGIN, evenkeel_neutron, ("neutron.service_plugins",)),
    ],
    ids=["Octavia", "Neutron"],
)
def test_a_package_for_another_service_is_a_distribution_that_it_finds(
    built: Path, project: Path, package: ModuleType, groups: tuple[str, ...]
) -> None:
    name = f"{package.__name__}-{package.__version__}"
    with zipfile.ZipFile(built / f"{name}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
        points = wheel.read(f"{name}.dist-info/entry_points.txt").decode()
    assert sources_of(project / "src") - names == set()
    assert {each.partition("/")[0] for each in names} == {package.__name__, f"{name}.dist-info"}
    for group in (*groups, "oslo.config.opts"):
        assert f"[{group}]\nevenkeel" in points
    with tarfile.open(built / f"{name}.tar.gz") as source:
        held = {each.removeprefix(f"{name}/") for each in source.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= held
    assert not [each for each in held if each.startswith("tests/")]


@pytest.mark.parametrize("project", [EMULATOR, AS3, PROVIDER, PLUGIN], ids=lambda path: path.name)
def test_all_distributions_have_the_same_license(project: Path) -> None:
    assert (project / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize("project", [EMULATOR, AS3, PROVIDER, PLUGIN], ids=lambda path: path.name)
def test_nothing_of_another_distribution_imports_the_product(project: Path) -> None:
    """Its tests use helpers of this repository's tests. For its sources there is an import contract too."""
    importing = re.compile(r"^\s*(?:from|import) evenkeel\b", re.MULTILINE)
    assert [str(path) for path in project.rglob("*.py") if importing.search(path.read_text())] == []


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

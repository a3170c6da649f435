"""What a release is made of: files that are the same whenever they are built, and a bill of their materials."""

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType

import pytest

from evenkeel import __version__

ROOT = Path(__file__).parents[2]
LOCK = """\
aiohttp==3.10.0 \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
My.Package==1.0 ; sys_platform == 'linux' \\
    --hash=sha256:{b}
""".format(a="a" * 64, b="b" * 64)


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("project", [ROOT, *sorted((ROOT / "packages").iterdir())], ids=lambda path: path.name)
def test_two_builds_give_the_same_bytes(project: Path, tmp_path: Path) -> None:
    digests = []
    for number in range(2):
        folder = tmp_path / str(number)
        run = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "TZ": ("UTC", "Asia/Tokyo")[number]}
        done = subprocess.run(run, cwd=project, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        digests.append({path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()})
    assert digests[0] == digests[1] and len(digests[0]) == 2


def test_hashes_are_those_of_the_lock(sbom: ModuleType) -> None:
    assert sbom.locked_hashes(LOCK) == {"aiohttp": ["a" * 64, "b" * 64], "my-package": ["b" * 64]}


def test_a_bill_names_each_package_with_version_licence_and_hashes(sbom: ModuleType) -> None:
    found = [distribution(name) for name in ("msgspec", "evenkeel-lbaas", "pip")]
    made = sbom.bill("evenkeel-lbaas", __version__, found, {"msgspec": ["a" * 64]})
    assert made == sbom.bill("evenkeel-lbaas", __version__, reversed(found), {"msgspec": ["a" * 64]})
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert made["metadata"]["component"]["purl"] == f"pkg:pypi/evenkeel-lbaas@{__version__}"
    (component,) = made["components"]
    assert component["purl"] == f"pkg:pypi/msgspec@{distribution('msgspec').version}"
    assert component["properties"] == [{"name": "python:sha256", "value": "a" * 64}]
    assert component["licenses"]


def test_the_bill_of_an_environment_has_what_the_product_needs() -> None:
    command = [sys.executable, "scripts/sbom.py", "evenkeel-lbaas", __version__, "requirements/demo.txt"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    names = {each["name"] for each in json.loads(done.stdout)["components"]}
    assert {"aiohttp", "sqlalchemy", "icontrol-emulator"} <= names and "evenkeel-lbaas" not in names


def test_the_changelog_has_a_section_of_this_version_below_unreleased_changes() -> None:
    sections = re.findall(r"^## \[?([^]\s]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[0] == "Unreleased" and sections[1] == __version__

"""The systemd units of controllers and agents: what systemd takes, and finds tight; files that the package brings."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "packaging" / "systemd"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
UNITS = sorted(FOLDER.glob("*.service"))
EXPOSURE_MAX = 20
"""Tenths, as systemd-analyze counts; 100 is everything."""


def value(unit: Path, option: str) -> str:
    found = re.search(rf"^{option}=(.*)$", unit.read_text(), re.MULTILINE)
    return found[1] if found else ""


def test_there_is_one_for_each_process() -> None:
    assert [unit.stem for unit in UNITS] == ["evenkeel-agent", "evenkeel-controller", "evenkeel-haproxyd"]
    shared = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared["packaging/systemd"] == "share/evenkeel/systemd"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_unit_starts_its_command_and_waits_until_it_is_ready(unit: Path) -> None:
    command, *arguments = value(unit, "ExecStart").split()
    assert Path(command).name == unit.stem and unit.stem in PROJECT["project"]["scripts"]
    assert arguments == ["--config-file", f"/etc/evenkeel/{unit.stem.removeprefix('evenkeel-')}.ini"]
    assert (value(unit, "Type"), value(unit, "NotifyAccess"), value(unit, "WatchdogSec")) == ("notify", "main", "30")
    assert (value(unit, "Restart"), value(unit, "NoNewPrivileges")) == ("always", "yes")


@pytest.mark.parametrize("unit", UNITS[:2], ids=lambda unit: unit.stem)
def test_controllers_and_agents_run_without_privileges(unit: Path) -> None:
    assert value(unit, "User") == "evenkeel" and "\nCapabilityBoundingSet=\n" in unit.read_text()
    assert "u evenkeel " in (FOLDER / "evenkeel.sysusers").read_text()
    assert f"/etc/evenkeel/{unit.stem.removeprefix('evenkeel-')}.ini 0640" in (FOLDER / "evenkeel.tmpfiles").read_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
@pytest.mark.parametrize("unit", UNITS[:2], ids=lambda unit: unit.stem)
def test_systemd_takes_it_and_finds_it_tight(unit: Path, tmp_path: Path) -> None:
    path = tmp_path / unit.name
    text = unit.read_text().replace(f"/opt/evenkeel/bin/{unit.stem}", "/bin/true")
    path.write_text(text)
    security = ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(path)]
    found = subprocess.run(security, capture_output=True, text=True, check=False, timeout=240)
    assert found.returncode == 0, found.stdout[-500:]
    path.write_text(text.replace("User=evenkeel\n", "").replace("Group=evenkeel\n", ""))  # who is not here
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(path)], capture_output=True, text=True, check=False, timeout=240
    )
    assert (verified.returncode, verified.stderr) == (0, "")

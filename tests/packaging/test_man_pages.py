"""Man pages: one for each command, with the options of its help, and without warnings of those who show them."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from evenkeel.cli.help import HIDDEN_COMMANDS
from evenkeel.cli.main import COMMANDS
from evenkeel.cmd.configuration.commands import COMMANDS as LOCAL_COMMANDS

ROOT = Path(__file__).parents[2]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
SUBCOMMANDS = sorted({*COMMANDS, *LOCAL_COMMANDS, "help"} - HIDDEN_COMMANDS)
ADMINISTRATORS = sorted(set(SCRIPTS) - {"evenkeel"})


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all pages."""
    folder = tmp_path_factory.mktemp("man")
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "EVENKEEL_ENDPOINT": "https://elsewhere.example"}
    make = [sys.executable, "scripts/generate_man_pages.py", str(folder)]
    done = subprocess.run(make, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


def test_generation_without_a_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = str(ROOT / "scripts" / "generate_man_pages.py")
    monkeypatch.setattr(sys, "argv", [script])
    with pytest.raises(SystemExit) as refused:
        runpy.run_path(script, run_name="__main__")
    assert refused.value.code == 2
    assert "folder" in capsys.readouterr().err


def shown(*pages: Path) -> str:
    """Pages as a terminal of great width shows them, without warnings."""
    show = ["groff", "-mandoc", "-Tutf8", "-P-c", "-ww", "-rLL=1000n", *map(str, pages)]
    done = subprocess.run(show, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return re.sub(".\b", "", done.stdout)


def test_each_command_has_a_page(pages: Path) -> None:
    expected = {f"evenkeel-{name.replace(' ', '-')}.1" for name in SUBCOMMANDS}
    expected |= {"evenkeel.1", *(f"{name}.8" for name in ADMINISTRATORS)}
    assert {page.name for page in pages.iterdir()} == expected
    overview = shown(pages / "evenkeel.1")
    assert [name for name in SUBCOMMANDS if f"       {name}" not in overview] == []


def test_pages_have_the_date_of_the_build_and_nothing_of_its_host(pages: Path) -> None:
    for page in pages.iterdir():
        text = page.read_text()
        assert '"2023-11-14"' in text.splitlines()[0]
        assert "elsewhere.example" not in text and str(ROOT) not in text, page.name


@pytest.mark.parametrize("command", ADMINISTRATORS)
def test_a_page_has_the_options_of_the_help(command: str, pages: Path) -> None:
    asked = subprocess.run([str(Path(sys.executable).parent / command), "--help"], capture_output=True, text=True)
    assert asked.returncode == 0, asked.stderr
    page = shown(pages / f"{command}.8")
    for option in re.findall(r"--[a-z_-]+", asked.stdout):
        assert option in page


def test_pages_are_shown_without_warnings(pages: Path) -> None:
    every = sorted(pages.iterdir())
    titles = shown(*every).splitlines()
    assert [titles.count(title) for title in ("NAME", "SYNOPSIS", "DESCRIPTION")] == [len(every)] * 3
    if shutil.which("mandoc"):
        lint = ["mandoc", "-Tlint", "-Wwarning", *map(str, every)]
        assert subprocess.run(lint, capture_output=True, text=True, timeout=60).stdout == ""

"""Style, types, import contracts, and one collection of all tests: all at once, a process each.

Tests begin when the collection has ended; the others go on beside them. A run with one tier has no collection of its
own: that tier's is as good."""

import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

from tests.tiers.runner import BESIDE

COLLECTION = "collection"
PACKAGES = ("evenkeel", "icontrol_emulator", "icontrol_as3", "evenkeel_octavia", "evenkeel_neutron")
_WITHOUT = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
"""Hypothesis's plugin would read all constants of the product, half a second."""
CHECKS: dict[str, tuple[str, ...]] = {
    "mypy": (*BESIDE, "mypy", *(word for name in PACKAGES for word in ("-p", name))),
    "ruff check": (*BESIDE, "ruff", "check", "."),
    "ruff format": (*BESIDE, "ruff", "format", "--check", "."),
    "lint-imports": (*BESIDE, "lint-imports"),
    "lint-imports of AS3": (*BESIDE, "lint-imports", "--config", "packages/icontrol-as3/pyproject.toml"),
    # it fills the bytecode cache: rewriting a thousand test files costs each pytest process half a minute
    COLLECTION: (sys.executable, "-m", "pytest", "--collect-only", "-qq", "-n0", *_WITHOUT),
}
SECONDS = 1200
SHOWN_LINES = 60


class Done(NamedTuple):
    """One check that has ended."""

    name: str
    exit_code: int
    output: str

    @property
    def end(self) -> str:
        """The output's last lines: a failing collection prints all tests too."""
        return "\n".join(self.output.splitlines()[-SHOWN_LINES:])


Running = dict[str, subprocess.Popen[str] | OSError]
"""Checks that were started, or why not, by name."""


def checks_beside(tiers: int) -> dict[str, tuple[str, ...]]:
    """The checks of a run with so many tiers."""
    return {name: command for name, command in CHECKS.items() if tiers > 1 or name != COLLECTION}


def start_all(environment: Mapping[str, str], checks: Mapping[str, tuple[str, ...]]) -> Running:
    """Start checks beside each other."""
    return {name: _start(command, environment) for name, command in checks.items()}


def wait_for(running: Running) -> list[Done]:
    """Wait until checks have ended; one that couldn't be started, or takes :data:`SECONDS` more, has failed."""
    return [_wait(name, process) for name, process in running.items()]


def _start(command: tuple[str, ...], environment: Mapping[str, str]) -> subprocess.Popen[str] | OSError:
    try:
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=dict(environment),
        )
    except OSError as error:
        return error


def _wait(name: str, process: subprocess.Popen[str] | OSError) -> Done:
    if isinstance(process, OSError):
        return Done(name, 127, str(process))
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return Done(name, 124, f"{output}\nended after {SECONDS} s")
    return Done(name, process.returncode, output)

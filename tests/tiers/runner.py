"""Starts pytest for a tier or for one test alone, and reads what became of the tests."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.tiers import outcomes
from tests.tiers.plan import DISTRIBUTION, Tier

ROOT = Path(__file__).parents[2]
UNUSED_PLUGINS = ("faker", "anyio")
"""Plugins that other libraries bring; without them each pytest process starts a CPU second earlier."""


def environment_of_tests() -> dict[str, str]:
    """Environment of all checks and tests.

    Bytecode is cached even where the caller's environment forbids it: otherwise each pytest process and each process
    under test compiles everything anew, half a minute of CPU time. The order of sets comes from one seed, so that a
    failure that depends on it can be repeated."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if not environment.get("PYTHONHASHSEED", "").isdigit():
        environment["PYTHONHASHSEED"] = str(int.from_bytes(os.urandom(2)))
    return environment


class Runner:
    """Runs pytest processes, one at a time."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], root: Path = ROOT
    ) -> None:
        self._arguments = arguments
        self._folder = folder
        self._environment = environment
        self._root = root

    def run_tier(self, tier: Tier) -> outcomes.Run | None:
        """Outcomes of one tier; None if pytest ended without them."""
        workers = self._environment.get("EVENKEEL_TEST_WORKERS") or str(tier.workers(os.cpu_count() or 2))
        print(f"== {tier.name}", flush=True)
        arguments = ["-rs", "-n", workers, "--dist", DISTRIBUTION, *self._arguments, "-m", tier.marks]
        return self._pytest(arguments, stdout=None)

    def run_alone(self, name: str) -> tuple[outcomes.Run | None, tuple[str, ...]]:
        """Outcome of one test in a process of its own, and the end of what pytest printed."""
        print(f"== alone: {name}", flush=True)
        output = self._folder / "output"
        with output.open("wb") as file:
            run = self._pytest(["-n0", name], stdout=file.fileno())
        text = output.read_text(errors="replace")
        print(text, flush=True)
        return run, outcomes.ends_of(text)

    def _pytest(self, arguments: Sequence[str], *, stdout: int | None) -> outcomes.Run | None:
        record = self._folder / "record.json"
        record.unlink(missing_ok=True)
        plugins = ["-p", "tests.tiers.recorder", *(word for name in UNUSED_PLUGINS for word in ("-p", f"no:{name}"))]
        command = [sys.executable, "-m", "pytest", *plugins, f"--record={record}", *arguments]
        error = None if stdout is None else subprocess.STDOUT
        subprocess.run(command, cwd=self._root, env=dict(self._environment), stdout=stdout, stderr=error, check=False)
        return outcomes.read(record)

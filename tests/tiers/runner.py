"""Starts pytest for a tier or for one test alone, and reads what became of the tests."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.tiers import outcomes
from tests.tiers.plan import Tier

ROOT = Path(__file__).parents[2]
PLUGINS = ("recorder", "workers", "order")
BESIDE = ("nice", "-n", "5")
"""Starts a tier that computes beside one that waits: of a processor that both want it gets a quarter, which is enough
for its tests' time limits where other busy processes want it too."""


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
    """Runs pytest processes."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], root: Path = ROOT
    ) -> None:
        self._arguments = arguments
        self._folder = folder
        self._environment = environment
        self._root = root

    def run_tiers(self, tiers: Sequence[Tier]) -> dict[str, outcomes.Run | None]:
        """Outcomes by tier, as of :meth:`run_tier`. Tiers that wait run one after the other, and those that compute
        beside them."""
        waiting = [tier for tier in tiers if tier.is_waiting]
        if not waiting:
            return {tier.name: self.run_tier(tier) for tier in tiers}
        computing = [tier for tier in tiers if not tier.is_waiting]
        with ThreadPoolExecutor(max_workers=1) as pool:
            beside = {tier.name: pool.submit(self._run_beside, tier) for tier in computing}
            runs = {tier.name: self.run_tier(tier) for tier in waiting}
        return {**{name: future.result() for name, future in beside.items()}, **runs}

    def run_tier(self, tier: Tier) -> outcomes.Run | None:
        """Outcomes of one tier; None if pytest ended without them."""
        print(f"== {tier.name}", flush=True)
        return self._pytest(tier.name, self._arguments_of(tier), stdout=None)

    def _run_beside(self, tier: Tier) -> outcomes.Run | None:
        print(f"== {tier.name}, beside the following; their output comes when they have ended", flush=True)
        output = self._output_of(tier.name)
        with output.open("wb") as file:
            run = self._pytest(tier.name, self._arguments_of(tier), stdout=file.fileno(), prefix=BESIDE)
        print(f"\n== {tier.name}, ended\n{output.read_text(errors='replace')}", flush=True)
        return run

    def _arguments_of(self, tier: Tier) -> list[str]:
        workers = self._environment.get("EVENKEEL_TEST_WORKERS") or str(tier.workers(os.cpu_count() or 2))
        return ["-rs", "--workers", workers, *self._arguments, "-m", tier.marks]

    def _output_of(self, run: str) -> Path:
        return self._folder / f"{_file_name(run)}.output"

    def run_alone(self, name: str) -> tuple[outcomes.Run | None, tuple[str, ...]]:
        """Outcome of one test in a process of its own, and the end of what pytest printed."""
        print(f"== alone: {name}", flush=True)
        output = self._output_of("alone")
        with output.open("wb") as file:
            run = self._pytest("alone", ["-n0", name], stdout=file.fileno())
        text = output.read_text(errors="replace")
        print(text, flush=True)
        return run, outcomes.ends_of(text)

    def _pytest(
        self, run: str, arguments: Sequence[str], *, stdout: int | None, prefix: Sequence[str] = ()
    ) -> outcomes.Run | None:
        record = self._folder / f"{_file_name(run)}.json"
        record.unlink(missing_ok=True)
        plugins = [word for name in PLUGINS for word in ("-p", f"tests.tiers.{name}")]
        command = [*prefix, sys.executable, "-m", "pytest", *plugins, f"--record={record}", *arguments]
        error = None if stdout is None else subprocess.STDOUT
        subprocess.run(command, cwd=self._root, env=dict(self._environment), stdout=stdout, stderr=error, check=False)
        return outcomes.read(record)


def _file_name(run: str) -> str:
    return re.sub(r"\W+", "-", run)

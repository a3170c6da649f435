"""Results of seeds that several tests look at: a seed runs once in a run of the tests, in whichever worker needs it."""

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.sim import run
from tests.sim.run import Result

_folders: list[Path] = []
"""The folder of the run's results; none: nothing is kept."""


def keep_in(folder: Path) -> None:
    """From now on, keep results in a folder that all workers of the run share."""
    folder.mkdir(exist_ok=True)
    _folders[:] = [folder]


def result_of(seed: str) -> Result:
    """The run of a seed with the product as it is, without its event log."""
    found = _kept(seed)
    if found is None:
        found = run.run_seed(seed)._replace(trace=[])
        _keep(found)
    return found


def clean_runs(prefix: str, numbers: Iterable[int]) -> list[Result]:
    """:func:`tests.sim.run.clean_runs`, but for seeds of which a result is kept that violates nothing."""
    wanted = list(numbers)
    kept = {number: _kept(f"{prefix}{number}") for number in wanted}
    known = {number: result for number, result in kept.items() if result is not None and not result.violations}
    missing = [number for number in wanted if number not in known]
    for number, result in zip(missing, run.clean_runs(prefix, missing), strict=True):
        known[number] = result
        _keep(result)
    return [known[number] for number in wanted]


def _kept(seed: str) -> Result | None:
    path = _folders[0] / f"{seed}.json" if _folders else None
    if path is None or not path.exists():
        return None
    found = Result(**json.loads(path.read_text()))
    return found._replace(counts=Counter(found.counts), faults=Counter(found.faults))


def _keep(result: Result) -> None:
    """Renamed when it is complete: another worker may keep the same one."""
    if _folders:
        unfinished = _folders[0] / f"{result.seed}.{os.getpid()}"
        unfinished.write_text(json.dumps(result._replace(trace=[])._asdict()))
        unfinished.rename(_folders[0] / f"{result.seed}.json")

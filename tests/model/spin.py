"""Runs the model checker ``spin`` on a model and reads what it says."""

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from evenkeel.core.kit.values import Value

MODEL = Path(__file__).with_name("ownership.pml")
SECONDS_MAX = 280
DEPTH_MAX = 100_000
MEMORY_MIB_MAX = 1_000


class Search(Value):
    """What a search came to."""

    errors: int
    states: int
    complete: bool
    unreached: tuple[str, ...]
    """Lines of the model at which there is a statement that never ran."""
    text: str


def missing() -> str:
    """Why the model cannot be checked here; empty if it can."""
    for program in ("spin", "cc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return ""


def search(
    directory: Path, defined: Sequence[str], *, liveness: bool, model: Path = MODEL, ends_early: bool = False
) -> Search:
    """All states of the model with these names defined: assertions, and its LTL formula if ``liveness``. One that is to
    find something and so ``ends_early`` takes less time than the compiler would to make it fast."""
    _run(directory, "spin", "-a", *(f"-D{name}" for name in defined), str(model))
    kind = () if liveness else ("-DSAFETY", "-DNOCLAIM")
    _run(directory, "cc", "-O0" if ends_early else "-O1", *kind, f"-DMEMLIM={MEMORY_MIB_MAX}", "-o", "pan", "pan.c")
    flags = ("-a",) if liveness else ()
    return _read(_run(directory, "./pan", f"-m{DEPTH_MAX}", "-w22", *flags), model)


def _run(directory: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS_MAX)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout + done.stderr


def _read(text: str, model: Path) -> Search:
    counts = re.search(r"errors: (\d+)\s+([\d.e+]+) states, stored", text)
    assert counts is not None, text
    incomplete = ("Search not completed", "max search depth too small", "out of memory", "hash-compact")
    of_the_model = text.partition("unreached in claim")[0]
    return Search(
        errors=int(counts[1]),
        states=int(float(counts[2])),
        complete=not any(sign in text for sign in incomplete),
        unreached=tuple(re.findall(rf"{model.name}:\d+, state \d+, \"(.*)\"", of_the_model)),
        text=text,
    )

"""Data directories of database servers as their installers make them: made once, kept in the user's cache directory,
copied by every later server. Making one takes a second of CPU."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.services.installation import cache_directory, locked


def make_or_copy(target: Path, make: Callable[[], None], *, program: Path, arguments: Sequence[str]) -> None:
    """``make`` the data directory ``target``, or copy the one that was made by the same ``program`` with the same
    ``arguments``."""
    template = cache_directory() / f"{program.name}-data-{_fingerprint(program, arguments)}"
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        with locked(template.with_suffix(".lock")):
            if template.exists():
                return _copy(template, target)
            make()
            _keep(target, template)
    except OSError:  # no such directory can be written: each server makes its own
        if not target.exists():
            make()


def _fingerprint(program: Path, arguments: Sequence[str]) -> str:
    version = subprocess.run([str(program), "--version"], capture_output=True, check=True, timeout=60).stdout
    text = "\0".join((version.decode(), str(os.getuid()), *arguments))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _keep(made: Path, template: Path) -> None:
    """Renamed when it is complete, whatever happens to this process."""
    unfinished = template.with_suffix(".new")
    shutil.rmtree(unfinished, ignore_errors=True)
    _copy(made, unfinished)
    unfinished.rename(template)


def _copy(source: Path, target: Path) -> None:
    """With owners and modes; blocks are shared where the file system can."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True, timeout=300)

"""Databases as their installers make them: made once, kept in the user's cache directory, copied by every later server.
Making one takes seconds of CPU."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.services.installation import cache_directory, locked


def make_or_copy(target: Path, make: Callable[[], None], *, name: str, made_by: tuple[str, ...]) -> None:
    """``make`` the file or directory ``target``, or copy the one that was made before. ``made_by``: what its content
    depends on, such as the installer's version and arguments."""
    fingerprint = hashlib.sha256("\0".join((str(os.getuid()), *made_by)).encode()).hexdigest()[:16]
    template = cache_directory() / f"{name}-{fingerprint}"
    try:
        template.parent.mkdir(parents=True, exist_ok=True)
        with locked(template.with_name(f"{template.name}.lock")):
            if template.exists():
                return _copy(template, target)
            make()
            _keep(target, template)
    except OSError:  # the cache directory cannot be written: each server makes its own
        if not target.exists():
            make()


def version_of(program: Path) -> str:
    """What the program answers to ``--version``."""
    return subprocess.run([program, "--version"], capture_output=True, check=True, timeout=60, text=True).stdout


def _keep(made: Path, template: Path) -> None:
    """Renamed when it is complete, whatever happens to this process."""
    unfinished = template.with_name(f"{template.name}.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.unlink(missing_ok=True)
    _copy(made, unfinished)
    unfinished.rename(template)


def _copy(source: Path, target: Path) -> None:
    """With owners and modes; blocks are shared where the file system can."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True, timeout=300)

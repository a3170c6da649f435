"""Servers from PyPI in virtual environments of their own: made once, kept in the user's cache directory, used by every
later run."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

INSTALL_SECONDS = 900


class NotInstallable(Exception):
    """Why there can be no such server here; tests are skipped with it."""


def environment(
    name: str, version: str, requirements: Sequence[str], *, alone: Sequence[str] = (), compiled: bool = True
) -> Path:
    """The directory of the virtual environment, made if there is none; ``alone``: installed without what they require;
    ``compiled``: all modules, also those that nobody imports. Raises :class:`NotInstallable`."""
    cache = cache_directory()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = cache / f"{name}-{version}-python{python}"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f"{target.name}.lock"):
            if not (target / "complete").exists():
                _install(target, requirements, alone, compiled)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotInstallable(f"{name} {version} cannot be installed: {_told(error)}") from error
    return target


def cache_directory() -> Path:
    """Where what tests install is kept for later runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evenkeel-tests"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among all processes; the kernel lets go of it when the process ends, however it ends."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(target: Path, requirements: Sequence[str], alone: Sequence[str], compiled: bool) -> None:
    shutil.rmtree(target, ignore_errors=True)
    _run(sys.executable, "-m", "venv", target)
    pip = (target / "bin" / "python", "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check")
    pip = (*pip, "--compile" if compiled else "--no-compile")
    _run(*pip, *requirements)
    if alone:
        _run(*pip, "--no-deps", *alone)
    (target / "complete").touch()


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=INSTALL_SECONDS)


def _told(error: Exception) -> str:
    output = getattr(error, "stderr", None) or b""
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else type(error).__name__

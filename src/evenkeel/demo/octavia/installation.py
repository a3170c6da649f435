"""Octavia's virtual environment for the demo, made once from the lock file ``requirements/octavia.txt``."""

import shutil
import subprocess
import sys
from pathlib import Path

from evenkeel.demo.octavia.files import DRIVER_PACKAGE, REPOSITORY_DIR
from evenkeel.demo.processes import ProcessFailed

LOCK_FILE = REPOSITORY_DIR / "requirements" / "octavia.txt"
DEFAULT_DIRECTORY = REPOSITORY_DIR / ".venv-octavia"
INSTALL_SECONDS = 1800


def is_installed(directory: Path) -> bool:
    """Whether the virtual environment was installed from the present lock file."""
    stamp = directory / "evenkeel-octavia"
    return stamp.exists() and stamp.read_bytes() == LOCK_FILE.read_bytes()


def install_octavia(directory: Path) -> None:
    """Create Octavia's virtual environment in ``directory``, which is emptied first; pip's own settings
    apply. Blocks for minutes. Raises :class:`~evenkeel.demo.processes.ProcessFailed` if a command fails,
    or without a checkout of the repository.
    """
    if not LOCK_FILE.exists() or not DRIVER_PACKAGE.is_dir():
        raise ProcessFailed(f"Octavia's lock file {LOCK_FILE} is missing: --octavia needs a checkout of the repository")
    shutil.rmtree(directory, ignore_errors=True)
    _run_command(sys.executable, "-m", "venv", str(directory))
    pip = (
        str(directory / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-qq",
        "--no-input",
        "--disable-pip-version-check",
    )
    _run_command(*pip, "-r", str(LOCK_FILE))
    (directory / "evenkeel-octavia").write_bytes(LOCK_FILE.read_bytes())


def _run_command(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS)  # noqa: S603  # ours
    except subprocess.CalledProcessError as error:
        output = (error.stdout + error.stderr).decode(errors="replace")
        raise ProcessFailed(f"{' '.join(command[:4])} … failed:\n{output[-2000:]}") from error
    except subprocess.TimeoutExpired as error:
        raise ProcessFailed(f"{' '.join(command[:4])} … took more than {INSTALL_SECONDS} s") from error

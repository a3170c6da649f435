"""The directory of a cluster's processes, with their configuration, logs and announcements."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from evenkeel.demo.configuration import Sections, format_ini
from evenkeel.demo.processes import DemoProcess

START_SECONDS = 60.0


class Workspace:
    """Creates processes by name, with their files below ``directory``, which is created. ``start_seconds``:
    time-out of a start.
    """

    def __init__(self, directory: Path, *, start_seconds: float = START_SECONDS) -> None:
        self.directory = directory.resolve()
        self.start_seconds = start_seconds
        self.processes: dict[str, DemoProcess] = {}
        for part in ("logs", "etc", "run"):
            (self.directory / part).mkdir(parents=True, exist_ok=True)

    def announcement_path(self, file: str) -> Path:
        """Return the path of a file that a process will write once it is ready; an old file is removed."""
        path = self.directory / "run" / file
        path.unlink(missing_ok=True)
        return path

    def write_secret(self, file: str, text: str) -> Path:
        """Write a file with this text and mode 0600 atomically; returns its path."""
        path = self.directory / "etc" / file
        # Replaced as a whole: a process that reads it meanwhile must not find half of it.
        new = path.with_name(f".{file}.new")
        # Created before it is written: write_text() would create a file that others may read.
        new.touch(mode=0o600)
        new.write_text(text)
        new.replace(path)
        return path

    def get_process(self, name: str, module: str, arguments: Sequence[str]) -> DemoProcess:
        """Return the process of this name: the one that runs, else a new one for the Python module
        ``module``, which is not started yet.
        """
        process = self.processes.get(name)
        if process is None or not process.running:
            log = self.directory / "logs" / f"{name}.log"
            process = self.processes[name] = DemoProcess(name, [sys.executable, "-m", module, *arguments], log=log)
        return process

    def create_process(self, name: str, module: str, sections: Sections) -> DemoProcess:
        """Return a process of ``module`` with ``sections`` in its ini file, which only its owner can read:
        URLs may contain passwords. A new one is not started yet.
        """
        file = self.write_secret(f"{name}.ini", format_ini(sections))
        return self.get_process(name, module, ["--config-file", str(file)])

    async def run(self, process: DemoProcess, ready: Callable[[], bool], what: str) -> None:
        """Start the process and wait until ``ready()`` is true. ``what``: text for errors. Raises
        :class:`~evenkeel.demo.processes.ProcessFailed` if it ends before, or after ``start_seconds``.
        """
        process.start()
        await process.wait_until(ready, what, timeout_seconds=self.start_seconds)


def written_file_condition(file: Path) -> Callable[[], bool]:
    """Return a condition that is true once the file exists and is not empty."""
    return lambda: file.exists() and bool(file.read_text().strip())

"""The last release, built from the commit that the changelog names, and clusters whose processes run it."""

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from evenkeel.demo.configuration import Sections
from evenkeel.demo.processes import DemoProcess
from evenkeel.demo.workspace import Workspace

ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r"^## \[(?P<version>[^\]]+)\].*?^Commit: `(?P<commit>[0-9a-f]{40})`$", re.MULTILINE | re.DOTALL)
BUILD_SECONDS = 300
NEW_OPTIONS = {"haproxyd": {"nftables_table"}}
"""Options, by section, of the demo's files that the last release does not have: an operator adds them after an upgrade,
and removes them before a step back."""


class NotThere(Exception):
    """The last release cannot be built here. The text gives the reason."""


def version_and_commit(changelog: str) -> tuple[str, str]:
    """The newest release that the changelog names, and the commit that it was made from."""
    found = _SECTION.search(changelog)
    assert found is not None, "no section names the commit of its release"
    return found["version"], found["commit"]


def installed(folder: Path) -> Path:
    """A folder with the last release's wheel installed in it. Both versions use the libraries of the tests.

    Raises :class:`NotThere` if git does not have its commit, as in a shallow clone.
    """
    version, commit = version_and_commit((ROOT / "CHANGELOG.md").read_text())
    source, wheels, target = folder / "source", folder / "wheels", folder / "installed"
    with tarfile.open(fileobj=io.BytesIO(_archive(version, commit))) as archive:
        archive.extractall(source, filter="data")
    _run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], source)
    (wheel,) = wheels.glob("*.whl")
    options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(target))
    _run([sys.executable, "-m", "pip", "install", *options, str(wheel)], folder)
    return target


def _archive(version: str, commit: str) -> bytes:
    # a checkout of another user, as root in CI, is as good as one's own for reading
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT)]
    try:
        return subprocess.run(
            [*git, "archive", "--format=tar", commit], check=True, capture_output=True, timeout=BUILD_SECONDS
        ).stdout
    except FileNotFoundError:
        raise NotThere("git is not installed") from None
    except subprocess.CalledProcessError:
        raise NotThere(f"git does not have commit {commit} of version {version}: a shallow clone?") from None


def _run(command: list[str], folder: Path) -> None:
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def environment_of(release: Path) -> dict[str, str]:
    """Environment of a process that imports the release in a folder before what the interpreter has installed."""
    return {"PYTHONPATH": str(release)}


class MixedWorkspace(Workspace):
    """Processes run the release in :attr:`release`, or this version if their names are in :attr:`new`."""

    release: Path
    new: set[str]

    def create_process(self, name: str, module: str, sections: Sections) -> DemoProcess:
        if name not in self.new:
            sections = {
                section: {
                    option: value for option, value in options.items() if option not in NEW_OPTIONS.get(section, ())
                }
                for section, options in sections.items()
            }
        return super().create_process(name, module, sections)

    def get_process(self, name: str, module: str, arguments: list[str]) -> DemoProcess:  # type: ignore[override]
        known = self.processes.get(name)
        made = super().get_process(name, module, arguments)
        if made is not known and name not in self.new:
            environment = environment_of(self.release)
            made = self.processes[name] = DemoProcess(name, made.command, log=made.log, environment=environment)
        return made

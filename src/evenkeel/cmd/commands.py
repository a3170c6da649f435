"""The console scripts. Each says what to install if the extra that it needs is not there.

A package brings all of its commands wherever it is installed; the libraries of each are in an extra, so that a host has
what runs there and nothing else. Nothing is imported before it is known to be there.
"""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution, requires

PROJECT = "evenkeel"
NOT_INSTALLED = 2
"""Exit code, as for a configuration that cannot be used."""

_REQUIREMENT = re.compile(r"""([A-Za-z0-9._-]+)[^;]*;\s*extra\s*==\s*['"]([^'"]+)['"]\s*""")
"""One that an extra adds on every platform, as the package's metadata have it (PEP 508); extras within extras are
resolved there."""


def operators() -> int:
    """``evenkeel``."""
    return _run("evenkeel", "evenkeel.cli.main", "cli")


def agent() -> int:
    """``evenkeel-agent``."""
    return _run("evenkeel-agent", "evenkeel.cmd.agent", "agent")


def controller() -> int:
    """``evenkeel-controller``."""
    return _run("evenkeel-controller", "evenkeel.cmd.controller", "controller")


def haproxyd() -> int:
    """``evenkeel-haproxyd``."""
    return _run("evenkeel-haproxyd", "evenkeel.cmd.haproxyd", "haproxyd")


def rabbitmq() -> int:
    """``evenkeel-rabbitmq``: works wherever an agent or a controller does."""
    return _run("evenkeel-rabbitmq", "evenkeel.cmd.rabbitmq", "agent", "controller")


def users() -> int:
    """``evenkeel-users``: works where a controller does."""
    return _run("evenkeel-users", "evenkeel.cmd.users", "controller")


def icontrol_emulator() -> int:
    """``icontrol-emulator``: a package of its own, which comes with ours."""
    return _run("icontrol-emulator", "icontrol_emulator.__main__", "emulator")


def _run(command: str, module: str, *extras: str) -> int:
    """``main()`` of the module, if all that one of the extras needs is installed."""
    missing = [missing_packages(extra) for extra in extras]
    if all(missing):
        choices = " or ".join(f"pip install '{PROJECT}[{extra}]'" for extra in extras)
        print(f"{command}: not installed: {', '.join(missing[0])}. Install what it needs: {choices}", file=sys.stderr)
        return NOT_INSTALLED
    result: int = import_module(module).main()
    return result


def missing_packages(extra: str) -> list[str]:
    """The packages that the extra names and that are not installed. Their versions are pip's affair."""
    return sorted({name for name in _packages(extra) if not _is_installed(name)})


def _packages(extra: str) -> Iterator[str]:
    """None if this is not installed as a package, but run from its sources."""
    try:
        listed = requires(PROJECT) or []
    except PackageNotFoundError:
        return
    for line in listed:
        found = _REQUIREMENT.fullmatch(line)
        if found is not None and found[2] == extra:
            yield found[1]


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True

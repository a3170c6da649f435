"""The console scripts. Each names the extra to install if its libraries are missing.

The package installs all commands; the libraries of each are in an extra, so that a host needs only the libraries of its
own processes. Modules are imported after the check.
"""

import sys
from importlib import import_module

from evenkeel import __version__
from evenkeel.cmd.options.extras import missing_packages, pip_install_command

EXIT_CODE_NOT_INSTALLED = 2
"""Exit code for missing libraries, the same as for an invalid configuration."""


def operators() -> int:
    """Run ``evenkeel``; returns the exit code."""
    return _run_main("evenkeel", "evenkeel.cmd.operators", "cli")


def agent() -> int:
    """Run ``evenkeel-agent``; returns the exit code, 2 if its libraries are missing."""
    return _run_main("evenkeel-agent", "evenkeel.cmd.agent", "agent")


def controller() -> int:
    """Run ``evenkeel-controller``; returns the exit code, 2 if its libraries are missing."""
    return _run_main("evenkeel-controller", "evenkeel.cmd.controller", "controller")


def haproxyd() -> int:
    """Run ``evenkeel-haproxyd``; returns the exit code, 2 if its libraries are missing."""
    return _run_main("evenkeel-haproxyd", "evenkeel.cmd.haproxyd", "haproxyd")


def rabbitmq() -> int:
    """Run ``evenkeel-rabbitmq``, which needs the libraries of an agent or a controller; returns the exit
    code, 2 if they are missing.
    """
    return _run_main("evenkeel-rabbitmq", "evenkeel.cmd.rabbitmq", "agent", "controller")


def db() -> int:
    """Run ``evenkeel-db``, which needs the libraries of a controller; returns the exit code, 2 if they are
    missing.
    """
    return _run_main("evenkeel-db", "evenkeel.cmd.db", "controller")


def users() -> int:
    """Run ``evenkeel-users``, which needs the libraries of a controller; returns the exit code, 2 if they are
    missing.
    """
    return _run_main("evenkeel-users", "evenkeel.cmd.users", "controller")


def _run_main(command: str, module: str, *extras: str) -> int:
    """Run ``main()`` of the module and return its exit code, if the libraries of one of the extras are
    installed; else print the missing ones and return 2. ``--version`` needs none.
    """
    if sys.argv[1:] == ["--version"]:
        print(f"{command} {__version__}")
        return 0
    missing = [missing_packages(extra) for extra in extras]
    if all(missing):
        choices = " or ".join(pip_install_command(extra) for extra in extras)
        print(f"{command}: not installed: {', '.join(missing[0])}. Install what it needs: {choices}", file=sys.stderr)
        return EXIT_CODE_NOT_INSTALLED
    result: int = import_module(module).main()
    return result

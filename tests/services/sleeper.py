"""Servers to share: one that sleeps, and one that never comes up."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.services.process import kill_group, spawn

START_SECONDS = 120.0


def start_sleeper(stack: ExitStack, servers: Path) -> dict[str, Any]:
    """Started by the keeper of a run; counts its starts in a file."""
    with (servers / "starts").open("a") as file:
        file.write("started\n")
    process = spawn(["sleep", "3600"], log=servers / "log", env={"PATH": "/usr/bin:/bin"}, cwd=servers)
    stack.callback(kill_group, process)
    return {"homes": [], "pid": process.pid}


def start_nothing(stack: ExitStack, servers: Path) -> dict[str, Any]:
    """A server that does not come up."""
    raise RuntimeError("the port is taken")

"""Starts of a cluster's processes by a fork from one that has imported their program.

Importing a controller takes more than a CPU second, and tests start hundreds of them. What is forked is a process of
its own: in a session of its own, the child of whoever asked, killed with it, with environment, arguments and log as if
executed. The tests of the demo, of commands, of packages and of upgrades execute theirs."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from evenkeel.demo.processes import DemoProcess
from tests.services.origin import IMPORTED, PR_SET_CHILD_SUBREAPER, READY, REQUEST_BYTES, Request, prctl

ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0
POLL_SECONDS = 0.01


class Forked:
    """A forked process, with those of :class:`subprocess.Popen`'s members that its keeper uses."""

    def __init__(self, pid: int, arguments: Sequence[str]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._arguments = arguments
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """The exit code; None while it lives."""
        with self._lock:
            if self.returncode is None:
                ended, status = os.waitpid(self.pid, os.WNOHANG)
                if ended:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """The exit code, once it has ended. Raises :class:`subprocess.TimeoutExpired`."""
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(list(self._arguments), timeout)
            time.sleep(POLL_SECONDS)
        return code


class Origin:
    """A process that has imported a program, and forks when asked. Not thread-safe."""

    def __init__(self, program: str) -> None:
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_SECONDS)
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.services.origin", program],
                cwd=ROOT,
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                start_new_session=True,
            )
        assert self._received() == READY

    def fork(self, arguments: Sequence[str], environment: Mapping[str, str], log: int) -> Forked:
        """Start the program. Raises OSError if that takes too long."""
        os.umask(umask := os.umask(0o077))
        request = Request(parent=os.getpid(), umask=umask, arguments=list(arguments), environment=dict(environment))
        with _adopting():
            socket.send_fds(self._channel, [msgspec.json.encode(request)], [log])
            return Forked(int(self._received()), arguments)

    def _received(self) -> bytes:
        message = self._channel.recv(REQUEST_BYTES)
        if not message:
            raise OSError("the process to fork from has ended")
        return message

    def close(self) -> None:
        """End it; what was forked lives on."""
        self._channel.close()
        self._process.wait(START_SECONDS)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """A process whose parent ends meanwhile becomes a child of this one."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0)


_forking = threading.Lock()
_origins: dict[str, Origin] | None = None
"""By program; None: everything is executed."""


def fork(command: Sequence[str], environment: Mapping[str, str], log: int) -> "subprocess.Popen[bytes] | None":
    """Fork the program of a command within :func:`forked_starts`, if it is one of :data:`IMPORTED` and started with
    this interpreter. None: it has to be executed."""
    program = _program(command)
    if _origins is None or program is None or _of_python(environment) != _of_python(os.environ):
        return None
    with _forking:
        if program not in _origins:
            _origins[program] = Origin(program)
        return cast("subprocess.Popen[bytes]", _origins[program].fork(command[3:], environment, log))


def start(command: Sequence[str], log: int) -> "subprocess.Popen[bytes]":
    """Start a program, forked if it can be, with output and errors in ``log``."""
    forked = fork(command, os.environ, log)
    return subprocess.Popen(command, stdout=log, stderr=log) if forked is None else forked


@contextlib.contextmanager
def forked_starts() -> Iterator[None]:
    """Fork the programs that a :class:`DemoProcess` starts, and those of :func:`start`."""
    global _origins
    before, _origins = _origins, {}
    execute = DemoProcess._open_process

    def forked_or_executed(process: DemoProcess) -> "subprocess.Popen[bytes]":
        if _program(process.command) is None:
            return execute(process)
        process.log.parent.mkdir(parents=True, exist_ok=True)
        with process.log.open("ab") as log:
            forked = fork(process.command, process._environment, log.fileno())
        return execute(process) if forked is None else forked

    DemoProcess._open_process = forked_or_executed  # type: ignore[method-assign]
    try:
        yield
    finally:
        DemoProcess._open_process = execute  # type: ignore[method-assign]
        for origin in _origins.values():
            origin.close()
        _origins = before


def _program(command: Sequence[str]) -> str | None:
    """The program of a command that is forked."""
    here = sys.platform == "linux" and tuple(command[:2]) == (sys.executable, "-m")
    return command[2] if here and command[2] in IMPORTED else None


def _of_python(environment: Mapping[str, str]) -> dict[str, str]:
    """What the interpreter itself heeds, when it starts."""
    return {
        name: value
        for name, value in environment.items()
        if name.startswith("PYTHON") and name != "PYTHONUNBUFFERED"  # which origins have, too
    }

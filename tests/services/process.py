"""What the server starters share: free ports, child processes that never outlive the tests, temporary homes.

A child gets SIGKILL from the kernel when the thread that started it ends (PR_SET_PDEATHSIG), so an interrupted or
killed test run leaves nothing behind. Therefore all children are started by one thread that lives as long as the
process: a start from a short-lived worker thread of an event loop would take the server down with that thread.
"""

import atexit
import contextlib
import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PORTS = range(15_000, 32_000)  # below Linux's ephemeral range: a stopped server finds its port free again
_libc = ctypes.CDLL(None, use_errno=True)
_starter = ThreadPoolExecutor(1, thread_name_prefix="service-starter")


class ServiceFailed(Exception):
    """A server did not come up; the text holds the end of its log."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on."""
    for _ in range(200):
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServiceFailed("no free port")


def temporary_home(prefix: str) -> Path:
    """A directory that is removed when the test process ends."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in forked children
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


def spawn(
    command: Sequence[str | Path], *, log: Path, env: Mapping[str, str], cwd: Path, user: str | None = None
) -> subprocess.Popen[bytes]:
    """Start a server as the leader of a process group that dies with us. ``user`` needs root."""

    def start() -> subprocess.Popen[bytes]:
        with log.open("ab") as output:
            return subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(env),
                cwd=cwd,
                start_new_session=True,
                user=user,
                group=pwd.getpwnam(user).pw_gid if user else None,
                extra_groups=[] if user else None,
                preexec_fn=_die_with_parent,
            )

    process = _starter.submit(start).result()
    atexit.register(kill_group, process)
    return process


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL the process and all it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def terminate(process: subprocess.Popen[bytes], signum: signal.Signals, *, timeout_seconds: float) -> None:
    """Ask to stop with ``signum``; insist after the time-out."""
    if process.poll() is None:
        process.send_signal(signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout_seconds)
    kill_group(process)


def wait_until_ready(
    ready: Callable[[], bool], process: subprocess.Popen[bytes], *, log: Path, timeout_seconds: float
) -> None:
    """Return when ``ready()``. Raises :class:`ServiceFailed` if the process ends first or time runs out."""
    deadline = time.monotonic() + timeout_seconds
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            kill_group(process)
            tail = log.read_text(errors="replace")[-3000:] if log.exists() else ""
            raise ServiceFailed(f"{process.args!r} did not come up:\n{tail}")
        time.sleep(0.05)

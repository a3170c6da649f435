"""What the server starters share: a server's life, free ports, temporary homes, processes that never outlive the tests.

A child gets SIGKILL from the kernel when the thread that started it ends (PR_SET_PDEATHSIG), so an interrupted or
killed test run leaves nothing behind. Therefore all children are started by one thread that lives as long as the
process: a start from a short-lived worker thread of an event loop would take the server down with that thread.
"""

import abc
import atexit
import contextlib
import ctypes
import functools
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
from typing import Any

STOP_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1
_NETWORKS = range(2, 252)
_PORTS = range(15_000, 32_000)  # below Linux's ephemeral range: a stopped server finds its port free again
_libc = ctypes.CDLL(None, use_errno=True)
_starter = ThreadPoolExecutor(1, thread_name_prefix="service-starter")


class ServiceFailed(Exception):
    """A server did not come up; the text holds the end of its log."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on, and that no other test process is given while this one lives."""
    for _ in range(200):
        port = random.SystemRandom().choice(_PORTS)
        if not _reserve(f"port-{port}"):
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise ServiceFailed("no free port")


def free_port_at(address: str) -> int:
    """As :func:`free_port`, of another address of this host."""
    for _ in range(200):
        port = random.SystemRandom().choice(_PORTS)
        if not _reserve(f"port-{address}-{port}"):
            continue
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind((address, port))
            return port
    raise ServiceFailed("no free port")


@functools.cache
def loopback_network() -> str:
    """``127.N`` of loopback addresses that no other test process of this host uses while this one lives."""
    first = os.getpid()
    for number in range(first, first + len(_NETWORKS)):
        network = _NETWORKS[number % len(_NETWORKS)]
        if _reserve(f"network-{network}"):
            return f"127.{network}"
    raise ServiceFailed("no free loopback network")


def _reserve(name: str) -> bool:
    """False: it is another one's, who may not listen yet, or be stopped and come back. The kernel ends a reservation
    with the process: an abstract socket has no file."""
    reservation = socket.socket(socket.AF_UNIX)
    try:
        reservation.bind(f"\0evenkeel-test-{name}")
    except OSError:
        reservation.close()
        return False
    reservation.detach()
    return True


def temporary_home(prefix: str) -> Path:
    """A directory that is removed when the test process ends."""
    path = Path(tempfile.mkdtemp(prefix=prefix))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # not in forked children
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


def unprivileged_user(names: Sequence[str]) -> str | None:
    """The first of these users that this machine has, for servers that refuse to run as root."""
    for name in names:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


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
                **_as_user(user),
                preexec_fn=_die_with_parent,
            )

    process = _starter.submit(start).result()
    atexit.register(kill_group, process)
    return process


def _as_user(user: str | None) -> dict[str, Any]:
    """What ``subprocess`` is told."""
    if user is None:
        return {}
    return {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []}


def run_tool(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    cwd: Path,
    user: str | None = None,
    timeout_seconds: float = 180.0,
    text: str | None = None,
) -> str:
    """The standard output of a server's tool; ``text`` is its standard input. Raises :class:`ServiceFailed` with the
    end of its output if it fails."""
    outcome: subprocess.CompletedProcess[str] = subprocess.run(
        [str(word) for word in command],
        env=dict(env),
        cwd=cwd,
        **_as_user(user),
        input=text,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    if outcome.returncode:
        raise ServiceFailed(f"{Path(command[0]).name} failed:\n{(outcome.stdout + outcome.stderr)[-2000:]}")
    return outcome.stdout


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


class Server(abc.ABC):
    """One server in a temporary directory, on a port that stays the same over restarts. All methods block.

    ``users``: it refuses to run as root; then it runs as the first of them that exists.
    """

    start_seconds = 180.0
    stop_signal = signal.SIGTERM

    def __init__(self, prefix: str, users: Sequence[str] = ()) -> None:
        self._user = unprivileged_user(users) if os.getuid() == 0 else None
        self._home = temporary_home(prefix)
        self.home = self._home
        """The directory of its data and logs."""
        self._log = self._home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.port = free_port()
        if self._user:
            shutil.chown(self._home, self._user, pwd.getpwnam(self._user).pw_gid)

    @property
    def running(self) -> bool:
        """Is the server process there?"""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of its first process."""
        assert self._process is not None
        return self._process.pid

    @abc.abstractmethod
    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""

    def stop(self) -> None:
        """Stop it properly."""
        if self._process is not None:
            terminate(self._process, self.stop_signal, timeout_seconds=STOP_SECONDS)

    def kill(self) -> None:
        """kill -9, of all its processes."""
        if self._process is not None:
            kill_group(self._process)

    def freeze(self) -> None:
        """Let it hang with its connections open, as a dead host would. For servers that are one process."""
        assert self._process is not None and self.running
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED)  # its threads may go on for a moment

    def thaw(self) -> None:
        """Undo :meth:`freeze`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Stop for good."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _begin(self, command: Sequence[str | Path]) -> None:
        """Start this command and wait until it serves."""
        self._process = spawn(command, log=self._log, env=self._environment(), cwd=self._home, user=self._user)
        wait_until_ready(self._serves, self._process, log=self._log, timeout_seconds=self.start_seconds)

    def _run(self, program: str | Path, *arguments: str, user: str | None = None) -> str:
        """What one of its tools answers. Raises :class:`ServiceFailed`."""
        return run_tool(
            [program, *arguments],
            env=self._environment(),
            cwd=self._home,
            user=user,
            timeout_seconds=self.start_seconds,
        )

    @abc.abstractmethod
    def _serves(self) -> bool:
        """Does it answer?"""

    @abc.abstractmethod
    def _environment(self) -> dict[str, str]:
        """The environment of its processes."""

"""Terminates and inspects other processes.

Processes are terminated through a pidfd, which is immune to pid reuse (pidfd_open(2)), and inspected in
``/proc``.
"""

import asyncio
import os
import signal
from pathlib import Path

STOP_TIMEOUT_SECONDS = 10.0
_STAT_BYTES_MAX = 4096
"""More than /proc/<pid>/stat ever has: 52 numbers and a name of at most 64 bytes."""


async def terminate_process(pidfd: int) -> None:
    """Terminate the process by SIGTERM, and by SIGKILL if it still runs after :data:`STOP_TIMEOUT_SECONDS`;
    return when it has ended, or after the same time again.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return
        if await _exits_in_time(pidfd):
            return


async def _exits_in_time(pidfd: int) -> bool:
    """Wait for the end of the process, at most :data:`STOP_TIMEOUT_SECONDS`; returns whether it ended."""
    loop = asyncio.get_running_loop()
    exited = asyncio.Event()
    # A pidfd becomes readable when its process has ended (pidfd_open(2)).
    loop.add_reader(pidfd, exited.set)
    try:
        async with asyncio.timeout(STOP_TIMEOUT_SECONDS):
            await exited.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(pidfd)
    return True


def start_ticks(pid: int) -> int:
    """Return the start time of a process, in clock ticks after boot; 0 if the process does not exist. Source:
    proc(5), stat, field 22.
    """
    return _stat_field(pid, 22)


def parent_pid(pid: int) -> int:
    """Return the pid of a process's parent; 0 if the process does not exist. Source: proc(5), stat, field 4."""
    return _stat_field(pid, 4)


def execution_marker(pid: int) -> bytes:
    """Return a value that differs after each execve(2) of the process; empty if it cannot be read.

    The value is made of random addresses (proc(5), auxv), and of the environment, in which HAProxy's master
    passes the list of its processes to itself.
    """
    try:
        return b"".join(Path(f"/proc/{pid:d}/{name}").read_bytes() for name in ("auxv", "environ"))
    except OSError:
        return b""


def _stat_field(pid: int, field: int) -> int:
    try:
        # not by pathlib, because each observation reads it of each HAProxy
        descriptor = os.open(f"/proc/{pid:d}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            fields = os.read(descriptor, _STAT_BYTES_MAX).rpartition(b")")[2].split()
        finally:
            os.close(descriptor)
        return int(fields[field - 3])  # the first two fields are cut off, because the command's name may contain spaces
    except (OSError, IndexError):
        return 0

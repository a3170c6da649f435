"""Terminates and inspects other processes.

They are terminated through a pidfd, which is immune to pid reuse (pidfd_open(2)), and inspected in ``/proc``.
"""

import asyncio
import signal
from pathlib import Path

STOP_TIMEOUT_SECONDS = 10.0


async def terminate(pidfd: int) -> None:
    """Terminate the process: SIGTERM, and SIGKILL after :data:`STOP_TIMEOUT_SECONDS`."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            signal.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return
        if await _exits_in_time(pidfd):
            return


async def _exits_in_time(pidfd: int) -> bool:
    """Whether the process ends within :data:`STOP_TIMEOUT_SECONDS`."""
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
    """Return the start time of a process, in clock ticks after boot; 0 if there is none. Source: proc(5), stat, field
    22.
    """
    return _stat_field(pid, 22)


def parent_pid(pid: int) -> int:
    """Return the pid of a process's parent; 0 if the process does not exist. Source: proc(5), stat, field 4."""
    return _stat_field(pid, 4)


def _stat_field(pid: int, field: int) -> int:
    try:
        fields = Path(f"/proc/{pid:d}/stat").read_text().rpartition(")")[2].split()
        return int(fields[field - 3])  # the first two fields are cut off, because the command's name may contain spaces
    except (OSError, IndexError):
        return 0

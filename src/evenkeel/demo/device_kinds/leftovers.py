"""``python leftovers.py DIRECTORY TABLE REMOVED…``: ends every HAProxy below DIRECTORY when its standard input ends.

HAProxy deliberately outlives its daemon, and is not bound to a parent process. A process that starts a daemon for a
demo or a test therefore also starts this one and holds the other end of its standard input: the input ends when the
starter closes it or dies. Then the directories REMOVED are deleted, and the daemon's table of nftables (TABLE; empty:
none), in which the kernel would go on forwarding.

A process belongs to DIRECTORY if its command line names a path in it. Started by path, without site packages, so that
it costs little. Linux only, as HAProxy's daemon.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

DAEMON_MODULE = "evenkeel.cmd.haproxyd"
REMOVE_TABLE_MODULE = "evenkeel.haproxyd.layer4.remove_table"
TERMINATION_SECONDS = 3.0
LIMIT_SECONDS = 30.0
POLL_SECONDS = 0.1
QUIET_SCANS = 3
"""Number of consecutive scans that must find no process, because a terminating daemon may still start an HAProxy after
a scan.
"""


def main() -> int:
    """Wait for the end of the input, then clean up; returns the exit code, 1 if a process was not ended or
    the nftables table not removed.
    """
    sys.stdin.buffer.read()
    directory, table, *removed = sys.argv[1:]
    gone = kill_leftover_processes(directory)
    # others than root have none
    if table and os.geteuid() == 0:
        gone = subprocess.run([sys.executable, "-m", REMOVE_TABLE_MODULE, table], check=False).returncode == 0 and gone  # noqa: S603
    for path in removed:
        shutil.rmtree(path, ignore_errors=True)
    return 0 if gone else 1


def kill_leftover_processes(directory: str) -> bool:
    """Kill the daemons of ``directory``, terminate their HAProxys, and kill those that remain. False: some
    still ran after :data:`LIMIT_SECONDS`.
    """
    began = time.monotonic()
    quiet = 0
    while quiet < QUIET_SCANS:
        now = time.monotonic() - began
        if now > LIMIT_SECONDS:
            return False
        daemons, proxies = daemon_pids(directory), haproxy_pids(directory)
        # The daemons first, because they would start their HAProxys again.
        for pid in daemons:
            send_signal(pid, signal.SIGKILL)
        for pid in proxies:
            send_signal(pid, signal.SIGTERM if now < TERMINATION_SECONDS else signal.SIGKILL)
        quiet = 0 if daemons or proxies else quiet + 1
        time.sleep(POLL_SECONDS)
    return True


def haproxy_pids(directory: str) -> list[int]:
    """Return the process ids of HAProxy masters and workers below ``directory``, old workers included."""
    return [pid for pid, words in command_lines(directory) if Path(words[0]).name == "haproxy"]


def daemon_pids(directory: str) -> list[int]:
    """Return the process ids of HAProxy daemons of ``directory``, which would start HAProxy again."""
    return [pid for pid, words in command_lines(directory) if DAEMON_MODULE in words]


def command_lines(directory: str) -> list[tuple[int, list[str]]]:
    """Return process id and words of every process whose command line names a path below ``directory``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended during the scan
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
                if f"{directory}/" in line:
                    found.append((int(entry.name), line.rstrip("\0").split("\0")))
    return found


def send_signal(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process, unless it has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main())

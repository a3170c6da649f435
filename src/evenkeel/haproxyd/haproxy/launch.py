"""Starts a HAProxy master that is not a child of the daemon, so that it keeps running when the daemon ends.

A shell in a new session starts it and exits at once; HAProxy's output goes to a file.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from evenkeel.haproxyd.errors import HaproxyDown
from evenkeel.haproxyd.haproxy.binary import HaproxyBinary

HAPROXY_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"}
"""Environment of HAProxy, without the daemon's own variables, because HAProxy's configuration can expand variables."""
LOG_BLOCKS_MAX = 131_072
"""Maximum size of HAProxy's log between rotations, in blocks of 512 bytes (RLIMIT_FSIZE).

HAProxy is not killed when it reaches the limit."""
# No core dumps, which would contain private keys; SIGXFSZ is ignored, so that HAProxy continues when its log is full.
_START_SCRIPT = f"""umask 077; ulimit -c 0; trap '' XFSZ; ulimit -f {LOG_BLOCKS_MAX}
log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!"""


def launch_haproxy(
    binary: HaproxyBinary,
    *,
    directory: Path,
    config_dir: Path,
    log_path: Path,
    master_socket: Path,
    memory_mib: int,
    arguments: Sequence[str],
) -> int:
    """Start a master and return its pid; the master may not have read its configuration yet. Blocks shortly.

    ``directory``: its working directory; ``memory_mib``: limit of the address space of each process. Raises
    :class:`HaproxyDown` if the shell cannot start it, :class:`OSError` if the shell cannot be run.
    """
    # not by asyncio, whose pipes and thread for the shell's end cost more than the shell
    shell = subprocess.run(  # noqa: S603 - the daemon's own paths and settings
        [
            "/bin/sh", "-c", _START_SCRIPT, "sh", log_path, binary.path, "-W",
            "-S", f"{master_socket},mode,600", "-m", str(memory_mib),
            "-f", config_dir,
            *arguments,
        ],
        cwd=directory, env=HAPROXY_ENVIRONMENT, start_new_session=True, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if not shell.stdout.strip().isdigit():
        raise HaproxyDown("HAProxy could not be started: /bin/sh failed")
    return int(shell.stdout)


def socket_takeover_arguments(worker_pid: int | None, worker_socket: Path) -> list[str]:
    """Return arguments by which a new HAProxy takes over the listening sockets of an old worker, which then finishes
    its connections.

    See HAProxy's management guide, ``-x`` and ``-sf``.
    """
    arguments = ["-x", str(worker_socket)] if worker_socket.exists() else []
    return [*arguments, "-sf", str(worker_pid)] if worker_pid else arguments

"""Checks whether this host can forward: its kernel's settings, and that no other daemon has the same nftables
table.
"""

import errno
import os
import socket
from collections.abc import Iterable
from pathlib import Path

from evenkeel.haproxyd.layer4.statements import Family

FORWARDING_SYSCTLS = {4: "net/ipv4/ip_forward", 6: "net/ipv6/conf/all/forwarding"}
PROC_SYS_DIR = Path("/proc/sys")


SCTP_SYSCTL = "net/netfilter/nf_conntrack_sctp_timeout_established"
"""Setting that exists only in kernels whose connection tracking supports SCTP (CONFIG_NF_CT_PROTO_SCTP)."""


def forwarding_problem(families: Iterable[Family], protocols: Iterable[str] = (), proc: Path = PROC_SYS_DIR) -> str:
    """Return the reason why this host cannot forward packets of one of the IP versions (4, 6) or protocols;
    empty if it can. Reads ``/proc/sys``.
    """
    if "sctp" in protocols and not (proc / SCTP_SYSCTL).exists():
        return "this host's kernel does not track SCTP (CONFIG_NF_CT_PROTO_SCTP)"
    for family in sorted(families):
        try:
            is_on = (proc / FORWARDING_SYSCTLS[family]).read_text().strip() not in ("", "0")
        except OSError:
            is_on = False
        if not is_on:
            return f"this host does not forward packets: set {FORWARDING_SYSCTLS[family].replace('/', '.')} = 1"
    return ""


class TableLock:
    """Lock on an nftables table for one process in this network namespace; it is released when the process ends."""

    def __init__(self, table: str) -> None:
        # Abstract sockets belong to the network namespace, as tables do, and end with their process.
        self._name = f"\0evenkeel-nftables-{table}"
        self._descriptor: int | None = None

    def try_acquire(self) -> bool:
        """Take the lock if it is free, without waiting; returns whether this process has it now. Raises
        :class:`OSError`.
        """
        if self._descriptor is not None:
            return True
        taken = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        try:
            taken.bind(self._name)
        except OSError as error:
            taken.close()
            if error.errno == errno.EADDRINUSE:
                return False
            raise
        # a bare descriptor: it is to stay open for as long as the process lives, whatever becomes of this object
        self._descriptor = taken.detach()
        return True

    def release(self) -> None:
        """Release the lock, if this process has it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

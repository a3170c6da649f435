"""Reads the pid of the process at the other end of a UNIX socket, as the kernel reports it (unix(7))."""

import socket
import struct
from collections.abc import Iterable

_UCRED_STRUCT = struct.Struct("=iII")
"""Layout of ``struct ucred``: pid, uid, gid."""
_SCM_CREDENTIALS = 2
ANCILLARY_BYTES = socket.CMSG_SPACE(_UCRED_STRUCT.size)
"""Buffer size for the sender's credentials that arrive with a datagram."""


def sender_pid(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """Return the pid of a datagram's sender; 0 if it is unknown.

    ``ancillary`` was received over a socket with SO_PASSCRED.
    """
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SCM_CREDENTIALS) and len(content) == _UCRED_STRUCT.size:
            return _pid_from_credentials(content)
    return 0


def peer_pid(connection: socket.socket) -> int:
    """Return the pid of the process that has connected; 0 if it is unknown."""
    try:
        return _pid_from_credentials(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED_STRUCT.size))
    except (OSError, struct.error):
        return 0


def _pid_from_credentials(ucred: bytes) -> int:
    pid, _, _ = _UCRED_STRUCT.unpack(ucred)
    return int(pid)

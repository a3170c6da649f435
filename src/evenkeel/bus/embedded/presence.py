"""Presence on one host: a name is a socket in the directory of the wake-up sockets; the name determines its path.

No data is sent to it. A probe connects to it, which the kernel refuses as soon as the process that bound it is gone;
this does not access the queue file.
"""

import contextlib
import hashlib
import socket
from collections.abc import Callable
from pathlib import Path

from evenkeel.bus.embedded.wakeups import is_owner_dead, remove_socket

_FILE_SUFFIX = ".on"


def name_socket_path(directory: str, name: str) -> str:
    """Return the path of the socket that makes a name present; short enough for a socket address."""
    # A digest, because names may be longer than a socket's path, and may contain slashes.
    return str(Path(directory) / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}{_FILE_SUFFIX}")


def remove_dead_sockets(directory: str) -> None:
    """Remove the presence sockets of killed processes from the directory."""
    for path in Path(directory).glob(f"*{_FILE_SUFFIX}"):
        if path.is_socket() and is_owner_dead(str(path)):
            remove_socket(str(path))


class EmbeddedAnnouncement:
    """Keeps a name present by a bound socket until closed; then ``on_close`` is called with the announcement."""

    def __init__(self, name: str, on_close: Callable[["EmbeddedAnnouncement"], None]) -> None:
        self._name = name
        self._on_close = on_close
        self._socket: socket.socket | None = None
        self._path = ""

    def bind(self, directory: str) -> None:
        """Bind the name's socket in the directory, unless it is bound there already. Raises :class:`OSError`,
        also if another living process has bound the name.
        """
        path = name_socket_path(directory, self._name)
        if self._socket is not None and path == self._path and Path(path).exists():
            return
        self._unbind_socket()
        # A killed process leaves its socket file behind, and bind() would fail on it; a living owner's file is never
        # removed.
        if is_owner_dead(path):
            remove_socket(path)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            bound.bind(path)
        except OSError:
            bound.close()
            raise
        self._socket, self._path = bound, path

    def _unbind_socket(self) -> None:
        if self._socket is not None:
            with contextlib.closing(self._socket):
                remove_socket(self._path)
            self._socket = None

    async def close(self) -> None:
        self._unbind_socket()
        self._on_close(self)

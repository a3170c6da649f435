"""Presence on one host: a name is a socket in the directory of the wake-up sockets; the name determines its path.

No data is sent to it. A probe connects to it, which the kernel refuses as soon as the process that bound it is gone;
this does not access the queue file.
"""

import contextlib
import hashlib
import socket
from collections.abc import Callable
from pathlib import Path

from evenkeel.bus.embedded.wakeups import is_dead, remove

_SUFFIX = ".on"


def address(directory: str, name: str) -> str:
    """The socket path of a name; short enough for a socket address."""
    # A digest, because names may be longer than a socket's path, and may contain slashes.
    return str(Path(directory) / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}{_SUFFIX}")


def sweep(directory: str) -> None:
    """Remove the sockets of killed processes."""
    for path in Path(directory).glob(f"*{_SUFFIX}"):
        if path.is_socket() and is_dead(str(path)):
            remove(str(path))


class EmbeddedAnnouncement:
    """A present name. ``on_close`` is called when it is withdrawn."""

    def __init__(self, name: str, on_close: Callable[["EmbeddedAnnouncement"], None]) -> None:
        self._name = name
        self._on_close = on_close
        self._socket: socket.socket | None = None
        self._path = ""

    def bind(self, directory: str) -> None:
        """Bind the socket, also if it was removed. Raises :class:`OSError`."""
        path = address(directory, self._name)
        if self._socket is not None and path == self._path and Path(path).exists():
            return
        self._unbind()
        # A killed process leaves its socket file behind, and bind() would fail on it; a living owner's file is never
        # removed.
        if is_dead(path):
            remove(path)
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            bound.bind(path)
        except OSError:
            bound.close()
            raise
        self._socket, self._path = bound, path

    def _unbind(self) -> None:
        if self._socket is not None:
            with contextlib.closing(self._socket):
                remove(self._path)
            self._socket = None

    async def close(self) -> None:
        self._unbind()
        self._on_close(self)

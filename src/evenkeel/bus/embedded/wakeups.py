"""Wake-ups between processes: the sender of a message sends an empty datagram to the Unix socket of each consumer.

A lost wake-up delays a message by up to a second, because every process polls; a datagram that does not fit into the
socket's buffer is not needed, because the receiver has others to read. A refused datagram shows that the process is
dead: the kernel closes the sockets of a dead process, but not of a suspended one.
"""

import asyncio
import contextlib
import os
import socket
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

MAX_PATH_BYTES = 100
"""Maximum length of a socket path: a socket address holds 107 bytes on Linux, less elsewhere."""


def socket_directory(path: str, remembered: str) -> str:
    """Return the directory for the sockets of the queue file ``path``; creates it if necessary. Raises
    :class:`OSError` if that fails.

    The directory is beside the file. If that path is too long for a socket, it is ``remembered`` (if that
    still exists) or a new temporary directory, which the caller stores in the file.
    """
    beside = f"{path}.sockets"
    # 14 bytes: a slash and the name of a wake-up socket.
    if len(os.fsencode(beside)) + 14 <= MAX_PATH_BYTES:
        Path(beside).mkdir(mode=0o700, exist_ok=True)
        return beside
    if remembered and Path(remembered).is_dir():
        return remembered
    return tempfile.mkdtemp(prefix="evenkeel-bus-")


class WakeupSocket:
    """The Unix socket on which this process gets wake-ups. ``on_wake_up`` is called in the event loop for
    each wake-up.
    """

    def __init__(self, on_wake_up: Callable[[], None]) -> None:
        self._on_wake_up = on_wake_up
        self._socket: socket.socket | None = None
        self.path = ""

    def bind(self, directory: str, peer: str) -> None:
        """Listen for wake-ups on a new socket in the directory, named by the first eight characters of
        ``peer``; closes a former socket. Raises :class:`OSError`.
        """
        self.close()
        path = str(Path(directory) / f"{peer[:8]}.sock")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._socket.bind(path)
        self.path = path
        asyncio.get_running_loop().add_reader(self._socket, self._read_datagrams, self._socket)

    def is_bound(self) -> bool:
        """Return whether the file of the bound socket still exists."""
        return Path(self.path).exists()

    def _read_datagrams(self, own: socket.socket) -> None:
        # Reads all waiting datagrams: several wake-ups lead to one read of the file.
        with contextlib.suppress(BlockingIOError):
            while True:
                own.recv(16)
                self._on_wake_up()

    def wake(self, paths: Iterable[str]) -> list[str]:
        """Wake the processes that own the sockets at ``paths``, this one included; returns the paths whose
        owner is dead.
        """
        dead = []
        for path in paths:
            if path == self.path:
                self._on_wake_up()
            elif self._socket is not None and not _send_wake_up(self._socket, path):
                dead.append(path)
        return dead

    def close(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None
            remove_socket(self.path)


def remove_socket(path: str) -> None:
    """Remove a socket's file; a failure, such as a missing file, is ignored."""
    with contextlib.suppress(OSError):
        Path(path).unlink()


def is_owner_dead(path: str) -> bool:
    """Return whether no process has the socket at ``path`` open; True for an empty path or a missing file. A
    suspended process is not dead, and an unclear error counts as alive.
    """
    if not path:
        return True
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            # connect() of a datagram socket sends nothing, so it does not wake its owner.
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return True
        except OSError:
            return False
    return False


def _send_wake_up(own: socket.socket, path: str) -> bool:
    """Send an empty datagram from ``own`` to the socket at ``path``; returns False if no process has that
    socket open.
    """
    try:
        own.sendto(b"", path)
    except (ConnectionRefusedError, FileNotFoundError):
        return False
    except OSError:  # full: the receiver has wake-ups to read
        return True
    return True

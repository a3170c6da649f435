"""Network namespaces without a name, which end with this process, and what is made inside of them.

Every function here enters a namespace and leaves it before it returns, in the calling thread only: sockets and
interfaces stay in the namespace in which they were made.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)

_CLONE_NEWNET = 0x4000_0000
_TUNSETIFF = 0x4004_54CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_OWN = "/proc/thread-self/ns/net"
_TUN = "/dev/net/tun"
_IP_SECONDS = 10.0
_LIBC = ctypes.CDLL(None, use_errno=True)


def obstacle() -> str:
    """Why this process cannot have namespaces and TAP interfaces; empty if it can."""
    try:
        _command("ip")
        made = Namespace()
    except OSError as error:
        return f"no network namespace can be made: {error.strerror}"
    try:
        os.close(made.tap("probe"))
    except OSError as error:
        return f"no TAP interface can be made: {error.strerror}"
    finally:
        made.close()
    return ""


class Namespace:
    def __init__(self) -> None:
        """OSError if the process may not make one."""
        with _back_home():
            if _LIBC.unshare(_CLONE_NEWNET):
                raise _failure()
            self._fd = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
        self.ip(["link set lo up"])

    def close(self) -> None:
        """The namespace is gone when the last socket and interface of it is."""
        os.close(self._fd)

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        with _back_home():
            if _LIBC.setns(self._fd, _CLONE_NEWNET):
                raise _failure()
            yield

    def make_socket(self, family: int, kind: int, number: int = 0) -> socket.socket:
        with self._inside():
            return socket.socket(family, kind, number)

    def tap(self, name: str) -> int:
        """A file descriptor for the frames of a new TAP interface, which is gone when it is closed."""
        with self._inside():
            found = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                fcntl.ioctl(found, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
            except BaseException:
                os.close(found)
                raise
        return found

    def ip(self, commands: Sequence[str], *, program: str = "ip") -> list[str]:
        """Run commands of `ip` (or `bridge`), each whether or not others fail. Returns their error output."""
        if not commands:
            return []
        with self._inside():
            done = subprocess.run(  # noqa: S603  # iproute2
                [_command(program), "-force", "-batch", "-"],
                input="".join(f"{command}\n" for command in commands),
                text=True,
                capture_output=True,
                timeout=_IP_SECONDS,
                check=False,
            )
        return done.stderr.splitlines()

    def set(self, path: str, value: str) -> None:
        """A setting of the namespace, by its path below /proc/sys/net; what does not exist is left out."""
        with self._inside(), contextlib.suppress(OSError):
            Path("/proc/sys/net", path).write_text(value)


def _command(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise OSError(errno.ENOENT, f"there is no command {name} (iproute2)")
    return found


@contextlib.contextmanager
def _back_home() -> Iterator[None]:
    """Return to the namespace in which the thread is now."""
    home = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        failed = _LIBC.setns(home, _CLONE_NEWNET)
        os.close(home)
        if failed:
            log.critical("cannot return to the network namespace of the process")
            os.abort()


def _failure() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))

"""What the HAProxys say about their servers' health, within a fraction of a second: one datagram socket for all.

A hint, not the truth: datagrams may be lost, and whoever looks at the servers' states finds the same. Tolerant: a
line that is not understood is ignored. The tag of a line is the partition (``log-tag``). Only HAProxy's workers can
reach the socket, and only the current worker of a partition is believed.
"""

import asyncio
import os
import re
import socket
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd.ports import PartitionEvent

log = structlog.get_logger(__name__)

DATAGRAM_BYTES_MAX = 2048
"""HAProxy's lines end at 1,024; what is longer is not read."""
DATAGRAMS_AT_ONCE = 64
_SCM_CREDENTIALS = 2
_CREDENTIALS = struct.Struct("=iII")
"""``struct ucred``: pid, uid, gid; unix(7)."""
_TAG = re.compile(r"(?:.* |<\d{1,3}>)(?P<tag>[A-Za-z0-9][\w.:-]{0,126})\[\d{1,10}", re.DOTALL)
_HEALTH = re.compile(r"(?:Backup )?Server (?P<backend>[^\s/]+)/(?P<server>[^\s/]+) is (?P<state>UP|DOWN)\b")
"""Not "was DOWN and now enters maintenance": that was somebody's wish."""


class HealthLine(Value):
    """A server that changed."""

    tag: str
    backend: str
    server: str
    up: bool
    text: str


def parse_health_line(datagram: bytes) -> HealthLine | None:
    """What a line says of a server; None if it says nothing of the kind."""
    if len(datagram) > DATAGRAM_BYTES_MAX:
        return None
    before, _, text = datagram.decode(errors="replace").strip().partition("]: ")
    tag = _TAG.fullmatch(before)
    health = _HEALTH.match(text)
    if tag is None or health is None:
        return None
    return HealthLine(
        tag=tag["tag"],
        backend=health["backend"],
        server=health["server"],
        up=health["state"] == "UP",
        text=text,
    )


def any_process(partition: str, pid: int) -> bool:
    """Every sender is believed."""
    return True


class HealthLogListener:
    """The listening end, in a folder that is there. HAProxys run as well without it.

    ``is_worker``: whether a process is the current worker of a partition's HAProxy. Lines of other senders are ignored,
    whatever they say of themselves: an old worker that an attacker took over, or another tenant's, has nothing to say
    of a partition. ``others_write``: workers run as other users; the folder then keeps everybody else out.
    """

    def __init__(
        self,
        path: Path,
        on_event: Callable[[PartitionEvent], None],
        *,
        is_worker: Callable[[str, int], bool] = any_process,
        others_write: bool = False,
    ) -> None:
        self._path = path
        self._others_write = others_write
        self._on_event = on_event
        self._is_worker = is_worker
        self._socket: socket.socket | None = None

    async def start(self) -> None:
        """Listen; takes the place of a socket that an earlier daemon left. Raises :class:`OSError`."""
        self._path.unlink(missing_ok=True)
        self._socket = self._bound_socket()
        asyncio.get_running_loop().add_reader(self._socket, self._receive, self._socket)

    async def restore(self) -> None:
        """Listen again if somebody removed the socket. Raises :class:`OSError`."""
        if self._socket is not None and not self._path.exists():
            self._stop_listening()
            await self.start()

    def _bound_socket(self) -> socket.socket:
        """For its owner alone from the first moment. The kernel tells who sent each datagram (unix(7), SO_PASSCRED)."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        umask = os.umask(0o177)
        try:
            bound.setblocking(False)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            bound.bind(str(self._path))
            if self._others_write:
                self._path.chmod(0o622)
        except OSError:
            bound.close()
            raise
        finally:
            os.umask(umask)
        return bound

    def close(self) -> None:
        """Stop listening."""
        if self._socket is not None:
            self._stop_listening()
            self._path.unlink(missing_ok=True)

    def _stop_listening(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _receive(self, bound: socket.socket) -> None:
        """What has arrived, but no more than :data:`DATAGRAMS_AT_ONCE`: others have work to do, too."""
        for _ in range(DATAGRAMS_AT_ONCE):
            try:
                datagram, ancillary, _, _ = bound.recvmsg(DATAGRAM_BYTES_MAX + 1, socket.CMSG_SPACE(_CREDENTIALS.size))
            except OSError:  # nothing more
                return
            self._received(datagram, _sender_pid(ancillary))

    def _received(self, datagram: bytes, pid: int) -> None:
        line = parse_health_line(datagram)
        if line is None:
            return
        if not self._is_worker(line.tag, pid):
            log.debug("health line ignored: its sender is not the current worker", partition=line.tag, pid=pid)
            return
        log.info("server health changed", partition=line.tag, backend=line.backend, server=line.server, up=line.up)
        self._on_event(
            PartitionEvent(partition=line.tag, backend=line.backend, server=line.server, up=line.up, text=line.text)
        )


def _sender_pid(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """As the kernel tells it; 0: it does not."""
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SCM_CREDENTIALS) and len(content) == _CREDENTIALS.size:
            pid, _, _ = _CREDENTIALS.unpack(content)
            return int(pid)
    return 0

"""What the HAProxys say about their servers' health, within a fraction of a second: one datagram socket for all.

A hint, not the truth: datagrams may be lost, and whoever looks at the servers' states finds the same. Tolerant: a
line that is not understood is left alone. The tag of a line is the partition (``log-tag``). Only HAProxy's workers can
reach the socket.
"""

import asyncio
import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import structlog

from evenkeel.core.values import Value
from evenkeel.haproxyd.ports import PartitionEvent

log = structlog.get_logger(__name__)

DATAGRAM_BYTES_MAX = 2048
"""HAProxy's lines end at 1,024; what is longer is not read."""
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


class HealthLog(asyncio.DatagramProtocol):
    """The listening end, in a folder that is there. HAProxys run as well without it. ``others_write``: workers run as
    other users; the folder then keeps everybody else out."""

    def __init__(self, path: Path, on_event: Callable[[PartitionEvent], None], *, others_write: bool = False) -> None:
        self._path = path
        self._others_write = others_write
        self._on_event = on_event
        self._transport: asyncio.BaseTransport | None = None

    async def start(self) -> None:
        """Listen; takes the place of a socket that an earlier daemon left."""
        self._path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, sock=self._bound())

    async def mend(self) -> None:
        """Listen again if somebody took the socket away. Raises :class:`OSError`."""
        if self._transport is not None and not self._path.exists():
            self._transport.close()
            await self.start()

    def _bound(self) -> socket.socket:
        """For its owner alone from the first moment."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        umask = os.umask(0o177)
        try:
            bound.setblocking(False)
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
        if self._transport is not None:
            self._transport.close()
            self._path.unlink(missing_ok=True)

    def datagram_received(self, data: bytes, addr: object) -> None:
        """One line of some HAProxy."""
        line = parse_health_line(data)
        if line is None:
            return
        log.info("server changed", partition=line.tag, backend=line.backend, server=line.server, up=line.up)
        self._on_event(
            PartitionEvent(partition=line.tag, backend=line.backend, server=line.server, up=line.up, text=line.text)
        )

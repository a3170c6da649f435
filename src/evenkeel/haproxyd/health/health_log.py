"""Receives HAProxys' log messages about their servers' health within a fraction of a second: one datagram socket for
all.

The messages only speed things up: datagrams can be lost, and reading the servers' states gives the same information.
HAProxy drops a line while the socket's queue is full, as when the servers of many partitions fail at once; the listener
reports when the queue may have been full. Lines that cannot be parsed are ignored. The tag of a line names the
partition (``log-tag``). Only HAProxy's workers can reach the socket, and only messages of a partition's current worker
are accepted.
"""

import asyncio
import re
import socket
from collections.abc import Callable
from pathlib import Path

import structlog

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.health.peer_credentials import ANCILLARY_BYTES, sender_pid
from evenkeel.haproxyd.health.private_socket import open_private_socket
from evenkeel.haproxyd.ports import PartitionEvent

log = structlog.get_logger(__name__)

DATAGRAM_BYTES_MAX = 2048
"""Buffer for one datagram: HAProxy's lines have at most 1,024 bytes; longer datagrams are truncated."""
DATAGRAMS_AT_ONCE = 64
DATAGRAMS_IN_A_ROW_MAX = 1000
"""Number of datagrams without a pause after which losses are reported in any case."""
_QUEUE_LIMIT = Path("/proc/sys/net/unix/max_dgram_qlen")
QUEUE_LIMIT_MIN = 10
"""The kernel's default of how many datagrams wait on a socket; systemd raises it to 512."""
_TAG_PATTERN = re.compile(r"(?:.* |<\d{1,3}>)(?P<tag>[A-Za-z0-9][\w.:-]{0,126})\[\d{1,10}", re.DOTALL)
_HEALTH_PATTERN = re.compile(r"(?:Backup )?Server (?P<backend>[^\s/]+)/(?P<server>[^\s/]+) is (?P<state>UP|DOWN)\b")
"""Matches a result of a health check, not "was DOWN and now enters maintenance"."""


class HealthLine(Value):
    """A server and its new health, from one of HAProxy's log lines. ``tag``: the partition that the line
    names.
    """

    tag: str
    backend: str
    server: str
    up: bool
    text: str


def parse_health_line(datagram: bytes) -> HealthLine | None:
    """Parse server and health from a log line of HAProxy; None if the line is too long, or does not report a
    server's health.
    """
    if len(datagram) > DATAGRAM_BYTES_MAX:
        return None
    before, _, text = datagram.decode(errors="replace").strip().partition("]: ")
    tag = _TAG_PATTERN.fullmatch(before)
    health = _HEALTH_PATTERN.match(text)
    if tag is None or health is None:
        return None
    return HealthLine(
        tag=tag["tag"],
        backend=health["backend"],
        server=health["server"],
        up=health["state"] == "UP",
        text=text,
    )


def queue_limit() -> int:
    """Return how many datagrams wait on a new socket before the kernel refuses more (unix(7),
    max_dgram_qlen); the kernel's default if that cannot be read.
    """
    try:
        return int(_QUEUE_LIMIT.read_text())
    except (OSError, ValueError):
        return QUEUE_LIMIT_MIN


def accept_any_process(partition: str, pid: int) -> bool:
    """Return True for every sender, for hosts where senders are not checked."""
    return True


class HealthLogListener:
    """Receives HAProxys' health log lines on a socket in an existing directory, and emits an event for each.
    HAProxys also work without it.

    ``is_worker(partition, pid)``: whether the process is the current worker of that partition. Lines of other
    senders are ignored, so that an old worker, or another tenant's compromised worker, cannot report health.
    ``others_write``: workers run as other users. ``on_loss``: called when lines may have been lost.
    """

    def __init__(
        self,
        path: Path,
        on_event: Callable[[PartitionEvent], None],
        *,
        on_loss: Callable[[], None] = lambda: None,
        is_worker: Callable[[str, int], bool] = accept_any_process,
        others_write: bool = False,
    ) -> None:
        self._path = path
        self._others_write = others_write
        self._on_event = on_event
        self._on_loss = on_loss
        self._is_worker = is_worker
        self._socket: socket.socket | None = None
        self._queue_limit = QUEUE_LIMIT_MIN
        self._in_a_row = 0
        """Number of datagrams received since the socket's queue was last found empty; no more than these can have
        waited in it at once.
        """

    async def start(self) -> None:
        """Listen, replacing the socket of an earlier daemon. Raises :class:`OSError`."""
        self._path.unlink(missing_ok=True)
        # first: a limit that is raised in between only makes the listener assume losses that did not happen
        self._queue_limit = queue_limit()
        self._socket = self._bound_socket()
        asyncio.get_running_loop().add_reader(self._socket, self._receive_datagrams, self._socket)

    async def restore(self) -> None:
        """Listen again if the socket was removed, and report that lines may have been lost. Raises
        :class:`OSError`.
        """
        if self._socket is not None and not self._path.exists():
            self._stop_listening()
            await self.start()
            self._on_loss()

    def _bound_socket(self) -> socket.socket:
        """Open a socket on which the kernel attaches the sender's credentials to each datagram (unix(7),
        SO_PASSCRED). Raises :class:`OSError`.
        """
        bound = open_private_socket(self._path, socket.SOCK_DGRAM, others_write=self._others_write)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        return bound

    def close(self) -> None:
        """Stop listening and remove the socket; no effect if it does not listen."""
        if self._socket is not None:
            self._stop_listening()
            self._path.unlink(missing_ok=True)

    def _stop_listening(self) -> None:
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _receive_datagrams(self, bound: socket.socket) -> None:
        """Receive and handle the datagrams that wait on the socket, at most :data:`DATAGRAMS_AT_ONCE`, so
        that the event loop is not blocked.
        """
        for _ in range(DATAGRAMS_AT_ONCE):
            try:
                # One byte more than allowed shows that a datagram is too long.
                datagram, ancillary, _, _ = bound.recvmsg(DATAGRAM_BYTES_MAX + 1, ANCILLARY_BYTES)
            except OSError:  # no more datagrams
                self._report_loss()
                return
            self._in_a_row += 1
            self._on_datagram(datagram, sender_pid(ancillary))
        # An endless row of datagrams must not hide that others are lost.
        if self._in_a_row >= DATAGRAMS_IN_A_ROW_MAX:
            self._report_loss()

    def _report_loss(self) -> None:
        """Call ``on_loss`` if the socket's queue may have been full since it was last found empty, and begin
        to count anew.
        """
        row, self._in_a_row = self._in_a_row, 0
        if row >= self._queue_limit:
            log.info("health lines may have been lost", received=row, queue_limit=self._queue_limit)
            self._on_loss()

    def _on_datagram(self, datagram: bytes, pid: int) -> None:
        line = parse_health_line(datagram)
        if line is None:
            return
        # the tag in the text is the sender's own claim, the pid comes from the kernel
        if not self._is_worker(line.tag, pid):
            log.debug("health line ignored: its sender is not the current worker", partition=line.tag, pid=pid)
            return
        log.info("server health changed", partition=line.tag, backend=line.backend, server=line.server, up=line.up)
        self._on_event(
            PartitionEvent(partition=line.tag, backend=line.backend, server=line.server, up=line.up, text=line.text)
        )

"""Answers requests to listeners for Prometheus, which HAProxys forward over a Unix socket.

Even a compromised worker gets metrics of its own partition only: the kernel identifies the connecting process, and it
must be a worker of the partition that the path names. The rest of the path is a listener's name, which identifies the
load balancer.
"""

import asyncio
import socket
import time
from pathlib import Path
from typing import Protocol

import structlog

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import HaproxyDown, PartitionUnknown
from evenkeel.haproxyd.health.metrics import CONTENT_TYPE, SHOW_STATISTICS, render_metrics
from evenkeel.haproxyd.health.observed_partition import ObservedPartition, ObservedPartitions
from evenkeel.haproxyd.health.peer_credentials import peer_pid
from evenkeel.haproxyd.health.private_socket import open_private_socket

log = structlog.get_logger(__name__)

STATISTICS_CACHE_SECONDS = 5.0
"""Time for which statistics of a partition are cached.

Reading them costs a HAProxy with 10,000 servers a sixth of a second."""
CONNECTIONS_MAX = 256
HEAD_BYTES_MAX = 64 * 1024
REQUEST_TIMEOUT_SECONDS = 15.0
_REASONS_BY_STATUS = {200: "OK", 403: "Forbidden", 404: "Not Found", 503: "Service Unavailable"}


class _CachedStatistics:
    """A worker's statistics read at one time, and ``{load balancer id: metrics page}`` rendered from them."""

    def __init__(self, worker_pid: int | None, text: str) -> None:
        self.worker_pid = worker_pid
        self.text = text
        self.pages: dict[str, str] = {}
        self._since = time.monotonic()

    @property
    def is_expired(self) -> bool:
        """Whether the statistics were read :data:`STATISTICS_CACHE_SECONDS` ago or earlier."""
        return time.monotonic() - self._since >= STATISTICS_CACHE_SECONDS


class PartitionSource(ObservedPartitions, Protocol):
    """Source of observed partitions; identifies the worker that connects to the metrics server."""

    def is_worker(self, name: str, pid: int) -> bool:
        """Whether this process is the current worker of a partition's HAProxy, or one that is about to be."""
        ...


class MetricsServer:
    """Serves load balancers' metrics on a Unix socket in an existing directory to HAProxys' workers.
    ``others_connect``: workers run as other users.
    """

    def __init__(self, path: Path, partitions: PartitionSource, *, others_connect: bool = False) -> None:
        self._path = path
        self._partitions = partitions
        self._others_connect = others_connect
        self._server: asyncio.Server | None = None
        self._connections = 0
        self._kept: dict[str, _CachedStatistics] = {}
        """Cached statistics by partition."""
        # One lock a partition: of concurrent requests, one reads the statistics and the others use them.
        self._turns: dict[str, asyncio.Lock] = {}

    async def start(self) -> None:
        """Listen, replacing the socket of an earlier daemon. Raises :class:`OSError`."""
        self._path.unlink(missing_ok=True)
        bound = open_private_socket(self._path, socket.SOCK_STREAM, others_write=self._others_connect)
        self._server = await asyncio.start_unix_server(self._serve_client, sock=bound, limit=HEAD_BYTES_MAX)

    async def restore(self) -> None:
        """Listen again if the socket was removed while the server listens. Raises :class:`OSError`."""
        if self._server is not None and not self._path.exists():
            self._server.close()
            await self.start()

    def close(self) -> None:
        """Stop listening and remove the socket; no effect if it does not listen."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._path.unlink(missing_ok=True)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections <= CONNECTIONS_MAX:
                async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, text = await self._answer_request(peer_pid(writer.get_extra_info("socket")), head)
                    writer.write(_encode_response(status, text))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.debug("request for metrics not answered", reason=str(error))
        finally:
            self._connections -= 1
            writer.close()

    async def _answer_request(self, pid: int, head: bytes) -> tuple[int, str]:
        words = head.split(b"\r\n", 1)[0].decode(errors="replace").split(" ")
        parts = words[1].split("/") if len(words) > 1 else []
        if len(parts) != 3 or not self._partitions.is_worker(parts[1], pid):
            return 403, ""
        try:
            partition = self._partitions.get(parts[1])
            one = _load_balancer_with_listener(partition, parts[2])
            return (200, await self._metrics_page(partition, one)) if one is not None else (404, "")
        except (PartitionUnknown, HaproxyDown):
            return 503, ""

    async def _metrics_page(self, partition: ObservedPartition, load_balancer: wire.LoadBalancerConfig) -> str:
        """Return the load balancer's metrics page, from statistics at most :data:`STATISTICS_CACHE_SECONDS` old. Raises
        :class:`HaproxyDown` if the worker does not answer.
        """
        async with self._turns.setdefault(partition.name, asyncio.Lock()):
            kept = self._kept.get(partition.name)
            if kept is None or kept.is_expired or kept.worker_pid != partition.worker_pid:
                # Otherwise the statistics of removed partitions would stay in memory.
                self._kept = {name: each for name, each in self._kept.items() if not each.is_expired}
                kept = _CachedStatistics(partition.worker_pid, await partition.cli.command(SHOW_STATISTICS))
                self._kept[partition.name] = kept
            if load_balancer.id not in kept.pages:
                # In a thread, because a page with thousands of members takes long to render.
                kept.pages[load_balancer.id] = await asyncio.to_thread(render_metrics, load_balancer, kept.text)
            return kept.pages[load_balancer.id]


def _load_balancer_with_listener(partition: ObservedPartition, name: str) -> wire.LoadBalancerConfig | None:
    """Return the load balancer that has this listener for Prometheus; None if there is none."""
    balancers = partition.held.values()
    return next((one for one in balancers if any(each.metrics and each.name == name for each in one.frontends)), None)


def _encode_response(status: int, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {_REASONS_BY_STATUS[status]}",
        f"Content-Type: {CONTENT_TYPE}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join((*head, "", "")).encode() + body

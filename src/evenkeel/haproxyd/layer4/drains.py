"""TCP connections of servers that were removed: they go on until a deadline, and are then removed.

Connections of a server that health checks found down end at once, and datagrams' flows always do: their next packet
makes a new flow, while a connection cannot move to another server.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.kit.values import Wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_json_file, write_file
from evenkeel.haproxyd.layer4.elements import FlowTarget, VirtualService

log = structlog.get_logger(__name__)

FlowTargets = Mapping[VirtualService, frozenset[FlowTarget]]
"""Servers whose flows may go on, by service."""
DrainingByService = Mapping[VirtualService, Mapping[FlowTarget, float]]
"""Removed servers by service, each with the Unix time at which its connections end."""


def draining_after_change(
    draining: DrainingByService,
    before: FlowTargets,
    wanted: FlowTargets,
    *,
    dead_servers: Iterable[FlowTarget],
    now: float,
    seconds: float,
) -> dict[VirtualService, dict[FlowTarget, float]]:
    """Return the servers of TCP services that are draining after a change of the partition, each with the
    Unix time at which its connections end.

    ``draining``: those until now; ``before``: servers whose flows go on; ``wanted``: servers that the
    configuration now names; ``dead_servers``: servers that health checks found down, which do not drain; ``now``: a
    Unix time; ``seconds``: how long a removed server drains.
    """
    ended = frozenset(dead_servers)
    found: dict[VirtualService, dict[FlowTarget, float]] = {}
    for service, servers in wanted.items():
        if service.protocol != "tcp":
            continue
        known = draining.get(service, {})
        leaving = (before.get(service, frozenset()) | known.keys()) - servers - ended
        kept = {one: end for one in leaving if (end := known.get(one, now + seconds)) > now}
        if kept:
            found[service] = kept
    return found


def add_draining_servers(
    wanted: FlowTargets, draining: DrainingByService
) -> dict[VirtualService, frozenset[FlowTarget]]:
    """Return {service: servers whose flows may go on} for the services in ``wanted``: their servers there,
    and those that are draining. Draining servers of other services are left out.
    """
    return {service: servers | draining.get(service, {}).keys() for service, servers in wanted.items()}


def has_expired_server(draining: DrainingByService, now: float) -> bool:
    """Whether the connections of any draining server have to end at ``now``, a Unix time."""
    return any(end <= now for servers in draining.values() for end in servers.values())


class _DrainingServer(Wire):
    service: VirtualService
    server: FlowTarget
    ends_at: float


class DrainingServers(Wire):
    """Content of the file of draining servers: service, server and Unix time of the end, by partition."""

    draining: dict[str, tuple[_DrainingServer, ...]] = {}


class DrainFile:
    """File with the draining servers, for the next daemon. If it is missing, their connections end when the
    daemon starts. Failures are logged, not raised.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, DrainingByService]:
        """Return ``{partition: draining servers}``; empty if the file is missing, or cannot be read, which is
        logged. Blocks.
        """
        try:
            found = read_json_file(self._path, DrainingServers) or DrainingServers()
        except (OSError, StorageBroken) as error:
            log.warning("draining servers not known", reason=str(error))
            return {}
        read: dict[str, dict[VirtualService, dict[FlowTarget, float]]] = {}
        for partition, entries in found.draining.items():
            for one in entries:
                read.setdefault(partition, {}).setdefault(one.service, {})[one.server] = one.ends_at
        return dict(read)

    def write(self, draining: Mapping[str, DrainingByService]) -> None:
        """Replace the file's content by ``{partition: draining servers}``; a failure is logged. Blocks."""
        content = {name: tuple(_file_entries(each)) for name, each in draining.items() if each}
        try:
            write_file(self._path, msgspec.json.encode(DrainingServers(draining=content)))
        except OSError as error:
            log.warning("draining servers not saved", reason=error.strerror)


def _file_entries(draining: DrainingByService) -> Iterable[_DrainingServer]:
    for service, servers in draining.items():
        for server, ends_at in servers.items():
            yield _DrainingServer(service=service, server=server, ends_at=ends_at)

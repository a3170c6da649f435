"""Drift: differences between a running HAProxy and its configuration, from the runtime API's answers. Pure.

Compared after a reload, because loaded server states restore what was set at runtime, and when everything is verified,
because an operator may have used the runtime API by hand.
"""

import csv
import functools
import ipaddress
from collections.abc import Iterator, Mapping

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import Finding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.file_changes import acl_changes, entries
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete, set_state, set_weight

_FORCED_MAINTENANCE = 0x01
_FORCED_DRAIN = 0x08


class SeenServer(Value):
    """A line of ``show servers state``."""

    backend: str
    name: str
    address: str
    port: int
    admin: int
    """Bits: 1 maintenance, 8 drain, set by the runtime API or ``disabled``; HAProxy sets the others itself."""
    weight: int


class ServerDrift(Value):
    """``to_delete``: surplus servers; they are out of service once the findings' commands have been executed."""

    findings: tuple[Finding, ...] = ()
    to_delete: ServersToDelete = frozenset()


def parse_servers(text: str) -> tuple[SeenServer, ...]:
    """Parse ``show servers state``. Other versions append columns."""
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(
        SeenServer(
            backend=field[1],
            name=field[3],
            address=field[4],
            port=int(field[18]),
            admin=int(field[6]),
            weight=int(field[7]),
        )
        for field in lines
        if len(field) > 18
    )


def server_drift(config: HaproxyConfig, text: str) -> ServerDrift:
    """The drift of all servers, from ``show servers state``. Raises :class:`NeedsReload` if a server is missing."""
    seen = {(server.backend, server.name): server for server in parse_servers(text)}
    findings: list[Finding] = []
    wanted: set[tuple[str, str]] = set()
    owners: dict[str, str] = {}
    for one in config.load_balancers.values():
        for backend in one.backends:
            owners[backend.name] = one.id
            for server in backend.servers:
                wanted.add((backend.name, server.name))
                found = seen.get((backend.name, server.name))
                if found is None:
                    raise NeedsReload(f"server {backend.name}/{server.name} is not there", one.id)
                for what, command in _server_repairs(backend, server, found):
                    changed = f"server {server.name} of backend {backend.name} was changed ({what})"
                    findings.append(Finding(load_balancer_id=one.id, text=changed, command=command))
    extra = frozenset(key for key in seen.keys() - wanted if key[0] in owners)
    findings.extend(
        _added_server(owners[backend], backend, name)
        for backend, name in sorted(extra)
        if not seen[backend, name].admin & _FORCED_MAINTENANCE
    )
    return ServerDrift(findings=tuple(findings), to_delete=extra)


def _server_repairs(
    backend: wire.Backend, server: wire.BackendServer, found: SeenServer
) -> Iterator[tuple[str, RuntimeCommand]]:
    """What was changed, and the commands that undo it."""
    if (_same(found.address), found.port) != (_same(server.address), server.port):
        text = f"set server {backend.name}/{server.name} addr {server.address} port {server.port}"
        yield "address", RuntimeCommand(text=text, expects="changed")
    if found.weight != server.weight:
        yield "weight", set_weight(backend.name, server)
    forced = found.admin & (_FORCED_MAINTENANCE | _FORCED_DRAIN)
    if forced != (0 if server.admin_up else _FORCED_MAINTENANCE):
        yield "state", set_state(backend.name, server)


def _added_server(load_balancer_id: str, backend: str, name: str) -> Finding:
    return Finding(
        load_balancer_id=load_balancer_id,
        text=f"server {name} of backend {backend} was added",
        command=RuntimeCommand(text=f"set server {backend}/{name} state maint"),
    )


@functools.lru_cache(maxsize=8192)
def _same(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def kept_states(config: HaproxyConfig, text: str) -> str:
    """The server states for the next worker: without servers whose address has changed, because loading their state
    would restore the old address."""
    wanted = {
        (backend.name, server.name): (_same(server.address), str(server.port))
        for one in config.load_balancers.values()
        for backend in one.backends
        for server in backend.servers
    }
    kept = []
    for line in text.strip().splitlines():
        field = line.split()
        heading = line.startswith("#") or len(field) < 19
        if heading or wanted.get((field[1], field[3])) == (_same(field[4]), field[18]):
            kept.append(line)
    return "\n".join((*kept, ""))


def frontend_drift(config: HaproxyConfig, text: str) -> tuple[Finding, ...]:
    """Disabled frontends and changed limits, from ``show stat -1 1 -1``. Raises as :func:`server_drift`."""
    seen = {row["# pxname"]: row for row in csv.DictReader(text.strip().splitlines())}
    findings: list[Finding] = []
    for one in config.load_balancers.values():
        for frontend in one.frontends:
            row = seen.get(frontend.name)
            if row is None or row["status"] == "STOP":
                raise NeedsReload(f"frontend {frontend.name} is not there", one.id)
            findings.extend(_frontend_findings(one.id, frontend, row))
    return tuple(findings)


def _frontend_findings(load_balancer_id: str, frontend: wire.Frontend, row: Mapping[str, str]) -> Iterator[Finding]:
    if row["status"] != "OPEN":
        yield Finding(
            load_balancer_id=load_balancer_id,
            text=f"frontend {frontend.name} was closed",
            command=RuntimeCommand(text=f"enable frontend {frontend.name}"),
        )
    if frontend.maxconn is not None and row["slim"] != str(frontend.maxconn):
        yield Finding(
            load_balancer_id=load_balancer_id,
            text=f"frontend {frontend.name} was changed (maxconn)",
            command=RuntimeCommand(text=f"set maxconn frontend {frontend.name} {frontend.maxconn}"),
        )


def acl_drift(one: wire.LoadBalancerConfig, name: str, text: str) -> tuple[Finding, ...]:
    """The drift of one ACL, from ``show acl``. Raises as :func:`server_drift`."""
    content = next(file.content for file in one.files if file.name == name)
    try:
        commands = tuple(acl_changes(name, parse_acl(text), entries(content)))
    except NeedsReload as reason:
        raise NeedsReload(str(reason), one.id) from reason
    found = f"list {name} was changed"
    return tuple(Finding(load_balancer_id=one.id, text=found, command=command) for command in commands)


def parse_acl(text: str) -> tuple[str, ...]:
    """Patterns from ``show acl``: each line is a memory address, then the pattern."""
    return tuple(line.split(None, 1)[1] for line in text.splitlines() if line.startswith("0x") and " " in line)

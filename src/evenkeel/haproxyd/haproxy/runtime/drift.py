"""Drift: differences between a running HAProxy and its configuration, from the runtime API's answers. Pure.

Compared after a reload, because loaded server states restore what was set at runtime, and when everything is verified,
because an operator may have used the runtime API by hand.
"""

import functools
import ipaddress
from collections.abc import Iterator, Mapping

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import Finding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.file_changes import acl_changes, entries
from evenkeel.haproxyd.haproxy.runtime.plan import ServersToDelete, set_state, set_weight
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    FORCED_DRAIN,
    FORCED_MAINTENANCE,
    ServerKey,
    ServerState,
    frontend_rows,
    lines_with_columns,
)


class ServerDrift(Value):
    """``to_delete``: surplus servers; they are out of service once the findings' commands have been executed."""

    findings: tuple[Finding, ...] = ()
    to_delete: ServersToDelete = frozenset()


def server_drift(config: HaproxyConfig, seen: Mapping[ServerKey, ServerState]) -> ServerDrift:
    """The drift of all servers. Raises :class:`NeedsReload` if a server is missing."""
    findings: list[Finding] = []
    wanted: set[ServerKey] = set()
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
        if not seen[backend, name].admin & FORCED_MAINTENANCE
    )
    return ServerDrift(findings=tuple(findings), to_delete=extra)


def _server_repairs(
    backend: wire.Backend, server: wire.BackendServer, found: ServerState
) -> Iterator[tuple[str, RuntimeCommand]]:
    """What was changed, and the commands that undo it."""
    if (_same(found.address), found.port) != (_same(server.address), server.port):
        text = f"set server {backend.name}/{server.name} addr {server.address} port {server.port}"
        yield "address", RuntimeCommand(text=text, expects="changed")
    if found.weight != server.weight:
        yield "weight", set_weight(backend.name, server)
    forced = found.admin & (FORCED_MAINTENANCE | FORCED_DRAIN)
    if forced != (0 if server.admin_up else FORCED_MAINTENANCE):
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
    """The server states for the next worker, from :data:`SERVERS_STATE`: without servers whose address has changed,
    because loading their state would restore the old address."""
    wanted = {
        (backend.name, server.name): (_same(server.address), str(server.port))
        for one in config.load_balancers.values()
        for backend in one.backends
        for server in backend.servers
    }
    kept = []
    for line, row in lines_with_columns(text.strip()):
        if not row or wanted.get((row["be_name"], row["srv_name"])) == (_same(row["srv_addr"]), row["srv_port"]):
            kept.append(line)
    return "\n".join((*kept, ""))


def frontend_drift(config: HaproxyConfig, text: str) -> tuple[Finding, ...]:
    """Disabled frontends and changed limits, from :data:`FRONTENDS`. Raises as :func:`server_drift`."""
    seen = frontend_rows(text)
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

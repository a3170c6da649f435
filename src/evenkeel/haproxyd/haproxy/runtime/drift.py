"""Drift: manual changes of a running HAProxy, found by comparing the runtime API's answers with the
configuration. Pure.

The comparison is made after a reload, when everything is verified, and at each observation, because an
operator may have used the runtime API by hand. Each column of ``show servers state`` that a configuration
decides is compared; a server that is down although nothing may raise it again is drift, too.
"""

from collections.abc import Container, Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.server_arguments import parse_server_arguments
from evenkeel.haproxyd.haproxy.runtime.command import DriftFinding, NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.file_changes import list_changes
from evenkeel.haproxyd.haproxy.runtime.plan import (
    ServersToDelete,
    enable_check_commands,
    set_check_address_command,
    set_health_up_command,
    set_service_state_command,
    set_weight_command,
)
from evenkeel.haproxyd.haproxy.runtime.state_file import has_health_source
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    FORCED_DRAIN,
    FORCED_MAINTENANCE,
    ServerKey,
    ServerState,
    canonical_notation,
    frontend_rows,
)


class ServerDrift(Value):
    """Result of comparing servers: deviations, each with the command that repairs it.

    ``to_delete``: surplus servers, which are in maintenance once the findings' commands have been executed.
    """

    findings: tuple[DriftFinding, ...] = ()
    to_delete: ServersToDelete = frozenset()


def server_drift(
    config: HaproxyConfig,
    reported_states: Mapping[ServerKey, ServerState],
    *,
    pinged: Container[ServerKey] = frozenset(),
) -> ServerDrift:
    """Compare the configured servers with the states that HAProxy reports.

    ``pinged``: servers whose health the daemon sets; these may be down. Raises :class:`NeedsReload` if a
    configured server is missing.
    """
    findings: list[DriftFinding] = []
    wanted: set[ServerKey] = set()
    owners: dict[str, str] = {}
    for one in config.load_balancers.values():
        for backend in one.backends:
            owners[backend.name] = one.id
            for server in backend.servers:
                key = backend.name, server.name
                wanted.add(key)
                found = reported_states.get(key)
                if found is None:
                    raise NeedsReload(f"server {backend.name}/{server.name} is not there", one.id)
                judged = has_health_source(backend, server) or key in pinged
                for what, command in _server_repairs(backend, server, found, is_judged=judged):
                    changed = f"server {server.name} of backend {backend.name} was changed ({what})"
                    findings.append(DriftFinding(load_balancer_id=one.id, text=changed, command=command))
    # Backends of the daemon itself and of an operator's local.cfg belong to no load balancer, and are not compared.
    extra = frozenset(key for key in reported_states.keys() - wanted if key[0] in owners)
    findings.extend(
        _surplus_server_finding(owners[backend], backend, name)
        for backend, name in sorted(extra)
        # A surplus server in maintenance is one that was removed and waits to be deleted; others were added by hand.
        if not reported_states[backend, name].admin & FORCED_MAINTENANCE
    )
    return ServerDrift(findings=tuple(findings), to_delete=extra)


def _server_repairs(
    backend: wire.Backend, server: wire.BackendServer, reported_state: ServerState, *, is_judged: bool
) -> Iterator[tuple[str, RuntimeCommand]]:
    """Yield a word for each attribute of a server that others changed, with a command that restores it.

    ``is_judged``: a health check or ping may raise the server if it is down.
    """
    name = f"{backend.name}/{server.name}"
    if (canonical_notation(reported_state.address), reported_state.port) != (
        canonical_notation(server.address),
        server.port,
    ):
        text = f"set server {name} addr {server.address} port {server.port}"
        yield "address", RuntimeCommand(text=text, expects="changed")
    if reported_state.weight != server.weight:
        yield "weight", set_weight_command(backend.name, server)
    yield from _argument_repairs(backend.name, server, reported_state)
    if server.admin_up and not reported_state.checked:
        yield from (("checks", command) for command in enable_check_commands(backend.name, server))
    forced = reported_state.admin & (FORCED_MAINTENANCE | FORCED_DRAIN)
    if forced != (0 if server.admin_up else FORCED_MAINTENANCE):
        yield "state", set_service_state_command(backend.name, server)
    elif not reported_state.up and reported_state.admin_up and not is_judged:
        yield "health", set_health_up_command(backend.name, server)


def _argument_repairs(
    backend: str, server: wire.BackendServer, reported_state: ServerState
) -> Iterator[tuple[str, RuntimeCommand]]:
    wanted = parse_server_arguments(server)
    if reported_state.tls != wanted.tls:
        text = f"set server {backend}/{server.name} ssl {'on' if wanted.tls else 'off'}"
        yield "TLS", RuntimeCommand(text=text, expects="ssl setting updated")
    if not wanted.checked:
        return
    places = [(canonical_notation(one.check_address), one.check_port) for one in (wanted, reported_state)]
    if places[0] != places[1]:
        yield "address or port of checks", set_check_address_command(backend, server)


def _surplus_server_finding(load_balancer_id: str, backend: str, name: str) -> DriftFinding:
    return DriftFinding(
        load_balancer_id=load_balancer_id,
        text=f"server {name} of backend {backend} was added",
        command=RuntimeCommand(text=f"set server {backend}/{name} state maint"),
    )


def frontend_drift(config: HaproxyConfig, text: str) -> tuple[DriftFinding, ...]:
    """Find disabled frontends and changed limits of connections in HAProxy's answer to
    :data:`~evenkeel.haproxyd.haproxy.runtime.worker_state.SHOW_FRONTENDS`; empty: none.

    Raises :class:`NeedsReload` if a configured frontend is missing or was shut down.
    """
    seen = frontend_rows(text)
    findings: list[DriftFinding] = []
    for one in config.load_balancers.values():
        for frontend in one.frontends:
            row = seen.get(frontend.name)
            if row is None or row["status"] == "STOP":
                raise NeedsReload(f"frontend {frontend.name} is not there", one.id)
            findings.extend(_frontend_findings(one.id, frontend, row))
    return tuple(findings)


def _frontend_findings(
    load_balancer_id: str, frontend: wire.Frontend, row: Mapping[str, str]
) -> Iterator[DriftFinding]:
    if row["status"] != "OPEN":
        yield DriftFinding(
            load_balancer_id=load_balancer_id,
            text=f"frontend {frontend.name} was closed",
            command=RuntimeCommand(text=f"enable frontend {frontend.name}"),
        )
    if frontend.maxconn is not None and row["slim"] != str(frontend.maxconn):
        yield DriftFinding(
            load_balancer_id=load_balancer_id,
            text=f"frontend {frontend.name} was changed (maxconn)",
            command=RuntimeCommand(text=f"set maxconn frontend {frontend.name} {frontend.maxconn}"),
        )


def list_drift(load_balancer_id: str, file: wire.File, text: str) -> tuple[DriftFinding, ...]:
    """Compare one ACL or map with HAProxy's answer to ``show acl`` or ``show map``, and return a finding for
    each command that restores it. Raises :class:`NeedsReload` where only a reload helps.
    """
    try:
        commands = tuple(list_changes(file, parse_list(text)))
    except NeedsReload as reason:
        raise NeedsReload(str(reason), load_balancer_id) from reason
    found = f"list {file.name} was changed"
    return tuple(DriftFinding(load_balancer_id=load_balancer_id, text=found, command=command) for command in commands)


def parse_list(text: str) -> tuple[str, ...]:
    """Return the entries in the answer to ``show acl`` or ``show map``: each line is an address, then the entry."""
    return tuple(line.split(None, 1)[1] for line in text.splitlines() if line.startswith("0x") and " " in line)

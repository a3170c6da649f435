"""What a running HAProxy does otherwise than it should, from its own account of itself. Pure.

Needed after a reload, because kept server states bring back what was set at runtime, and when everything is to be
made sure of, because an operator may have used the runtime API by hand.
"""

import csv
import functools
import ipaddress
from collections.abc import Iterator

from evenkeel.core.values import Value
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.plan import NeedsReload, RuntimeCommand, set_state, set_weight

_FORCED_MAINTENANCE = 0x01
_FORCED_DRAIN = 0x08


class SeenServer(Value):
    """A line of ``show servers state``."""

    backend: str
    name: str
    address: str
    port: int
    admin: int
    """Bits: 1 maintenance, 8 drain by the runtime API or ``disabled``; others are HAProxy's own."""
    weight: int


class Repairs(Value):
    """``leftovers``: servers that are not to be there."""

    commands: tuple[RuntimeCommand, ...] = ()
    leftovers: frozenset[tuple[str, str]] = frozenset()


def parse_servers(text: str) -> tuple[SeenServer, ...]:
    """``show servers state``. Other versions add columns at the end."""
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


def server_repairs(config: HaproxyConfig, text: str) -> Repairs:
    """What makes the servers as wanted. Raises :class:`~evenkeel.haproxyd.haproxy.plan.NeedsReload`."""
    seen = {(server.backend, server.name): server for server in parse_servers(text)}
    commands: list[RuntimeCommand] = []
    wanted: set[tuple[str, str]] = set()
    backends = {backend.name: backend for one in config.load_balancers.values() for backend in one.backends}
    for backend in backends.values():
        for server in backend.servers:
            wanted.add((backend.name, server.name))
            found = seen.get((backend.name, server.name))
            if found is None:
                raise NeedsReload(f"server {backend.name}/{server.name} is not there")
            commands.extend(_server(backend, server, found))
    extra = frozenset(key for key in seen.keys() - wanted if key[0] in backends)
    commands.extend(
        RuntimeCommand(text=f"set server {backend}/{name} state maint")
        for backend, name in sorted(extra)
        if not seen[backend, name].admin & _FORCED_MAINTENANCE
    )
    return Repairs(commands=tuple(commands), leftovers=extra)


def _server(backend: wire.Backend, server: wire.BackendServer, found: SeenServer) -> Iterator[RuntimeCommand]:
    if (_same(found.address), found.port) != (_same(server.address), server.port):
        name = f"{backend.name}/{server.name}"
        yield RuntimeCommand(text=f"set server {name} addr {server.address} port {server.port}", expects="changed")
    if found.weight != server.weight:
        yield set_weight(backend.name, server)
    forced = found.admin & (_FORCED_MAINTENANCE | _FORCED_DRAIN)
    if forced != (0 if server.admin_up else _FORCED_MAINTENANCE):
        yield set_state(backend.name, server)


@functools.lru_cache(maxsize=8192)
def _same(address: str) -> str:
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def kept_states(config: HaproxyConfig, text: str) -> str:
    """Server states to give to the next worker: not those of servers that got another address, for whom they would
    bring back the old one."""
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


def frontend_repairs(config: HaproxyConfig, text: str) -> tuple[RuntimeCommand, ...]:
    """From ``show stat -1 1 -1``: opens frontends and sets limits. Raises as :func:`server_repairs`."""
    seen = {row["# pxname"]: row for row in csv.DictReader(text.strip().splitlines())}
    commands: list[RuntimeCommand] = []
    for one in config.load_balancers.values():
        for frontend in one.frontends:
            row = seen.get(frontend.name)
            if row is None or row["status"] == "STOP":
                raise NeedsReload(f"frontend {frontend.name} is not there")
            if row["status"] != "OPEN":
                commands.append(RuntimeCommand(text=f"enable frontend {frontend.name}"))
            if frontend.maxconn is not None and row["slim"] != str(frontend.maxconn):
                commands.append(RuntimeCommand(text=f"set maxconn frontend {frontend.name} {frontend.maxconn}"))
    return tuple(commands)


def parse_acl(text: str) -> tuple[str, ...]:
    """Patterns from ``show acl``: an address in memory, then the pattern."""
    return tuple(line.split(None, 1)[1] for line in text.splitlines() if line.startswith("0x") and " " in line)

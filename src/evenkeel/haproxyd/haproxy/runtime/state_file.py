"""Writes the server states that a new worker loads, from the states of the worker that it replaces. Pure.

In HAProxy the loaded file overrides the new configuration, through all further reloads, in port, TLS, target and state
of health checks, and health itself. So the file carries over only what a configuration does not contain: whether a
server is up. Measured with HAProxy 2.6, 2.8, 3.0, 3.2 and 3.4:

- Only the first 20 columns are written: TLS, and addresses and ports of checks are then the configuration's.
- Port, weight, admin state and state of checks are written as the new configuration has them.
- A server that is down stays down if something can raise it again: HAProxy's checks, the daemon's pings, or the server
  whose health it tracks. Otherwise it would be down for ever, so it is up.
- A server whose address or port changed is another target, of which nothing is known: it is down until its checks have
  succeeded, and used at once only if it has none.
- A server whose checks were ended, because its backend was not used any more, has no line: its health is old.
- A server that was in maintenance, or is to be, has no line: it begins as in a new HAProxy, and in the same state as
  after ``set server … state ready`` or ``maint``.
- A new server has no line. HAProxy uses it until its first failed check, as it does one that is added at runtime.
"""

from collections.abc import Iterator, Mapping

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.config.server_arguments import parse_server_arguments
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    CHECK_CONFIGURED,
    CHECK_ENABLED,
    MAINTENANCE_BITS,
    canonical_notation,
    table_rows,
)

STATE_FILE_VERSION = "1"
STATE_FILE_COLUMNS = (
    "be_id", "be_name", "srv_id", "srv_name", "srv_addr", "srv_op_state", "srv_admin_state", "srv_uweight",
    "srv_iweight", "srv_time_since_last_change", "srv_check_status", "srv_check_result", "srv_check_health",
    "srv_check_state", "srv_agent_state", "bk_f_forced_id", "srv_f_forced_id", "srv_fqdn", "srv_port", "srvrecord",
)  # fmt: skip
"""Columns that are written; HAProxy accepts 20 or more."""
DOWN, UP = "0", "2"
"""Values of the column srv_op_state."""
_IN_SERVICE = "0"
"""Value of the column srv_admin_state for a server in service."""


def state_file_content(config: HaproxyConfig, servers_state: str) -> str:
    """Return the content of the state file for a new worker with this configuration. Raises
    :class:`ValueError` or :class:`KeyError` for an answer in an unexpected form.

    ``servers_state``: the replaced worker's answer to ``show servers state``; if it lists a server twice, the first
    line counts, as it does for HAProxy.
    """
    lines = [STATE_FILE_VERSION, " ".join(("#", *STATE_FILE_COLUMNS))]
    wanted = dict(_servers_in_service(config))
    for row in table_rows(servers_state):
        found = wanted.pop((row["be_name"], row["srv_name"]), None)
        if found is None or int(row["srv_admin_state"]) & MAINTENANCE_BITS:
            continue
        if _has_moved(found[1], row) or not _is_outdated(row):
            lines.append(_server_line(*found, row))
    return "".join(f"{line}\n" for line in lines)


def _is_outdated(row: Mapping[str, str]) -> bool:
    """Whether the server's checks are configured, but were disabled while it was in service."""
    return int(row["srv_check_state"]) & (CHECK_CONFIGURED | CHECK_ENABLED) == CHECK_CONFIGURED


def has_health_source(backend: wire.Backend, server: wire.BackendServer) -> bool:
    """Whether a check, a tracked server or a ping can raise the server when it is down; else it would stay down for
    ever.
    """
    arguments = parse_server_arguments(server)
    return arguments.checked or arguments.tracks or backend.ping is not None


def _servers_in_service(
    config: HaproxyConfig,
) -> Iterator[tuple[tuple[str, str], tuple[wire.Backend, wire.BackendServer]]]:
    for one in config.load_balancers.values():
        for backend in one.backends:
            for server in backend.servers:
                if server.admin_up:
                    yield (backend.name, server.name), (backend, server)


def _server_line(backend: wire.Backend, server: wire.BackendServer, row: Mapping[str, str]) -> str:
    weight = str(server.weight)
    checked = parse_server_arguments(server).checked
    changed = {
        "srv_op_state": _operational_state(backend, server, row),
        "srv_admin_state": _IN_SERVICE,
        "srv_uweight": weight,
        "srv_iweight": weight,
        "srv_check_state": str(CHECK_CONFIGURED | CHECK_ENABLED if checked else 0),
        "srv_agent_state": "0",
        "srv_fqdn": "-",
        "srv_port": str(server.port),
        "srvrecord": "-",
    }
    return " ".join(changed.get(column) or row[column] for column in STATE_FILE_COLUMNS)


def _has_moved(server: wire.BackendServer, row: Mapping[str, str]) -> bool:
    before = canonical_notation(row["srv_addr"]), row["srv_port"]
    return before != (canonical_notation(server.address), str(server.port))


def _operational_state(backend: wire.Backend, server: wire.BackendServer, row: Mapping[str, str]) -> str:
    if not has_health_source(backend, server):
        return UP
    if _has_moved(server, row):
        # pings do not depend on the port; their first result decides about a new address
        return DOWN if parse_server_arguments(server).checked else UP
    return DOWN if row["srv_op_state"] == DOWN else UP

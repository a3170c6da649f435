"""Parses a worker's answers about servers and frontends. Pure; ignores columns that newer versions add.

Formats: HAProxy management guide, "show servers state", "show servers conn" and "show stat" (9.1, 9.3).
"""

import csv
import functools
import ipaddress
import re
from collections.abc import Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.haproxyd.haproxy.config.server_arguments import (
    SERVER_ADDRESS_FOR_CHECKS,
    SERVER_PORT_FOR_CHECKS,
    UNSET_ADDRESS,
)

SHOW_SERVERS_STATE = "show servers state"
SHOW_SERVERS_CONNECTIONS = "show servers conn"
SHOW_FRONTENDS = "show stat -1 1 -1"
"""Command for the statistics of all proxies, frontends only."""

FORCED_MAINTENANCE = 0x01
FORCED_DRAIN = 0x08
"""Bits of srv_admin_state that the runtime API or ``disabled`` sets; HAProxy sets the others itself."""
MAINTENANCE_BITS = FORCED_MAINTENANCE | 0x02 | 0x20 | 0x40
"""Bits of srv_admin_state for maintenance: forced, inherited, by name resolution, by host name.

The bit 0x04, of a server that is ``disabled`` in the configuration, is not among them: it stays after ``set server …
state ready``.
"""
CHECK_CONFIGURED, CHECK_ENABLED = 0x02, 0x04
"""Bits of the column srv_check_state."""

ServerKey = tuple[str, str]
"""Names of backend and server."""


class ServerState(Value):
    """One server as the worker reports it. ``up``: neither down nor in maintenance; ``checked``: whether
    HAProxy's health checks are enabled; ``admin``: bits of srv_admin_state.

    ``check_address``, ``check_port``: target of the server's checks, as in
    :mod:`~evenkeel.haproxyd.haproxy.config.server_arguments`.
    """

    up: bool
    checked: bool
    admin: int
    weight: int
    address: str
    port: int
    tls: bool = False
    check_address: str = SERVER_ADDRESS_FOR_CHECKS
    check_port: int = SERVER_PORT_FOR_CHECKS

    @property
    def admin_up(self) -> bool:
        """Whether the server is in service, not in maintenance."""
        return not self.admin & MAINTENANCE_BITS


class FrontendCounts(Value):
    """Counters of one frontend: bytes, connections and HTTP request errors since its worker started, or as a
    total. ``active``: current connections.
    """

    bytes_in: int = 0
    bytes_out: int = 0
    connections: int = 0
    request_errors: int = 0
    active: int = 0
    listening: bool = True


_STATE_COLUMNS = (
    "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "
    "srv_time_since_last_change "
)
_BEFORE_TIME_PATTERN = re.compile(r"^((?:\S+ ){9})\d+ ", re.MULTILINE)


def remove_change_times(text: str) -> str:
    """Return an answer to :data:`SHOW_SERVERS_STATE` without the time of each server's last change, so that answers are
    equal as long as nothing changes. An answer with other columns is returned as it is.
    """
    return _BEFORE_TIME_PATTERN.sub(r"\1", text) if _STATE_COLUMNS in text else text


def server_states(text: str) -> dict[ServerKey, ServerState]:
    """Parse the answer to :data:`SHOW_SERVERS_STATE`, by backend and server name. Raises :class:`KeyError` or
    :class:`ValueError` for rows in an unexpected form.
    """
    found = {}
    for row in table_rows(text):
        admin = int(row["srv_admin_state"])
        found[row["be_name"], row["srv_name"]] = ServerState(
            up=row["srv_op_state"] != "0" and not admin & MAINTENANCE_BITS,
            checked=bool(int(row["srv_check_state"]) & CHECK_ENABLED),
            admin=admin,
            weight=int(row["srv_uweight"]),
            address=row["srv_addr"],
            port=int(row["srv_port"]),
            tls=row["srv_use_ssl"] != "0",
            check_address=SERVER_ADDRESS_FOR_CHECKS
            if row["srv_check_addr"] == UNSET_ADDRESS
            else row["srv_check_addr"],
            check_port=int(row["srv_check_port"]),
        )
    return found


@functools.lru_cache(maxsize=8192)
def canonical_notation(address: str) -> str:
    """Return an IP address in its one canonical notation; any other text unchanged."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        return address


def server_connections(text: str) -> dict[ServerKey, int]:
    """Return ``{(backend, server): connections in use}``, from the answer to :data:`SHOW_SERVERS_CONNECTIONS`.
    Raises :class:`KeyError` or :class:`ValueError` for rows in an unexpected form.
    """
    found = {}
    for row in table_rows(text):
        backend, _, server = row["bkname/svname"].partition("/")
        found[backend, server] = int(row["used_cur"])
    return found


def frontend_rows(text: str) -> dict[str, Mapping[str, str]]:
    """Return ``{frontend: {column: value}}`` from the answer to ``show stat``; rows of backends and servers
    are ignored. Empty if the answer is in another form.
    """
    # The line with the names of the columns begins with `# `.
    columns, *rows = csv.reader(text.lstrip("# \n").splitlines() or [""])
    if columns[:2] != ["pxname", "svname"]:
        return {}
    return {row[0]: dict(zip(columns, row, strict=False)) for row in rows if row[1:2] == ["FRONTEND"]}


def frontend_counts(text: str) -> dict[str, FrontendCounts]:
    """Return ``{frontend: counters}`` from the answer to ``show stat``; empty if the answer is in another
    form.
    """
    return {
        name: FrontendCounts(
            bytes_in=_read_integer(row, "bin"),
            bytes_out=_read_integer(row, "bout"),
            connections=_read_integer(row, "stot"),
            request_errors=_read_integer(row, "ereq"),
            active=_read_integer(row, "scur"),
            listening=row["status"] in ("OPEN", "FULL"),
        )
        for name, row in frontend_rows(text).items()
    }


def table_rows(text: str) -> Iterator[Mapping[str, str]]:
    """Yield the rows of a runtime API table as ``{column name: value}``; the line that starts with ``#``
    gives the names.

    Lines before it, and rows with too few columns, are ignored.
    """
    columns: list[str] = []
    for line in text.splitlines():
        fields = line.split()
        if line.startswith("# "):
            columns = fields[1:]
        elif columns and len(fields) >= len(columns):
            yield dict(zip(columns, fields, strict=False))


def _read_integer(row: Mapping[str, str], column: str) -> int:
    # `show stat` leaves a column empty where it does not apply.
    value = row.get(column) or "0"
    return int(value) if value.isdigit() else 0

"""Servers as the runtime API shows them, in a form that is the same for all HAProxys that were told the same. Pure."""

import csv
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from evenkeel.haproxyd.haproxy.config.server_arguments import SERVER_ADDRESS_FOR_CHECKS, UNSET_ADDRESS
from evenkeel.haproxyd.haproxy.runtime.worker_state import MAINTENANCE_BITS, table_rows
from tests.equivalence.site import named_port

STATES, STATISTICS = "show servers state", "show stat"
COMPARED_STATE = ("srv_op_state", "srv_uweight", "srv_fqdn", "srv_use_ssl")
COMPARED_STATISTICS = (
    *("status", "weight", "act", "bck", "check_status", "check_code", "check_rise", "check_fall", "check_health"),
    *("mode", "cookie", "slim", "agent_status"),
)
"""Columns that depend on nothing but the configuration and the last checks."""
DRAINS = 0x08 | 0x10
CHECK_ENABLED = 0x04
WITHOUT_RESULT = ("", "INI")
Rows = Mapping[str, Mapping[str, Any]]


class Places(Protocol):
    """Names of the addresses at which a device has everything, such as a :class:`~tests.equivalence.site.Site`."""

    def named(self, text: str) -> str: ...


def servers(site: Places, states: str, statistics: str) -> dict[str, dict[str, Any]]:
    """Backend and server -> columns. Those that a reload will remove, in maintenance until then, are left out by
    :func:`compared`."""
    found: dict[str, dict[str, Any]] = {}
    for row in table_rows(states.strip()):
        if row["be_name"].startswith("_"):
            continue
        admin = int(row["srv_admin_state"])
        found[f"{row['be_name']}/{row['srv_name']}"] = {
            **{name: row[name] for name in COMPARED_STATE},
            "place": (site.named(row["srv_addr"]), named_port(int(row["srv_port"]))),
            "check_port": named_port(int(row["srv_check_port"])),
            "check_addr": site.named(
                SERVER_ADDRESS_FOR_CHECKS if row["srv_check_addr"] == UNSET_ADDRESS else row["srv_check_addr"]
            ),
            "maintenance": bool(admin & MAINTENANCE_BITS),
            "drains": bool(admin & DRAINS),
            "checked": bool(int(row["srv_check_state"]) & CHECK_ENABLED),
            "id": row["srv_id"],
        }
    for row in _statistics(statistics):
        name = f"{row['pxname']}/{row['svname']}"
        if name in found:
            found[name].update((column, row.get(column) or "") for column in COMPARED_STATISTICS)
    return found


def backends(statistics: str) -> dict[str, dict[str, str]]:
    """Listeners with their limits, and pools. The limit of a pool is what HAProxy derives from its listeners' limits as
    it starts; it matters only to servers with ``minconn``, which none has."""
    columns = ("status", "mode", "algo", "weight", "act", "bck", "cookie")
    return {
        f"{row['pxname']}/{row['svname']}": {
            name: row.get(name) or "" for name in (*columns, *(("slim",) if row["svname"] == "FRONTEND" else ()))
        }
        for row in _statistics(statistics)
        if row["svname"] in ("FRONTEND", "BACKEND") and not row["pxname"].startswith("_")
    }


def changes(statistics: str, members: frozenset[str]) -> dict[str, tuple[str, str]]:
    """Backend and member -> its status, and how often its checks have found it down."""
    return {
        f"{row['pxname']}/{row['svname']}": (row["status"], row["chkdown"])
        for row in _statistics(statistics)
        if row["svname"] in members and not row["pxname"].startswith("_")
    }


def without_ended(shown: Mapping[str, Any], wanted: frozenset[str]) -> dict[str, Any]:
    """Rows of servers, listeners and pools without those of sections that no configuration has any more, and that the
    next reload takes away: listeners that are closed, and pools with no server that is in service and checked."""
    busy = {name.partition("/")[0] for name, row in shown.items() if row.get("checked") and not row["maintenance"]}
    busy |= {
        name.partition("/")[0] for name, row in shown.items() if name.endswith("/FRONTEND") and row["status"] != "STOP"
    }
    kept = wanted | busy
    return {name: row for name, row in shown.items() if name.partition("/")[0] in kept}


def settled(rows: Rows) -> bool:
    """Whether enough checks have run that no further one changes anything, as long as members stay as they are."""
    return all(_settled(row) for row in rows.values())


def _settled(row: Mapping[str, Any]) -> bool:
    if not row["checked"] or row["maintenance"] or not row.get("check_rise"):
        return True
    status = str(row["check_status"])
    full = int(row["check_rise"]) + int(row["check_fall"]) - 1
    return status.removeprefix("* ") not in WITHOUT_RESULT and row["check_health"] in ("0", str(full))


def _statistics(text: str) -> Iterator[Mapping[str, str]]:
    return csv.DictReader(text.lstrip("# \n").splitlines())


def compared(rows: Rows, wanted: frozenset[str]) -> dict[str, Any]:
    """The rows of wanted servers, and of others that are not in maintenance, without what a check under way shows."""
    found: dict[str, Any] = {}
    for name, row in rows.items():
        if name.rpartition("/")[2] in wanted or not row["maintenance"]:
            found[name] = {**row, "check_status": str(row.get("check_status", "")).removeprefix("* ")}
            if row["maintenance"]:
                # a weight that is set now is in force, and in the statistics, once it is out of it; so are checks
                found[name].update(weight="", checked=False)
    return found

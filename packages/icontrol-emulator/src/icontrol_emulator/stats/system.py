"""sys/traffic and sys/tmm-traffic: totals, of the client side (virtual servers) and the server side (pools).

The names are those of a real device. Entries without a counter, averages included, are shown as 0.
"""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.render import HOST
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.stats.entries import as_seen_from_pool

PATH, BY_TMM = "sys/traffic", "sys/tmm-traffic"

_SIDES = {"clientSide": "virtual", "serverSide": "pool"}
_AVERAGES = ("fiveSecAvg", "oneMinAvg", "fiveMinAvg")
_ZEROS = (
    "connectionMemoryErrors droppedPackets hardwareSyncookiesDetected hardwareSyncookiesGenerated "
    "incomingPacketErrors licenseDeny maintenanceModeDeny maxConnVirtualAddressDeny maxConnVirtualPathDeny "
    "noHandlerDeny noStagedHandlerDeny outgoingPacketErrors tmauth.curSessions tmauth.errorResults "
    "tmauth.failureResults tmauth.maxSessions tmauth.successResults tmauth.totSessions tmauth.wantcredentialResults "
    "virtualServerNonSynDeny"
)

_NOT_BY_TMM = (*_AVERAGES, "hardware", "tmauth")


def traffic_entries(counters: CounterBook) -> dict[str, Any]:
    values = dict.fromkeys(_ZEROS.split(), 0)
    for side, kind in _SIDES.items():
        total = counters.sum(kind)
        values |= _side_entries(f"{side}Traffic", total if kind == "virtual" else as_seen_from_pool(total))
        for average in _AVERAGES:
            name = f"{average}{side[0].upper()}{side[1:]}Traffic"
            values |= {f"{name}.{count}": 0 for count in ("bitsIn", "bitsOut", "pktsIn", "pktsOut", "totConns")}
    values["httpRequests"] = counters.sum("virtual").requests
    shown = {name: {"value": value} for name, value in sorted(values.items())}
    return {f"{HOST}/{PATH}/0": {"nestedStats": {"entries": shown}}}


def tmm_entries(counters: CounterBook, tmms: int) -> dict[str, Any]:
    """System entries by traffic manager, of which the first one has all of the traffic."""
    (total,) = traffic_entries(counters).values()
    names = {name: value for name, value in total["nestedStats"]["entries"].items() if not name.startswith(_NOT_BY_TMM)}
    every = {**names, "cmpConnRedirected": {"value": 0}}
    found = {}
    for number in range(tmms):
        own = every if number == 0 else {name: {"value": 0} for name in every}
        entries = dict(sorted({**own, "tmmId": {"description": f"0.{number}"}}.items()))
        found[f"{HOST}/{BY_TMM}/0.{number}"] = {"nestedStats": {"entries": entries}}
    return found


def _side_entries(name: str, total: Counters) -> dict[str, int]:
    return {
        f"{name}.bitsIn": total.bytes_in * 8, f"{name}.bitsOut": total.bytes_out * 8,
        f"{name}.curConns": total.current, f"{name}.evictedConns": 0, f"{name}.maxConns": total.maximum,
        f"{name}.pktsIn": total.packets_in, f"{name}.pktsOut": total.packets_out, f"{name}.slowKilled": 0,
        f"{name}.totConns": total.total,
    }  # fmt: skip

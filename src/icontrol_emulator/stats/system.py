"""sys/traffic: the totals of the device, of the client side (virtual servers) and the server side (pools).

The names are those of a real device. Entries without a counter, averages included, are shown as 0.
"""

from __future__ import annotations

from typing import Any

from icontrol_emulator.config.render import HOST
from icontrol_emulator.dataplane.counters import CounterBook, Counters
from icontrol_emulator.stats.entries import as_seen_from_pool

PATH = "sys/traffic"

_SIDES = {"clientSide": "virtual", "serverSide": "pool"}
_AVERAGES = ("fiveSecAvg", "oneMinAvg", "fiveMinAvg")
_ZEROS = (
    "connectionMemoryErrors droppedPackets hardwareSyncookiesDetected hardwareSyncookiesGenerated "
    "incomingPacketErrors licenseDeny maintenanceModeDeny maxConnVirtualAddressDeny maxConnVirtualPathDeny "
    "noHandlerDeny noStagedHandlerDeny outgoingPacketErrors tmauth.curSessions tmauth.errorResults "
    "tmauth.failureResults tmauth.maxSessions tmauth.successResults tmauth.totSessions tmauth.wantcredentialResults "
    "virtualServerNonSynDeny"
)


def traffic_entries(counters: CounterBook) -> dict[str, Any]:
    values = dict.fromkeys(_ZEROS.split(), 0)
    for side, kind in _SIDES.items():
        total = counters.sum(kind)
        values |= _side(f"{side}Traffic", total if kind == "virtual" else as_seen_from_pool(total))
        for average in _AVERAGES:
            name = f"{average}{side[0].upper()}{side[1:]}Traffic"
            values |= {f"{name}.{count}": 0 for count in ("bitsIn", "bitsOut", "pktsIn", "pktsOut", "totConns")}
    values["httpRequests"] = counters.sum("virtual").requests
    shown = {name: {"value": value} for name, value in sorted(values.items())}
    return {f"{HOST}/{PATH}/0": {"nestedStats": {"entries": shown}}}


def _side(name: str, total: Counters) -> dict[str, int]:
    return {
        f"{name}.bitsIn": total.bytes_in * 8, f"{name}.bitsOut": total.bytes_out * 8,
        f"{name}.curConns": total.current, f"{name}.evictedConns": 0, f"{name}.maxConns": total.maximum,
        f"{name}.pktsIn": total.packets_in, f"{name}.pktsOut": total.packets_out, f"{name}.slowKilled": 0,
        f"{name}.totConns": total.total,
    }  # fmt: skip

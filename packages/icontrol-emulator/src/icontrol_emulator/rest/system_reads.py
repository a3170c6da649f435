"""The device's own state, in the nested format of statistics: version, clock, readiness, sync status, roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator.cluster import Cluster
from icontrol_emulator.device import ACTIVE, OFFLINE, Device
from icontrol_emulator.rest import resources

BASE = "https://localhost/mgmt/tm"
COLLECTIONS = frozenset({"sys/cpu"})
Entries = dict[str, Any]


def value_of(value: object) -> dict[str, Any]:
    if isinstance(value, int | float):
        return {"value": value}
    return {"description": str(value)}


def nested(values: Mapping[str, object]) -> dict[str, Any]:
    return {"nestedStats": {"entries": {name: value_of(value) for name, value in values.items()}}}


def stats_document(device: Device, path: str, entries: Entries) -> dict[str, Any]:
    last = path.rpartition("/")[2]
    scope = "collectionstats" if path in COLLECTIONS else "stats"
    return {
        "kind": f"tm:{path.replace('/', ':')}:{last}{scope}",
        "selfLink": device.renderer.link(path),
        "entries": entries,
    }


def _one_entry(path: str, values: Mapping[str, object]) -> Entries:
    return {f"{BASE}/{path}/0": nested(values)}


def _version(device: Device, cluster: Cluster) -> Entries:
    release = device.renderer.release
    values = {
        "Build": release.build, "Date": release.date, "Edition": release.edition, "Product": "BIG-IP",
        "Title": "Main Package", "Version": release.version,
    }  # fmt: skip
    return _one_entry("sys/version", values)


def _now(device: Device) -> datetime:
    return datetime.fromtimestamp(device.clock(), UTC)


def _clock(device: Device, cluster: Cluster) -> Entries:
    return _one_entry("sys/clock", {"fullDate": _now(device).strftime("%Y-%m-%dT%H:%M:%SZ")})


def _ready(device: Device, cluster: Cluster) -> Entries:
    return _one_entry("sys/ready", {"configReady": "yes", "licenseReady": "yes", "provisionReady": "yes"})


def _mcp_state(device: Device, cluster: Cluster) -> Entries:
    return _one_entry("sys/mcp-state", {"lastLoad": "full-config-load-succeed", "phase": "running"})


def _license(device: Device, cluster: Cluster) -> Entries:
    values = {
        "licensedOnDate": "2022/01/01", "licensedVersion": device.renderer.version,
        "platformId": device.platform.platform_id,
        "registrationKey": "EMULA-TEDXX-XXXXX-XXXXX-XXXXXXX", "serviceCheckDate": "2030/01/01",
    }  # fmt: skip
    return _one_entry("sys/license", values)


def _hardware(device: Device, cluster: Cluster) -> Entries:
    versions = {"bigipChassisSerialNum": device.serial, "platform": device.platform.platform_id, "name": "cpus"}
    return {
        f"{BASE}/sys/hardware/platform": {"nestedStats": {"entries": {f"{BASE}/sys/hardware/platform/0": nested(
            {"baseMac": f"fa:16:3e:00:00:{device.platform.number + 1:02x}", "biosRev": "",
             "marketingName": device.platform.marketing_name})}}},
        f"{BASE}/sys/hardware/systemInfo": {"nestedStats": {"entries": {
            f"{BASE}/sys/hardware/systemInfo/0": nested(versions)}}},
    }  # fmt: skip


def _host_info(device: Device, cluster: Cluster) -> Entries:
    values = {"cpuCount": 4, "activeCpuCount": 2, "hostId": "0", "memoryTotal": 16_000_000_000,
              "memoryUsed": 4_000_000_000}  # fmt: skip
    return _one_entry("sys/host-info", values)


def _performance(device: Device, cluster: Cluster) -> Entries:
    return {f"{BASE}/sys/performance/all-stats/Active%20Connections": nested(
        {"Current": "0", "Average": "0", "Max(since 2022/01/01)": "0"})}  # fmt: skip


def _sync_status(device: Device, cluster: Cluster) -> Entries:
    state = cluster.sync_of(device.name).state(device.name)
    mode = "high-availability" if cluster.clustered else "standalone"
    entry = nested({"color": state.colour, "mode": mode, "status": state.status, "summary": state.summary})
    base = f"{BASE}/cm/syncStatus/0/details"
    details = {f"{base}/{index}": nested({"details": line}) for index, line in enumerate(state.details)}
    entry["nestedStats"]["entries"][base] = {"nestedStats": {"entries": details}}
    return {f"{BASE}/cm/sync-status/0": entry}


def _failover_status(device: Device, cluster: Cluster) -> Entries:
    words = {ACTIVE: ("ACTIVE", "green"), OFFLINE: ("FORCED OFFLINE", "blue")}
    status, colour = words.get(device.failover_state, ("STANDBY", "gray"))
    groups = [group.key.path for group in cluster.traffic_groups(device.name)]
    active = [group for group in groups if group in device.active_for]
    counted = f"{len(active)}/{len(groups)} active" if active else f"{len(groups)}/{len(groups)} {status.lower()}"
    entry = nested({"color": colour, "status": status, "summary": counted})
    base = f"{BASE}/cm/failoverStatus/0/details"
    lines = [f"{cluster.role(device.name, group)} for {group}" for group in groups]
    details = {f"{base}/{index}": nested({"details": line}) for index, line in enumerate(lines)}
    entry["nestedStats"]["entries"][base] = {"nestedStats": {"entries": details}}
    return {f"{BASE}/cm/failover-status/0": entry}


def traffic_group_stats(device: Device, cluster: Cluster) -> Entries:
    """One entry per floating traffic group and device of the failover group."""
    entries: Entries = {}
    for group in cluster.traffic_groups(device.name):
        heir = cluster.next_active(device.name, group)
        for each in (device, *cluster.peers(device.name)):
            values = {
                "deviceName": f"/Common/{each.name}", "failoverState": cluster.role(each.name, group.key.path),
                "nextActive": "true" if heir == each.name else "false", "trafficGroup": group.key.path,
            }  # fmt: skip
            name = f"~Common~{group.name}:~Common~{each.name}"
            entries[f"{BASE}/cm/traffic-group/{name}/stats"] = nested(values)
    return entries


def show_device(shown: dict[str, Any], device: Device, cluster: Cluster) -> None:
    """cm/device items contain each device's current failover state, and which of them answers."""
    known = cluster.devices.get(shown["name"])
    if known is not None:
        shown["failoverState"] = "forced-offline" if known.forced_offline else known.failover_state
        release = known.renderer.release
        shown |= {"version": release.version, "build": release.build, "edition": release.edition}
        shown["selfDevice"] = "true" if known is device else "false"


READS: dict[str, Callable[[Device, Cluster], Entries]] = {
    "sys/version": _version,
    "sys/clock": _clock,
    "sys/ready": _ready,
    "sys/mcp-state": _mcp_state,
    "sys/license": _license,
    "sys/hardware": _hardware,
    "sys/host-info": _host_info,
    "sys/performance/all-stats": _performance,
    "sys/performance/connections": _performance,
    "sys/performance/throughput": _performance,
    "sys/memory": resources.memory,
    "sys/cpu": resources.processors,
    "sys/tmm-info": resources.traffic_managers,
    "sys/connection": resources.connections,
    "cm/sync-status": _sync_status,
    "cm/failover-status": _failover_status,
    "cm/traffic-group/stats": traffic_group_stats,
}
ORGANISED = {"sys": ["version", "clock", "ready", "mcp-state", "license", "hardware", "host-info", "config",
                     "failover"],
             "cm": ["sync-status", "failover-status"]}  # fmt: skip


def organising_document(device: Device, path: str, names: list[str], extra_query: str) -> dict[str, Any]:
    last = path.rpartition("/")[2]
    below = sorted({*names, *ORGANISED.get(path, [])})
    return {
        "kind": f"tm:{path.replace('/', ':')}:{last}collectionstate",
        "selfLink": device.renderer.link(path, extra_query),
        "items": [{"reference": {"link": device.renderer.link(f"{path}/{name}")}} for name in below],
    }

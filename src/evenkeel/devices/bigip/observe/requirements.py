"""Requirements that a device must meet, and checks that name the unmet ones. Only :func:`read_device_state`
sends requests.

TMOS 13.0 or newer (cipher groups, and transactions that stay open for two minutes), ready, and ltm
provisioned. Requirements on the cluster are in :mod:`evenkeel.devices.bigip.sync.rules`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from evenkeel.core.devices.device import DeviceState
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import ObjectAbsent
from evenkeel.devices.bigip.observe.cluster import ReportedCluster, device_identity, read_cluster
from evenkeel.devices.bigip.observe.nested_statistics import check_statistics, statistics_entries, text_value

VERSION_MIN = (13, 0)
READY_SINCE = (13, 1)
Item = Mapping[str, Any]


async def read_device_state(
    device: IControl, traffic_groups: Collection[str] = ()
) -> tuple[DeviceState, ReportedCluster | None]:
    """Read the device's state with unmet requirements, and the device's cluster; None: the cluster is not known.

    A device error is part of the state, not raised. ``traffic_groups``: full paths of the traffic groups that the
    device must have.
    """
    try:
        cluster, modules = await read_cluster(device), await device.collection("sys/provision")
        state = device_state(device.host, cluster)
        problems = [
            *version_problems(state.version),
            *await _ready_problems(device, state.version),
            *module_problems(modules),
            *await _traffic_group_problems(device, traffic_groups),
        ]
    except DeviceUnavailable as error:
        return DeviceState(name=device.host, reachable=False, problem=str(error)), None
    except DeviceRejected as error:
        return DeviceState(name=device.host, reachable=True, problem=str(error)), None
    return replace(state, problem="; ".join(problems)), cluster


def device_state(host: str, cluster: ReportedCluster) -> DeviceState:
    """Return the state that a device reports of itself, without checks."""
    own = cluster.own_device
    return DeviceState(
        name=host,
        reachable=True,
        version=str(own.get("version", "")),
        failover_state=str(own.get("failoverState", "")),
        identity=device_identity(own),
        sync_state=cluster.sync.status,
        own_name=str(own.get("hostname", "")),
    )


def parse_version(text: str) -> tuple[int, ...]:
    """Parse ``16.1.2`` into numbers, leaving out parts that are not numeric; empty if the first part is not
    numeric.
    """
    parts = text.split(".")
    return tuple(int(part) for part in parts if part.isdigit()) if parts[0].isdigit() else ()


def version_problems(text: str) -> list[str]:
    """Return the problem of a TMOS version that is too old or unknown; empty for other versions."""
    if parse_version(text) >= VERSION_MIN:
        return []
    needed = ".".join(map(str, VERSION_MIN))
    return [f"TMOS version is {text or 'unknown'}; {needed} or newer is needed"]


async def _ready_problems(device: IControl, version: str) -> list[str]:
    if parse_version(version) < READY_SINCE:
        return []
    try:
        return ready_problems(check_statistics(device.host, "sys/ready", await device.get("/mgmt/tm/sys/ready")))
    except ObjectAbsent:
        return []


def ready_problems(answer: Item) -> list[str]:
    """Return a problem for each value in the response of ``sys/ready`` (configuration, licence, provisioning)
    that is not ``yes``.
    """
    found = {name: text_value(values, name) for _, values in statistics_entries(answer) for name in values}
    return [f"not ready: {name} is {value!r}; 'yes' is needed" for name, value in found.items() if value != "yes"]


def module_problems(modules: Iterable[Item]) -> list[str]:
    """Return the problem if ltm is not provisioned; else empty."""
    level = next((str(item.get("level", "none")) for item in modules if item.get("name") == "ltm"), "none")
    return [] if level != "none" else ["module ltm is not provisioned; level nominal or more is needed"]


async def _traffic_group_problems(device: IControl, wanted: Collection[str]) -> list[str]:
    return traffic_group_problems(await device.collection("cm/traffic-group"), wanted) if wanted else []


def traffic_group_problems(groups: Iterable[Item], wanted: Collection[str]) -> list[str]:
    """Return the problem that wanted traffic groups (full paths) are absent or do not float; empty if all are
    there.
    """
    floating = {str(item.get("fullPath")) for item in groups if str(item.get("isFloating", "true")).lower() == "true"}
    missing = [name for name in wanted if name not in floating]
    return [f"has no floating traffic group {', '.join(missing)}; see traffic_groups"] if missing else []

"""Checks that the combination of HA type, sync mode and device groups is safe. Pure.

Every device must get the configuration exactly once: from the agent, or by config-sync from a device that the agent
writes. A device that gets none would serve old configuration after a failover; a device that gets the configuration
from both would lose what the agent wrote last.
"""

from collections.abc import Iterator, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.bigip.observe.cluster import Item, ReportedCluster, device_identity, device_names_text
from evenkeel.devices.bigip.options import SyncMode


class Membership(Value):
    """Sync-failover group that a device belongs to."""

    group: str = ""
    """Name of the sync-failover group; empty: the device is in none with other devices."""
    auto_sync: bool = False
    members: tuple[Item, ...] = ()
    """Devices of the sync-failover group, as ``cm/device`` shows them."""

    @property
    def identities(self) -> frozenset[str]:
        """Return the identities of the group's devices, the same whichever of them reports the group."""
        return frozenset(map(device_key, self.members))


def device_key(item: Item) -> str:
    """Return the identity of a device, or its name if the identity is not known."""
    return device_identity(item) or str(item.get("name", ""))


def find_membership(cluster: ReportedCluster) -> Membership:
    """Return the sync-failover group that the reporting device shares with others; one without a name if
    there is none.
    """
    own = cluster.own_device.get("name")
    for group in cluster.groups:
        names = _device_names(group)
        if group.get("type") == "sync-failover" and len(names) > 1 and own in names:
            members = tuple(item for item in cluster.devices if item.get("name") in names)
            auto = group.get("autoSync") == "enabled"
            return Membership(group=str(group.get("name")), auto_sync=auto, members=members)
    return Membership()


def _device_names(group: Item) -> frozenset[str]:
    found = group.get("devicesReference")
    items = found.get("items", []) if isinstance(found, Mapping) else group.get("devices", [])
    return frozenset(str(item.get("name") if isinstance(item, Mapping) else item).rpartition("/")[2] for item in items)


def group_into_units(clusters: Mapping[str, ReportedCluster]) -> tuple[tuple[str, ...], ...]:
    """Group the hosts by the sync-failover group that their devices share, in the order given; every other
    device is alone.
    """
    found: dict[frozenset[str], list[str]] = {}
    for host, cluster in clusters.items():
        # A device in no group gets a key of its own, so that it is alone.
        found.setdefault(find_membership(cluster).identities or frozenset({f"host {host}"}), []).append(host)
    return tuple(map(tuple, found.values()))


def ha_problems(clusters: Mapping[str, ReportedCluster], ha_type: HaType, mode: SyncMode) -> dict[str, tuple[str, ...]]:
    """Return ``{host: reasons}`` for all hosts, by which these devices must not be written with this HA type
    and sync mode; without reasons a device may be written.
    """
    synced = any(find_membership(cluster).group for cluster in clusters.values())
    return {
        host: (*_trust_problems(host, clusters, ha_type), *_sync_group_problems(host, clusters, mode, synced=synced))
        for host in clusters
    }


def role_problems(cluster: ReportedCluster) -> list[str]:
    """Return the problem of a cluster without an active device; else empty.

    The problem may be temporary, and does not keep the agent from writing.
    """
    members = find_membership(cluster).members or cluster.devices
    active = any(item.get("failoverState") == "active" for item in members)
    return ["no device of its cluster is active"] if members and not active else []


def _trust_problems(host: str, clusters: Mapping[str, ReportedCluster], ha_type: HaType) -> Iterator[str]:
    trusted = clusters[host].devices
    if ha_type is HaType.STANDALONE:
        return
    if len(trusted) < 2:
        needed = "2" if ha_type is HaType.PAIR else "2 to 4"
        yield f"its cluster has {len(trusted)} device(s); f5_ha_type {ha_type} needs {needed}"
        return
    keys = set(map(device_key, trusted))
    for other, cluster in clusters.items():
        if other != host and cluster.own_device and device_key(cluster.own_device) not in keys:
            yield f"does not trust {other}; f5_ha_type {ha_type} needs devices of one trust domain"


def _sync_group_problems(
    host: str, clusters: Mapping[str, ReportedCluster], mode: SyncMode, *, synced: bool
) -> Iterator[str]:
    own = find_membership(clusters[host])
    named = {device_key(cluster.own_device) for cluster in clusters.values()}
    others = [item for item in own.members if device_key(item) not in named]
    shared = [item for item in own.members if device_key(item) in named]
    if mode is SyncMode.SYNC:
        if not synced:
            yield "sync_mode sync: it is in no sync-failover group with other devices"
        return
    if own.auto_sync and len(shared) > 1:
        yield (
            f"device group {own.group} has autoSync enabled, which would overwrite what the agent writes to each of"
            f" {device_names_text(shared)}: disable it, or set sync_mode = sync"
        )
    if others and not own.auto_sync:
        yield (
            f"device group {own.group} also has {device_names_text(others)}, which would not get the configuration: set"
            " sync_mode = sync, enable autoSync, or name them in icontrol_hostname"
        )

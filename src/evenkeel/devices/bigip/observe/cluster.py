"""A device's view of its cluster: devices, device groups and the state of config-sync."""

from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.observe.nested_statistics import statistics_entries, text_value
from evenkeel.devices.waiting import gather_all_results

Item = Mapping[str, Any]
SYNC_STATUS = "/mgmt/tm/cm/sync-status"
IN_SYNC = "In Sync"
STANDALONE = "Standalone"


class SyncStatus(Value):
    """Content of ``cm/sync-status`` of one device."""

    status: str = ""
    """State of config-sync: ``In Sync``, ``Changes Pending``, ``Disconnected``, …; empty: not known."""
    summary: str = ""
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the config-sync status with its summary, as operators see it."""
        return ": ".join(filter(None, (self.status, self.summary.strip())))


class ReportedCluster(Value):
    """A device's view of its cluster."""

    devices: tuple[Item, ...] = ()
    """All devices of the trust domain."""
    groups: tuple[Item, ...] = ()
    sync: SyncStatus = SyncStatus()

    @property
    def own_device(self) -> Item:
        """Return the device that reported this view of the cluster; empty if it is not among ``devices``."""
        return next((item for item in self.devices if str(item.get("selfDevice")).lower() == "true"), {})


async def read_cluster(device: IControl) -> ReportedCluster:
    """Read a device's view of its cluster, with three requests.

    Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    devices, groups, sync = await gather_all_results(
        device.collection("cm/device"), device.collection("cm/device-group", expand=True), _request_sync_status(device)
    )
    return ReportedCluster(devices=tuple(devices), groups=tuple(groups), sync=parse_sync_status(sync[0]))


async def read_sync_status(device: IControl) -> SyncStatus:
    """Read the state of config-sync with one request. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`."""
    return parse_sync_status(await device.get(SYNC_STATUS))


async def _request_sync_status(device: IControl) -> list[Any]:
    return [await device.get(SYNC_STATUS)]


def parse_sync_status(answer: Item) -> SyncStatus:
    """Extract the status from a response; all texts are empty if there is none. The details are nested one
    level deeper, as ``syncStatus/0/details/<n>``.
    """
    top = next((values for _, values in statistics_entries(answer)), {})
    details = (
        text_value(values, "details")
        for _, below in statistics_entries({"entries": top})
        for _, values in statistics_entries({"entries": below})
    )
    return SyncStatus(
        status=text_value(top, "status"), summary=text_value(top, "summary"), details=tuple(filter(None, details))
    )


def device_identity(item: Item) -> str:
    """Return a device's identity, ``<serial number>/<MAC>``: all guests of a chassis share its serial number,
    and the first MAC address distinguishes them. Empty if the serial number is not known.
    """
    parts = [str(item.get(name, "")).strip() for name in ("chassisId", "baseMac")]
    return "/".join(parts) if parts[0] else ""


def device_names_text(items: Iterable[Item]) -> str:
    """Return the names of the devices as one text, for messages."""
    return ", ".join(sorted(str(item.get("name")) for item in items))

"""Reads the address of a device's tunnel end point."""

from evenkeel.devices.bigip.attachment import AttachmentOptions
from evenkeel.devices.bigip.icontrol.client import IControl


async def read_vtep(device: IControl, options: AttachmentOptions) -> str:
    """Read the address, without prefix length, of the self IP that an operator created for tunnels; empty if
    there is none.

    Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
    """
    for item in await device.collection("net/self", partition=options.vtep_folder):
        if item.get("name") == options.vtep_name:
            return str(item.get("address", "")).partition("/")[0]
    return ""

"""The capability tables of the installed device drivers."""

from importlib.metadata import entry_points

import structlog

from evenkeel.core.devices.capabilities import Capabilities

log = structlog.get_logger(__name__)

ENTRY_POINT_GROUP = "evenkeel.capabilities"


def load_capabilities() -> dict[str, Capabilities]:
    """Load the capability tables of all installed device drivers, by driver.

    A table that cannot be loaded is logged and left out, because one broken driver must not stop a controller: the API
    accepts everything for its environments, and its agents refuse unsupported features later.
    """
    found: dict[str, Capabilities] = {}
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            table = entry.load()
        except Exception as error:
            log.error("capability table cannot be loaded", device_driver=entry.name, reason=str(error))
            continue
        if isinstance(table, Capabilities):
            found[entry.name] = table
        else:
            log.error("capability table has the wrong type", device_driver=entry.name, found=type(table).__name__)
    return found

"""The capability tables of the device drivers that are installed."""

from importlib.metadata import entry_points

import structlog

from evenkeel.core.capabilities import Capabilities

log = structlog.get_logger(__name__)

GROUP = "evenkeel.capabilities"


def load_capabilities() -> dict[str, Capabilities]:
    """Device driver -> what it can do.

    One that cannot be loaded is told and left out: its environments take everything, and its agents refuse later
    what they cannot do. A controller must not stay down for the sake of one driver.
    """
    found: dict[str, Capabilities] = {}
    for entry in entry_points(group=GROUP):
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

"""The installed device drivers: entry points of the group ``evenkeel.devices``.

A driver's options are in the section named after its entry point. The entry point's module declares them as
``OPTIONS``, a list of oslo.config options; a driver without options needs none.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from oslo_config import cfg

ENTRY_POINT_GROUP = "evenkeel.devices"


def installed_drivers() -> set[str]:
    """Return the names of all installed drivers; none of them is loaded."""
    return {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}


def driver_entry_point(name: str) -> EntryPoint:
    """Return the entry point of a driver. Raises :class:`ValueError` if no driver of that name is installed."""
    for entry in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return entry
    raise ValueError(f"device_driver: {name!r} is not one of {sorted(installed_drivers())}")


def declared_options(name: str) -> Sequence[cfg.Opt]:
    """Load a driver's module and return its options; empty if it declares none. Raises :class:`ValueError` if
    there is no such driver, or if it cannot be loaded.
    """
    module = driver_entry_point(name).module
    try:
        declared = getattr(import_module(module), "OPTIONS", ())
    except Exception as error:
        # A driver may be another project's package, whose import may raise anything.
        raise ValueError(f"device_driver: {name!r} cannot be loaded: {error}") from error
    if not isinstance(declared, list | tuple) or not all(isinstance(one, cfg.Opt) for one in declared):
        raise ValueError(f"device_driver: {name!r}: {module}.OPTIONS is not a list of oslo.config options")
    names = [option.dest for option in declared]
    if twice := sorted({one for one in names if names.count(one) > 1}):
        raise ValueError(f"device_driver: {name!r}: {module}.OPTIONS declares {', '.join(twice)} twice")
    return declared

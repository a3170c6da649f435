"""The tables: every object type of a device, with the fields of a newly created object."""

from __future__ import annotations

from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.types import ltm, monitors, net, persistence, policies, profiles, system


def load_registry() -> Registry:
    modules = (ltm, policies, monitors, profiles, persistence, net, system)
    return Registry([spec for module in modules for spec in module.SPECS])

"""The tables: every object type of a device, with the fields of a newly created object."""

from __future__ import annotations

from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.releases import SINCE, USUAL, Release
from icontrol_emulator.config.types import (
    application_monitors,
    application_profiles,
    authentication,
    logs,
    ltm,
    monitors,
    net,
    net_services,
    persistence,
    plain_files,
    platform,
    policies,
    profiles,
    routing,
    system,
    traffic_services,
    vcmp,
)

_MODULES = (
    ltm, policies, monitors, profiles, persistence, net, system,
    application_monitors, application_profiles, authentication, logs, net_services, plain_files, platform, routing,
    traffic_services, vcmp,
)  # fmt: skip


def load_registry(release: Release = USUAL) -> Registry:
    """The types of a device of that release."""
    specs = [spec for module in _MODULES for spec in module.SPECS]
    return Registry([spec for spec in specs if release.numbers >= SINCE.get(spec.path, ())], release)

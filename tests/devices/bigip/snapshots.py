"""All that a device has, as its collections show it."""

from typing import Any

from emulator_tests.admin import Admin
from icontrol_emulator import Emulator
from icontrol_emulator.config.types import load_registry
from tests.devices.bigip.rig import steady

_NOT_PROVISIONED = "vcmp/"
_PATHS = [spec.path for spec in load_registry() if not spec.owner and not spec.path.startswith(_NOT_PROVISIONED)]
_BY_ITSELF = {"ifIndex", "_ifIndex"}
"""Attributes that an object gets anew each time."""
Snapshot = dict[str, dict[str, Any]]


async def snapshot(emulator: Emulator, device: str = "bigip-1") -> Snapshot:
    """Each object by its type and path, without what changes by itself."""
    admin = Admin(emulator, device)
    found: Snapshot = {}
    for path in _PATHS:
        answer = admin.read(f"{path}?expandSubcollections=true")
        for item in answer.get("items", [answer] if "fullPath" in answer else []):
            name = item.get("fullPath") or item["name"]
            found[f"{path} {name}"] = {key: each for key, each in steady(item).items() if key not in _BY_ITSELF}
    return found


def differences(before: Snapshot, after: Snapshot) -> dict[str, tuple[Any, Any]]:
    """What differs between two snapshots, with its attributes before and after; None: it was, or is, not there."""
    keys = sorted({*before, *after})
    return {key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}

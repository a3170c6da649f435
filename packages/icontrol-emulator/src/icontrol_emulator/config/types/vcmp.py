"""Virtual machines on a vCMP host. A device that is not a host refuses these paths."""

from __future__ import annotations

from icontrol_emulator.config.schema import Ref, Scope, TypeSpec, names
from icontrol_emulator.config.types.tables import open_type, settings

GUEST = TypeSpec(
    path="vcmp/guest", word="vCMP guest", scope=Scope.FLAT, open=True,
    defaults={
        "allowedSlots": [1], "assignedSlots": [1], "coresPerSlot": 2, "hostname": "localhost.localdomain",
        "managementGw": "none", "managementIp": "none", "managementNetwork": "bridged", "minSlots": 1, "slots": 1,
        "sslMode": "shared", "state": "configured",
    },
    optional=names("initialImage initialHotfix virtualDisk vlans trafficProfile"),
    choices={"state": names("configured provisioned deployed"), "managementNetwork": names("bridged isolated")},
    refs=(Ref(name="vlans", family="vlan", many=True),),
)  # fmt: skip

SPECS = [
    GUEST,
    open_type("vcmp/virtual-disk", "vCMP virtual disk", scope=Scope.FLAT, creatable=False),
    open_type("vcmp/traffic-profile", "vCMP traffic profile", scope=Scope.FLAT),
    settings("vcmp/global", guestsPerSlot=0),
]

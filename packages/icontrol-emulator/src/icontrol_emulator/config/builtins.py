"""The objects that a device has from the factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from icontrol_emulator.config import builtin_services, references
from icontrol_emulator.config.ciphers import BUILT_IN_RULES
from icontrol_emulator.config.db_variables import DB_VARIABLES
from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import split_path
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.schema import Scope
from icontrol_emulator.config.types import (
    application_monitors,
    application_profiles,
    monitors,
    net,
    persistence,
    profiles,
)

MODULES = (
    "afm", "am", "apm", "asm", "avr", "cgnat", "dos", "fps", "gtm", "ilx", "lc", "ltm", "pem", "sslo", "swg", "urldb",
)  # fmt: skip
DEVICE_GROUP = "/Common/device-group-1"
TRAFFIC_GROUP = "/Common/traffic-group-1"
LOCAL_ONLY = "/Common/traffic-group-local-only"


@dataclass(frozen=True, slots=True)
class Platform:
    """Facts of a device. ``number``: its place among all devices of the emulator; ``guests``: guests of a vCMP host."""

    number: int = 0
    platform_id: str = "Z100"
    marketing_name: str = "BIG-IP Virtual Edition"
    guests: tuple[str, ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Management addresses of all devices of the emulator, by name."""

    def address(self, name: str, addresses: Mapping[str, str]) -> str:
        """The management address of a device."""
        return addresses.get(name) or f"192.0.2.{self.numbers.get(name, self.number) + 11}"


VIRTUAL_EDITION = Platform()
GUEST_PLATFORM = ("Z101", "BIG-IP vCMP Guest")
HOST_PLATFORM = ("A109", "BIG-IP VPR-B2100")  # the name from memory


class Installer:
    """Stores objects directly, without the validation of client requests."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put(
        self,
        type_path: str,
        path: str,
        props: Mapping[str, Any] | None = None,
        parent: Key | None = None,
        uniques: tuple[Target, ...] = (),
    ) -> Key:
        spec = self._engine.spec(type_path)
        above = parent.as_parent if parent else ""
        own = {"_system": True, **(props or {})}
        if spec.scope is Scope.PARTITIONED and path != "/":
            parts = split_path(path)
            key = Key(type_path, above, path)
            draft = Obj(key=key, name=parts.name, partition=parts.partition, sub_path=parts.sub_path)
        else:
            draft = Obj(key=Key(type_path, above, path), name=path or spec.segment)
        refs = list(references.targets(spec, own))
        if draft.partition and not parent and type_path != "sys/folder":
            refs.append(references.folder_target(draft))
        obj = Obj(
            key=draft.key, name=draft.name, partition=draft.partition, sub_path=draft.sub_path, props=own,
            refs=tuple(refs), generation=1,
            uniques=uniques,
        )  # fmt: skip
        self._engine.store.put(obj)
        return draft.key


def install(
    engine: Engine, device: str, peers: list[str], users: Mapping[str, str], serial_of: Callable[[str], str],
    addresses: Mapping[str, str] = MappingProxyType({}), platform: Platform = VIRTUAL_EDITION,
) -> None:  # fmt: skip
    """Fill an empty store; `peers` are the other devices of the cluster, `serial_of` returns a device's serial number,
    `addresses` are management addresses."""
    engine.store.begin()
    installer = Installer(engine)
    _install_cluster(installer, device, peers, serial_of, addresses, platform)
    _install_system(installer, engine, device, users, platform)
    _install_guests(installer, addresses, platform)
    _install_ltm(installer, engine)
    _install_net(installer)
    release = engine.registry.release
    for type_path, path, props in (*builtin_services.ROWS, *builtin_services.software_rows(release)):
        installer.put(type_path, path, props)
    engine.store.commit()


def _install_cluster(
    put: Installer, device: str, peers: list[str], serial_of: Callable[[str], str], addresses: Mapping[str, str],
    platform: Platform,
) -> None:  # fmt: skip
    everyone = sorted([device, *peers])
    put.put("sys/folder", "/", {"deviceGroup": DEVICE_GROUP if peers else "none"})
    put.put("sys/folder", "/Common", {"description": "Common folder"})
    put.put("auth/partition", "Common", {"description": "Repository for system objects and shared objects."})
    put.put("cm/traffic-group", TRAFFIC_GROUP)
    put.put("cm/traffic-group", LOCAL_ONLY, {"isFloating": "false", "unitId": 15})
    for name in everyone:
        number = platform.numbers.get(name, 0)
        props = {
            "hostname": f"{name}.localdomain", "managementIp": platform.address(name, addresses),
            "configsyncIp": f"198.51.100.{number + 11}" if peers else "none",
            "baseMac": f"fa:16:3e:00:00:{number + 1:02x}",
            "chassisId": serial_of(name), "platformId": platform.platform_id,
            "marketingName": platform.marketing_name,
        }  # fmt: skip
        put.put("cm/device", f"/Common/{name}", props)
    trust = put.put("cm/device-group", "/Common/device_trust_group", {"autoSync": "enabled", "type": "sync-only"})
    for name in everyone:
        put.put("cm/device-group/devices", f"/Common/{name}", parent=trust)
    if peers:
        group = put.put("cm/device-group", DEVICE_GROUP, {"type": "sync-failover"})
        for name in everyone:
            put.put("cm/device-group/devices", f"/Common/{name}", parent=group)
    put.put("cm/trust-domain", "/Common/Root", {"caDevices": [f"/Common/{name}" for name in everyone]})


def _install_guests(put: Installer, addresses: Mapping[str, str], platform: Platform) -> None:
    for name in platform.guests:
        own = {"hostname": f"{name}.localdomain", "managementIp": f"{platform.address(name, addresses)}/24"}
        put.put("vcmp/guest", name, {**own, "state": "deployed", "virtualDisk": f"{name}.img"})


def _install_system(put: Installer, engine: Engine, device: str, users: Mapping[str, str], platform: Platform) -> None:
    for name, password in users.items():
        access = [{"name": "all-partitions", "role": "admin"}]
        props = {"_password": password, "partitionAccess": access, "encryptedPassword": "$6$emulated$0"}
        put.put("auth/user", name, {**props, "description": name})
    is_host = bool(platform.guests)
    for module in (*MODULES, *(["vcmp"] if is_host else [])):
        level = {"level": "dedicated"} if module == "vcmp" else {"level": "nominal"} if module == "ltm" else {}
        put.put("sys/provision", module, {} if is_host and module == "ltm" else level)
    for name, (value, accepts) in DB_VARIABLES.items():
        value = engine.registry.release.version if name == "version.version" else value
        put.put("sys/db", name, {"value": value, "defaultValue": value, "valueRange": accepts})
    for spec in engine.registry:
        if spec.scope is Scope.SINGLE:
            own = {"hostname": f"{device}.localdomain"} if spec.path == "sys/global-settings" else {}
            put.put(spec.path, "", own)
    put.put("sys/file/ssl-cert", "/Common/default.crt", {"systemPath": "/config/ssl/ssl.crt/default.crt"})
    put.put("sys/file/ssl-cert", "/Common/ca-bundle.crt", {"isBundle": "true"})
    put.put("sys/file/ssl-key", "/Common/default.key", {"systemPath": "/config/ssl/ssl.key/default.key"})


def _install_ltm(put: Installer, engine: Engine) -> None:
    for module in (monitors, application_monitors, profiles, application_profiles, persistence):
        is_monitor = module in (monitors, application_monitors)
        known = {path: type_path for path, type_path in module.ROOTS.items() if engine.registry.get(type_path)}
        for path, type_path in known.items():
            put.put(type_path, path, {} if is_monitor else {"defaultsFrom": "none"})
    for table in (monitors.VARIANTS, profiles.VARIANTS, application_profiles.VARIANTS):
        for path, (type_path, props) in table.items():
            put.put(type_path, path, {"defaultsFrom": engine.spec(type_path).root, **props})
    for name, (cipher, description) in BUILT_IN_RULES.items():
        put.put("ltm/cipher/rule", f"/Common/{name}", {"cipher": cipher, "description": description})
        put.put("ltm/cipher/group", f"/Common/{name}", {"allow": [{"name": name, "partition": "Common"}]})
    for strategy in ("first-match", "best-match", "all-match"):
        put.put("ltm/policy-strategy", f"/Common/{strategy}")
    for rule in ("_sys_https_redirect",):
        code = 'when HTTP_REQUEST {\n   HTTP::redirect https://[getfield [HTTP::host] ":" 1][HTTP::uri]\n}'
        put.put("ltm/rule", f"/Common/{rule}", {"apiAnonymous": code})
    addresses = [{"name": "10.0.0.0/8", "data": ""}, {"name": "172.16.0.0/12", "data": ""}]
    put.put("ltm/data-group/internal", "/Common/private_net", {"type": "ip", "records": addresses})


def _install_net(put: Installer) -> None:
    for spec in net.TUNNEL_PROFILES:
        put.put(spec.path, spec.root, {"defaultsFrom": "none"})
    for name, (kind, props) in net.TUNNEL_VARIANTS.items():
        put.put(f"net/tunnels/{kind}", f"/Common/{name}", {"defaultsFrom": f"/Common/{kind}", **props})
    for name in ("http-tunnel", "socks-tunnel"):
        put.put("net/tunnels/tunnel", f"/Common/{name}", {"description": f"Tunnel for {name[:-7]}-explicit profile"})
        put.put("net/fdb/tunnel", f"/Common/{name}")
    put.put(
        "net/route-domain",
        "/Common/0",
        {"id": 0},
        uniques=(Target(domains.FAMILY, "0"),),
    )
    for index, name in enumerate(("1.1", "1.2", "1.3", "mgmt")):
        put.put("net/interface", name, {"ifIndex": 32 + 16 * index, "macAddress": f"fa:16:3e:00:01:{index:02x}"})

"""BIG-IPs for tests: emulated devices, agents that reach them, and a pair of hands that changes things."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from emulator_tests.admin import Admin, kept_connections
from evenkeel.core.ports import Device
from evenkeel.devices.bigip import open_group
from evenkeel.devices.bigip.naming import GUARD_PREFIX
from icontrol_emulator import Emulator
from tests.devices.owner import Owner
from tests.devices.services import PROJECT

ENVIRONMENT = "dev"
PARTITION = f"{ENVIRONMENT}_{PROJECT}"
TYPES = (
    "ltm/virtual",
    "ltm/virtual-address",
    "ltm/pool",
    "ltm/node",
    "ltm/rule",
    "ltm/monitor/http",
    "ltm/monitor/https",
    "ltm/monitor/tcp",
    "ltm/monitor/gateway-icmp",
    "ltm/profile/http",
    "ltm/profile/tcp",
    "ltm/profile/fastl4",
    "ltm/profile/http2",
    "ltm/profile/http-compression",
    "ltm/profile/client-ssl",
    "ltm/profile/server-ssl",
    "ltm/persistence/cookie",
    "ltm/cipher/rule",
    "ltm/cipher/group",
    "sys/file/ssl-cert",
    "sys/file/ssl-key",
    "sys/file/ssl-crl",
    "ltm/data-group/internal",
)
VOLATILE = {"generation", "selfLink", "lastModifiedTime", "creationTime", "vsIndex"}
FOREIGN = "hand-made"


class Hands(Admin):
    """An administrator who changes and lists the objects of one device."""

    async def items(self, kind: str, partition: str = PARTITION) -> dict[str, dict[str, Any]]:
        """The objects of a type in a partition, by name, without what changes by itself."""
        answer = self.read(f"{kind}?expandSubcollections=true&$filter=partition+eq+{partition}")
        return {item["name"]: steady(item) for item in answer.get("items", ())}

    async def content(self, partition: str = PARTITION) -> dict[str, Any]:
        return {
            f"{kind} {name}": item
            for kind in TYPES
            for name, item in (await self.items(kind, partition)).items()
            if not name.startswith((GUARD_PREFIX, FOREIGN, "10.9.9.")) and FOREIGN not in str(item.get("description"))
        }


def steady(value: Any) -> Any:
    """What a device shows, without what changes by itself."""
    if isinstance(value, dict):
        # A list that was emptied and one that never was are the same.
        return {name: steady(inner) for name, inner in value.items() if name not in VOLATILE and inner != []}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    return value


class BigIpRig:
    """Emulated devices of one group."""

    def __init__(self, emulator: Emulator, ha_type: str) -> None:
        self.emulator = emulator
        self.ha_type = ha_type
        self.agents: list[Device] = []
        self.hands = Hands(emulator, next(iter(emulator.devices)))

    def options(self, **changes: str) -> dict[str, str]:
        return {
            "icontrol_hostname": ",".join(
                device.url.removeprefix("https://") for device in self.emulator.devices.values()
            ),
            "icontrol_username": "admin",
            "icontrol_password": "admin",
            "f5_ha_type": self.ha_type,
            "ca_file": str(self.emulator.ca_file),
            "save_interval": "0",
            "connect_timeout": "60",
            "request_timeout": "120",
            "commit_timeout": "120",
            **changes,
        }

    def agent(self, *, environment: str = ENVIRONMENT, group_number: int = 1, **changes: str) -> Device:
        host = f"host-{len(self.agents) + 1}"
        options = self.options(**changes)
        self.agents.append(open_group(options, environment=environment, group_number=group_number, host=host))
        return self.agents[-1]

    def owner(self, *, environment: str = ENVIRONMENT, group_number: int = 1, **changes: str) -> Owner:
        """An agent's driver, as the worker of a shard drives it."""
        return Owner(self.agent(environment=environment, group_number=group_number, **changes))

    def counts(self, device: str = "bigip-1") -> dict[str, int]:
        """Requests since the last call: reads (statistics included) and writes."""
        counted = self.emulator.request_counts[device]
        found = {"reads": counted["reads"] + counted["stats"], "writes": counted["writes"]}
        self.emulator.reset_counts()
        return found

    def commits(self, device: str = "bigip-1") -> list[dict[str, Any]]:
        """Committed transactions, oldest first."""
        entries = self.emulator.write_log.entries(after=0, device=device)
        return [entry for entry in entries if entry["event"] == "transaction_committed"]

    # -- what the contract asks for

    async def content(self) -> dict[str, Any]:
        return await self.hands.content()

    async def spoil(self) -> None:
        for path, changes in SPOILS.items():
            await self.hands.call("PATCH", path, changes)

    async def add_foreign(self) -> None:
        await self.hands.call("POST", "ltm/node", {"name": "10.9.9.9", "partition": PARTITION, "description": FOREIGN})
        await self.hands.call("POST", "ltm/pool", {"name": f"{FOREIGN}-pool", "partition": PARTITION})
        await self.hands.call(
            "POST", "ltm/virtual", {"name": FOREIGN, "partition": PARTITION, "destination": f"/{PARTITION}/10.9.9.8:80"}
        )

    async def foreign(self) -> dict[str, Any]:
        found = {}
        for kind in ("ltm/node", "ltm/pool", "ltm/virtual"):
            for name, item in (await self.hands.items(kind)).items():
                if FOREIGN in name or item.get("description") == FOREIGN:
                    found[name] = item
        return found

    async def close(self) -> None:
        for agent in self.agents:
            await agent.close()


@asynccontextmanager
async def bigip(*names: str, ha: str = "standalone", ha_type: str = "standalone") -> AsyncIterator[BigIpRig]:
    """A running group without a data plane."""
    async with Emulator(devices=list(names), users={"admin": "admin"}, ha=ha, data_plane=False) as emulator:
        rig = BigIpRig(emulator, ha_type)
        try:
            async with kept_connections(emulator):
                yield rig
        finally:
            emulator.faults.clear()
            await rig.close()


def at(kind: str, object_id: str) -> str:
    """The path of an object of ours."""
    return f"{kind}/~{PARTITION}~{ENVIRONMENT}_{object_id}"


# Every attribute that the driver sets and the device lets one change, changed.
SPOILS: dict[str, dict[str, Any]] = {
    at("ltm/virtual", "listener-1"): {
        "destination": f"/{PARTITION}/{ENVIRONMENT}_lb-1:8443",
        "mask": "255.255.255.0",
        "ipProtocol": "udp",
        "pool": "",
        "profiles": [{"name": "/Common/udp"}],
        "persist": [{"name": "source_addr", "partition": "Common", "tmDefault": "yes"}],
        "sourceAddressTranslation": {"type": "none"},
        "connectionLimit": 77,
        "disabled": True,
        "description": "changed by hand",
    },
    at("ltm/virtual-address", "lb-1"): {
        "mask": "255.255.255.0",
        "autoDelete": "true",
        "arp": "disabled",
        "enabled": "no",
        "description": "changed by hand",
    },
    at("ltm/pool", "pool-1"): {
        "loadBalancingMode": "least-connections-member",
        "minActiveMembers": 2,
        "monitor": "/Common/tcp",
        "description": "changed by hand",
        "members": [
            {
                "name": f"{ENVIRONMENT}_10.2.1.1:8080",
                "partition": "Common",
                "ratio": 9,
                "priorityGroup": 3,
                "session": "user-disabled",
                "state": "user-down",
                "description": "changed by hand",
            },
            {"name": "10.7.7.7:7777"},
        ],
    },
    at("ltm/monitor/http", "monitor-1"): {
        "interval": 60,
        "timeout": 181,
        "timeUntilUp": 7,
        "send": "GET /changed",
        "recv": "changed",
        "description": "changed by hand",
    },
}

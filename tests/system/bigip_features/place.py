"""One process of everything: the API, a controller, an agent, and a BIG-IP whose VIPs and members are on loopback."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from emulator_tests.test_strangers import SCRIPTS, SECONDS
from evenkeel.api.app import create_app
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.ports import Device
from evenkeel.core.resources.model import Subnet
from evenkeel.core.tls.certificates import CertificateKind, NewCertificate, Secret
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.key_managers.directory import DirectoryKeyManager
from evenkeel.key_managers.directory.encryption import Encryption
from evenkeel.network.builtin import BuiltinNetwork
from icontrol_emulator import Emulator
from tests.api.client import Client
from tests.devices.bigip.rig import BigIpRig
from tests.devices.tls_behaviour import BALANCER, REVOKED, REVOKED_MEMBER, ROOT, SHOP, WWW
from tests.key_managers.authority import INTERMEDIATE
from tests.services.process import loopback_network
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

PROJECT = "a"
PARTITION = f"{ENVIRONMENT}_{PROJECT}"
SUBNET_IDS = ("0d1f0d6e-7a55-4f0c-8a7f-3a1d5c0b0a01", "0d1f0d6e-7a55-4f0c-8a7f-3a1d5c0b0a02")
"""Of VIPs, and of additional ones."""
NETWORK_ID = "0d1f0d6e-7a55-4f0c-8a7f-3a1d5c0b0a03"
SERVICES = {"adds": {"lbaas_irule": ["adds_header"]}}
"""Enhanced services of the operator."""
CODE = 'when HTTP_REQUEST { HTTP::header insert "X-Added" "yes" }'
REVOCATIONS = ROOT.signed_list(*(one.certificate.serial_number for one in (REVOKED, REVOKED_MEMBER)))
CONTENTS: dict[str, dict[str, Any]] = {
    "www": {"content": Secret(WWW.pem), "private_key": Secret(WWW.key_pem()), "intermediates": INTERMEDIATE.pem},
    "shop": {"content": Secret(SHOP.pem), "private_key": Secret(SHOP.key_pem())},
    "balancer": {"content": Secret(BALANCER.pem), "private_key": Secret(BALANCER.key_pem())},
    "root": {"kind": CertificateKind.AUTHORITY, "content": Secret(ROOT.pem)},
    "revoked": {"kind": CertificateKind.REVOCATION_LIST, "content": Secret(REVOCATIONS)},
}
"""What references of listeners and pools name."""


class Readers:
    """Clients that nobody here wrote, in a process of their own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def seen(self, partition: str) -> dict[str, Any]:
        """What each of them makes of the objects of a partition."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{partition}\n".encode())
        await self._process.stdin.drain()
        async with asyncio.timeout(SECONDS):
            line = await self._process.stdout.readline()
        assert line, "the clients have ended: see their traceback"
        told: dict[str, Any] = json.loads(line)
        return told


@asynccontextmanager
async def readers(installed: tuple[Path, Path], port: int, ca_file: Path) -> AsyncIterator[Readers]:
    python, collections = installed
    # Ansible loads the host's authorities for each request, which takes longer than the request
    authorities = {"SSL_CERT_FILE": str(ca_file), "SSL_CERT_DIR": str(ca_file.parent / "none")}
    kept = {name: value for name, value in os.environ.items() if not name.endswith("CA_BUNDLE")}
    process = await asyncio.create_subprocess_exec(
        *(str(python), str(Path(__file__).with_name("reader.py")), str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=16 * 1024 * 1024,
        env={**kept, **authorities, "PYTHONPATH": f"{collections}{os.pathsep}{SCRIPTS}"},
    )
    try:
        yield Readers(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class FeatureWorld(World):
    """An agent of one BIG-IP that offers enhanced services."""

    device_driver = "bigip"
    rig: BigIpRig
    services: Path

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(
            environment=ENVIRONMENT, esd_dir=str(self.services), allow_loopback_addresses="true", connect_timeout="60"
        )


class Place:
    """Where features are tried."""

    def __init__(self, world: FeatureWorld, api: Client, readers: Readers, references: Mapping[str, str]) -> None:
        self._world = world
        self._api = api
        self._readers = readers
        self.references = references
        """Name of a certificate -> reference."""

    async def make(self, body: Mapping[str, Any]) -> "Made":
        """A load balancer, ACTIVE."""
        wanted = {"vip_subnet_id": SUBNET_IDS[0], "project_id": PROJECT, "provider": ENVIRONMENT, **body}
        answer = (await self._api.post("/loadbalancers", {"loadbalancer": wanted}))["loadbalancer"]
        load_balancer_id = answer["id"]

        async def settled() -> bool:
            shown = await self._shown(load_balancer_id)
            assert shown["provisioning_status"] != "ERROR", await self._reason(load_balancer_id)
            return bool(shown["provisioning_status"] == "ACTIVE")

        await eventually(settled)
        tree = await self._api.get(f"/loadbalancers/{load_balancer_id}/status")
        ids = {"lb": load_balancer_id, **_ids(tree["statuses"]["loadbalancer"])}
        return Made(ids, answer["vip_address"], [one["ip_address"] for one in answer.get("additional_vips", ())])

    async def _shown(self, load_balancer_id: str) -> dict[str, Any]:
        shown: dict[str, Any] = (await self._api.get(f"/loadbalancers/{load_balancer_id}"))["loadbalancer"]
        return shown

    async def _reason(self, load_balancer_id: str) -> str:
        return (await self._world.root(load_balancer_id)).status_reason

    async def seen(self) -> dict[str, Any]:
        """The tenant's partition, as strangers' clients see it."""
        return await self._readers.seen(PARTITION)

    async def statuses(self, made: "Made") -> dict[str, str]:
        """Name of each object -> its operating status, as the tenant sees it."""
        tree = await self._api.get(f"/loadbalancers/{made.ids['lb']}/status")
        return _statuses(tree["statuses"]["loadbalancer"])

    async def remove(self, made: "Made") -> None:
        """With all it has."""
        await self._api.delete(f"/loadbalancers/{made.ids['lb']}?cascade=true")

        async def gone() -> bool:
            found = await self._api.get(f"/loadbalancers?id={made.ids['lb']}")
            return not found["loadbalancers"]

        await eventually(gone)


class Made:
    """A load balancer that serves. ``ids``: by the names that its body gives."""

    def __init__(self, ids: Mapping[str, str], address: str, more: list[str]) -> None:
        self.ids = ids
        self.address = address
        self.more = more

    def name(self, template: str) -> str:
        """The name of an object on the device: ``cidrs_{web}`` of the listener ``web``."""
        return f"{ENVIRONMENT}_{template.format(**self.ids)}"


def _nodes(tree: Any) -> list[dict[str, Any]]:
    """Every object of a status tree."""
    if isinstance(tree, list):
        return [node for one in tree for node in _nodes(one)]
    if not isinstance(tree, dict):
        return []
    return [*([tree] if tree.get("id") else []), *(node for value in tree.values() for node in _nodes(value))]


def _ids(tree: Any) -> dict[str, str]:
    return {node["name"]: node["id"] for node in _nodes(tree) if node.get("name")}


def _statuses(tree: Any) -> dict[str, str]:
    return {node["name"]: node["operating_status"] for node in _nodes(tree) if node.get("name")}


def _subnet(subnet_id: str, first: str) -> Subnet:
    return Subnet(
        id=subnet_id,
        network_id=NETWORK_ID,
        cidr=f"{first}.0/24",
        allocation_start=f"{first}.10",
        allocation_end=f"{first}.250",
    )


async def _add_references(manager: DirectoryKeyManager) -> dict[str, str]:
    added = {}
    for name, fields in CONTENTS.items():
        new = NewCertificate(
            **{"project_id": ProjectId(PROJECT), "name": name, "kind": CertificateKind.CERTIFICATE, **fields}
        )
        added[name] = (await manager.add(new, replace=False)).reference
    return added


@asynccontextmanager
async def feature_place(folder: Path, installed: tuple[Path, Path]) -> AsyncIterator[Place]:
    """All parts run; monitors are ten times as fast as they say."""
    world = FeatureWorld(folder)
    world.services = folder / "esd"
    world.services.mkdir()
    (world.services / "esd.json").write_text(json.dumps(SERVICES))
    manager = DirectoryKeyManager(folder / "certificates", Encryption([os.urandom(32)]))
    world.key_manager = manager
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        world.rig = BigIpRig(emulator, "standalone")
        try:
            rule = {"name": "adds_header", "partition": "Common", "apiAnonymous": CODE}
            await world.rig.hands.call("POST", "ltm/rule", rule)
            await world.start(controllers=1, agents=1)
            for number, subnet_id in enumerate(SUBNET_IDS):
                await world.store.operators.add_subnet(_subnet(subnet_id, f"{loopback_network()}.{number}"))
            app = create_app(
                store=world.store,
                network=BuiltinNetwork(world.store.operators),
                driver=world.controllers["c0"].driver,
                default_provider=ENVIRONMENT,
                capabilities={"bigip": CAPABILITIES},
                addresses=AddressRules(allow_loopback=True),
                key_manager=manager,
            )
            references = await _add_references(manager)
            port = int(emulator.devices["bigip-1"].url.rpartition(":")[2])
            async with Client.of(app) as api, readers(installed, port, emulator.ca_file) as strangers:
                yield Place(world, api, strangers, references)
        finally:
            await world.close()
            await world.rig.close()
            manager.close()

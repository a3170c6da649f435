"""Certificates from the directory to a BIG-IP, by agents and controllers as they are."""

from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import Device
from evenkeel.core.tls.certificates import CertificateKind
from tests import canary
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.key_managers.authority import INTERMEDIATE, LEAF, Issued, ec_key
from tests.system.test_certificates import Certificates
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

CERTIFICATE = CertificateKind.CERTIFICATE
PARTITION = f"{ENVIRONMENT}_a"
FILES = ("sys/file/ssl-cert", "sys/file/ssl-key")


class BigIpWorld(World):
    """Agents that drive one BIG-IP."""

    device_driver = "bigip"
    rig: BigIpRig

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(environment=ENVIRONMENT)

    async def files(self) -> set[str]:
        return {name for kind in FILES for name in await self.rig.hands.items(kind, PARTITION)}

    async def holds(self, identities: Collection[str]) -> bool:
        """Certificate, key and intermediates of each of these contents, and nothing else?"""
        suffixes = (".crt", ".key", "-chain.crt")
        return await self.files() == {f"{ENVIRONMENT}_{sha256}{suffix}" for sha256 in identities for suffix in suffixes}


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[Certificates]:
    made = Certificates(tmp_path / "certificates")
    yield made
    made.directory.close()


@pytest.fixture
async def world(tmp_path: Path, manager: Certificates) -> AsyncIterator[BigIpWorld]:
    async with emulated("bigip-1") as emulator:
        made = BigIpWorld(tmp_path)
        made.key_manager = manager
        made.rig = BigIpRig(emulator, "standalone")
        yield made
        await made.close()
        await made.rig.close()


async def test_a_certificate_reaches_a_bigip_survives_a_takeover_and_is_renewed_without_touching_virtual_servers(
    world: BigIpWorld, manager: Certificates, capfd: pytest.CaptureFixture[str]
) -> None:
    await world.start()
    reference = await manager.add("a", "www")
    first = (await manager.directory.certificate(reference, ProjectId("a"))).sha256
    load_balancer_id = await world.create("a", reference)
    await eventually(lambda: world.active(load_balancer_id))
    assert await world.holds({first})  # settled: ACTIVE means that the devices hold it

    host = await world.acting(load_balancer_id)
    await world.kill(host)
    await eventually(lambda: is_served_by_another(world, load_balancer_id, host))
    await world.rename(load_balancer_id, "after a takeover")
    await eventually(lambda: world.active(load_balancer_id))
    assert await world.holds({first})  # settled: ACTIVE means that the devices hold it

    await manager.add("a", "www", Issued("www.example.org", INTERMEDIATE, ec_key()))
    second = (await manager.directory.certificate(reference, ProjectId("a"))).sha256
    virtuals = await world.rig.hands.items("ltm/virtual", PARTITION)
    await world.store.renewals.make_certificate_due(ProjectId("a"), reference, CERTIFICATE)
    await eventually(lambda: world.holds({second}))
    await eventually(lambda: world.active(load_balancer_id))
    assert await world.rig.hands.items("ltm/virtual", PARTITION) == virtuals  # settled: they may never change

    written = str(world.rig.emulator.write_log.entries()) + "".join(capfd.readouterr())
    assert canary.is_in(LEAF.key_pem()) and not canary.is_in(written.encode())
    assert world.rig.emulator.devices["bigip-1"].uploads.files == {}


async def is_served_by_another(world: World, load_balancer_id: str, host: str) -> bool:
    return await world.acting(load_balancer_id) not in ("", host)

"""F5's objects in /Common: profiles, certificates, keys, ciphers and data groups go with the last adopted listener."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from emulator_tests.client import Backend, Client, exchange, free_port
from emulator_tests.test_files import sent_from, upload
from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable, StaleOwner
from icontrol_emulator import Emulator, Fault
from tests.certificates import by_sha256, certificate, referring
from tests.devices.bigip.rig import BigIpRig
from tests.devices.owner import Owner
from tests.devices.services import batch, gone, member, pool, service, session_of
from tests.devices.tls_behaviour import RENEWED, SHOP, WWW, tls_listener
from tests.services.process import loopback_network
from tests.waiting import eventually

SHARED, OWN, ACL = (f"{at:08x}-1111-4000-8000-000000000000" for at in range(1, 4))
COMMON = (
    ("ltm/profile/client-ssl", f"dev_{SHARED}"),
    ("ltm/profile/client-ssl", f"dev_{OWN}"),
    ("sys/file/ssl-cert", f"dev_{SHARED}.crt"),
    ("sys/file/ssl-cert", f"dev_{OWN}.crt"),
    ("sys/file/ssl-key", f"dev_{SHARED}.key"),
    ("sys/file/ssl-key", f"dev_{OWN}.key"),
    ("ltm/cipher/group", "dev_{listener}"),
    ("ltm/cipher/rule", "dev_{listener}"),
    ("ltm/data-group/internal", f"acl_{ACL}"),
)
"""Types and names of what F5's agent has made in /Common for the first tenant."""
NAMED = {"www": certificate(WWW), "shop": certificate(SHOP), "renewed": certificate(RENEWED)}


class F5Tenant:
    """A tenant with one TLS listener of F5's agent."""

    def __init__(self, number: int, server: Backend) -> None:
        self.project = f"a3f1c{number}"
        self.partition = f"dev_{self.project}"
        self.listener = f"{number:08x}-2222-4000-8000-000000000000"
        self.address = f"{loopback_network()}.78.{number}"
        self.port = free_port(self.address)
        self.backend = f"127.0.0.{number}"
        """A device has no node of one address in two partitions."""
        self._server = server
        self._number = number

    @property
    def wanted(self) -> ServiceDefinition:
        members = (member(1, 1, address=self.backend, protocol_port=self._server.port),)
        front = tls_listener(id=self.listener, protocol_port=self.port, alpn_protocols=())
        made = service(self._number, listeners=(front,), pools=(pool(members=members, monitor=None),))
        found = replace(made, project_id=self.project, vip=replace(made.vip, address=self.address))
        return referring(found, NAMED)

    def batch(self, *services: ServiceDefinition, complete: bool = True) -> PartitionBatch:
        return replace(batch(*services, complete=complete, certificates=by_sha256(NAMED)), project_id=self.project)

    async def build(self, call: Any, profiles: list[str], rules: list[str]) -> None:
        place = {"partition": self.partition}
        await call("POST", "auth/partition", {"name": self.partition})
        address = {"name": f"dev_lb-{self._number}", "address": self.address, "autoDelete": "false"}
        await call("POST", "ltm/virtual-address", {**place, **address})
        members = [{**place, "name": f"{self.backend}:{self._server.port}"}]
        await call("POST", "ltm/pool", {**place, "name": "dev_pool-1", "members": members})
        code = f"when CLIENT_ACCEPTED {{ if {{ [class match [IP::client_addr] eq acl_{ACL}] }} {{ drop }} }}"
        for name in rules:
            await call("POST", "ltm/rule", {**place, "name": name, "apiAnonymous": code})
        virtual = {
            "name": f"dev_{self.listener}",
            "destination": f"/{self.partition}/dev_lb-{self._number}:{self.port}",
            "mask": "255.255.255.255",
            "ipProtocol": "tcp",
            "pool": f"/{self.partition}/dev_pool-1",
            "profiles": [
                *({"name": name, "partition": "Common"} for name in ("http", "oneconnect", "tcp")),
                *({"name": name, "partition": "Common", "context": "clientside"} for name in profiles),
            ],
            "rules": [f"/{self.partition}/{name}" for name in rules],
            "sourceAddressTranslation": {"type": "automap"},
        }
        await call("POST", "ltm/virtual", {**place, **virtual})


class TlsScene:
    """One device with two tenants of F5's agent that share a certificate, and clients of the first one."""

    def __init__(self, rig: BigIpRig, first: F5Tenant, second: F5Tenant) -> None:
        self.rig = rig
        self.first = first
        self.second = second
        self.failed = 0
        self.answered = 0
        self._trusting = ssl.create_default_context()
        self._trusting.check_hostname, self._trusting.verify_mode = False, ssl.CERT_NONE

    async def build(self) -> None:
        call = self.rig.hands.call
        device = Client(self.rig.emulator.devices["bigip-1"].url, self.rig.emulator.ca_file)
        for name, issued in ((f"dev_{SHARED}", WWW), (f"dev_{OWN}", SHOP), ("operators", RENEWED)):
            for kind, suffix, data in (("cert", "crt", issued.pem), ("key", "key", issued.key_pem())):
                await upload(device, f"{name}.{suffix}", data)
                source = {"name": f"{name}.{suffix}", "sourcePath": sent_from(f"{name}.{suffix}")}
                await device.post(f"sys/file/ssl-{kind}", source)
        await device.close()
        ciphers = f"dev_{self.first.listener}"
        await call("POST", "ltm/cipher/rule", {"name": ciphers, "cipher": "ECDHE"})
        await call("POST", "ltm/cipher/group", {"name": ciphers, "allow": [{"name": ciphers, "partition": "Common"}]})
        await self._make_profile("operators", sniDefault="false")
        await self._make_profile(f"dev_{SHARED}", sniDefault="true")
        await self._make_profile(f"dev_{OWN}", ciphers="none", cipherGroup=f"/Common/{ciphers}")
        await call("POST", "ltm/data-group/internal", {"name": f"acl_{ACL}", "type": "ip", "records": ["10.9.9.9/32"]})
        rule = f"acl_irule_{self.first.listener}"
        await self.first.build(call, [f"dev_{SHARED}", f"dev_{OWN}"], [rule])
        await self.second.build(call, [f"dev_{SHARED}"], [])

    async def _make_profile(self, name: str, **more: Any) -> None:
        chain = [{"name": name, "cert": f"/Common/{name}.crt", "key": f"/Common/{name}.key"}]
        await self.rig.hands.call("POST", "ltm/profile/client-ssl", {"name": name, "certKeyChain": chain, **more})

    def owner(self) -> Owner:
        return self.rig.owner(allow_loopback_addresses="true")

    async def left(self) -> list[tuple[str, str]]:
        """What is left in /Common of F5's objects there."""
        names = [(kind, name.format(listener=self.first.listener)) for kind, name in COMMON]
        there = {kind: await self.rig.hands.items(kind, "Common") for kind, _ in names}
        return [(kind, name) for kind, name in names if name in there[kind]]

    async def record(self, tenant: F5Tenant) -> bool:
        return "evenkeel_replaced" in await self.rig.hands.items("ltm/data-group/internal", tenant.partition)

    async def browse(self) -> None:
        """HTTPS requests of the first tenant's clients, one after the other, until cancelled."""
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_connection(
                    self.first.address, self.first.port, ssl=self._trusting, server_hostname="www.example.org"
                )
                head, _ = await exchange(reader, writer)
                self.failed += " 200 " not in f"{head} "
            except (OSError, EOFError, ValueError):
                self.failed += 1
            finally:
                if writer is not None:
                    writer.close()
            self.answered += 1


@pytest.fixture
async def scene() -> AsyncIterator[TlsScene]:
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        server = Backend("a")
        await server.start()
        rig = BigIpRig(emulator, "standalone")
        found = TlsScene(rig, F5Tenant(1, server), F5Tenant(2, server))
        await found.build()
        yield found
        emulator.faults.clear()
        await rig.close()
        await server.stop()


SHARED_ONES = [("ltm/profile/client-ssl", f"dev_{SHARED}"), ("sys/file/ssl-cert", f"dev_{SHARED}.crt")]
SHARED_ONES += [("sys/file/ssl-key", f"dev_{SHARED}.key")]


async def test_tls_objects_in_common_go_with_the_last_tenant_that_used_them_under_traffic(scene: TlsScene) -> None:
    agent, first, second = scene.owner(), scene.first, scene.second
    everything = await scene.left()
    assert len(everything) == len(COMMON)
    (plan,) = await agent.plan(first.batch(first.wanted))
    planned = [
        (step.type, step.name.removeprefix("/Common/")) for step in plan.operations if step.name.startswith("/Common/")
    ]
    assert sorted(planned) == sorted(set(everything) - set(SHARED_ONES))

    clients = [asyncio.create_task(scene.browse()) for _ in range(3)]
    await eventually(lambda: scene.answered >= 10)
    await agent.adopt(first.project)
    outcome = await agent.apply(first.batch(first.wanted))
    answered = scene.answered
    await eventually(lambda: scene.answered >= answered + 10)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    assert not outcome.outcomes[0].error and scene.failed == 0
    assert await scene.left() == SHARED_ONES  # the second tenant uses them

    await agent.adopt(second.project)
    assert not (await agent.apply(second.batch(second.wanted))).outcomes[0].error
    assert await scene.left() == []
    assert not await scene.record(second)
    assert "operators" in await scene.rig.hands.items("ltm/profile/client-ssl", "Common")
    # the first tenant's record goes with its next complete pass
    await agent.apply(first.batch(first.wanted))
    assert not await scene.record(first)
    assert (await agent.apply(first.batch(first.wanted))).writes == 0
    assert not (await agent.plan(first.batch(first.wanted)))[0].operations


async def test_objects_in_common_that_an_operators_virtual_server_uses_stay(scene: TlsScene) -> None:
    agent, first = scene.owner(), scene.first
    profiles = [{"name": name, "partition": "Common"} for name in ("http", "tcp")]
    theirs = {"name": f"dev_{OWN}", "partition": "Common", "context": "clientside"}
    body = {"name": "by-hand", "destination": "10.9.9.9:443", "ipProtocol": "tcp", "profiles": [*profiles, theirs]}
    await scene.rig.hands.call("POST", "ltm/virtual", body)
    await agent.adopt(first.project)
    assert not (await agent.apply(first.batch(first.wanted))).outcomes[0].error
    # the data group alone has no user: the profile has the cipher group
    gone = [("ltm/data-group/internal", f"acl_{ACL}")]
    assert await scene.left() == [
        (kind, name.format(listener=first.listener)) for kind, name in COMMON if (kind, name) not in gone
    ]


async def test_unused_objects_in_common_are_removed_by_the_next_owner_after_a_failure_between(
    scene: TlsScene,
) -> None:
    agent, first = scene.owner(), scene.first
    await agent.adopt(first.project)
    scene.rig.emulator.faults.add(Fault(kind="refuse_transaction", method="PATCH", path="/transaction/", skip=2))
    await agent.apply(first.batch(first.wanted))
    scene.rig.emulator.faults.clear()
    assert set(await scene.left()) >= set(SHARED_ONES) | {("ltm/profile/client-ssl", f"dev_{OWN}")}
    successor = scene.owner()
    await successor.apply(replace(first.batch(first.wanted), epoch=2, session_id=session_of(2)))
    assert await scene.left() == SHARED_ONES


async def test_stale_owner_removes_nothing_from_common(scene: TlsScene) -> None:
    former, first = scene.owner(), scene.first
    await former.adopt(first.project)
    await scene.owner().take_over(first.project, 2, session_of(2))
    everything = await scene.left()
    with pytest.raises(StaleOwner):
        await former.apply(first.batch(first.wanted))
    assert await scene.left() == everything


async def test_record_goes_with_the_partition_of_a_tenant_whose_objects_others_use(scene: TlsScene) -> None:
    agent, second = scene.owner(), scene.second
    await agent.adopt(second.project)
    await agent.apply(second.batch(second.wanted))
    assert await scene.record(second)
    deleted = replace(gone(2), project_id=second.project)
    assert not (await agent.apply(second.batch(deleted, complete=False))).outcomes[0].error
    await agent.apply(second.batch())
    assert not (await agent.retire(second.project, 1, session_of(1))).left
    partitions = (await scene.rig.hands.call("GET", "auth/partition"))["items"]
    assert second.partition not in {item["name"] for item in partitions}
    assert set(await scene.left()) >= set(SHARED_ONES)


async def test_adoption_is_refused_if_the_record_cannot_be_written(scene: TlsScene) -> None:
    agent, first = scene.owner(), scene.first
    scene.rig.emulator.faults.add(Fault(kind="refuse", method="POST", path="ltm/data-group/internal"))
    with pytest.raises(DeviceUnavailable):
        await agent.adopt(first.project)
    assert "description" not in await scene.rig.hands.call("GET", f"auth/partition/{first.partition}")

"""Enhanced services on an emulated device: what is checked, what virtual servers get, what clients see."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.devices.device import PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.resources.model import Vip
from icontrol_emulator import Emulator
from tests.devices.access_log_behaviour import AccessLogBehaviour
from tests.devices.bigip.rig import BigIpRig, at
from tests.devices.bigip.traffic import TrafficSite
from tests.devices.enhanced_behaviour import EnhancedServiceBehaviour
from tests.devices.hostile_text_behaviour import HostileTextBehaviour
from tests.devices.services import batch, listener, member, pool, service
from tests.devices.tls_behaviour import Member
from tests.services.process import loopback_network

ADDS_A_HEADER = 'when HTTP_REQUEST {\n    HTTP::header insert "X-Added" "by the operator"\n}'
SECRET = "a secret of the operator, of 32 characters and more"
VIRTUAL = at("ltm/virtual", "listener-1")


def write(directory: Path, **definitions: Any) -> None:
    (directory / "esd.json").write_text(json.dumps(definitions))


def using(*names: str, revision: int = 1, **changes: Any) -> ServiceDefinition:
    listeners = (listener(enhanced_services=names),)
    return service(members=1, revision=revision, **{"listeners": listeners, **changes})


def error_of(outcome: PartitionOutcome) -> str:
    (one,) = outcome.outcomes
    return one.error


async def add_operators_objects(rig: BigIpRig) -> None:
    for device in rig.emulator.devices:
        hands = type(rig.hands)(rig.emulator, device)
        for name in ("adds_header", "other"):
            await hands.call("POST", "ltm/rule", {"name": name, "partition": "Common", "apiAnonymous": ADDS_A_HEADER})
        published = {"name": "operators", "partition": "Common", "legacy": True, "strategy": "first-match"}
        await hands.call("POST", "ltm/policy", published)
        await hands.call("POST", "ltm/profile/tcp", {"name": "tcp-of-operator", "defaultsFrom": "/Common/tcp"})


ALL_CAPABILITIES = {
    "lbaas_ctcp": "tcp-of-operator",
    "lbaas_stcp": "tcp-lan-optimized",
    "lbaas_cssl_profile": "clientssl",
    "lbaas_sssl_profile": "serverssl",
    "lbaas_http_profile": "http-transparent",
    "lbaas_oneconnect_profile": "oneconnect",
    "lbaas_http_compression": "httpcompression",
    "lbaas_irule": ["adds_header"],
    "lbaas_policy": ["operators"],
    "lbaas_persist": "cookie",
    "lbaas_fallback_persist": "source_addr",
}


async def test_every_tag_comes_and_goes(rig: BigIpRig, tmp_path: Path) -> None:
    await add_operators_objects(rig)
    write(tmp_path, web=ALL_CAPABILITIES)
    owner = rig.owner(esd_dir=str(tmp_path))
    assert not error_of(await owner.apply(batch(using())))
    plain = await rig.content()
    assert not error_of(await owner.apply(batch(using("web", revision=2))))
    seen = await rig.hands.call("GET", f"{VIRTUAL}?expandSubcollections=true")
    profiles = {one["name"]: one["context"] for one in seen["profilesReference"]["items"]}
    assert profiles == {
        "tcp-of-operator": "clientside",
        "tcp-lan-optimized": "serverside",
        "clientssl": "clientside",
        "serverssl": "serverside",
        "http-transparent": "all",
        "oneconnect": "all",
        "httpcompression": "all",
    }
    assert seen["rules"] == ["/Common/adds_header"]
    assert [one["name"] for one in seen["policiesReference"]["items"]] == ["operators"]
    assert [one["name"] for one in seen["persist"]] == ["cookie"]
    assert seen["fallbackPersistence"] == "/Common/source_addr"
    again = await owner.apply(batch(using("web", revision=2), complete=True))
    assert (error_of(again), again.writes) == ("", 0)
    assert not error_of(await owner.apply(batch(using(revision=3))))
    assert await rig.content() == plain


async def test_objects_must_be_on_each_device(pair: BigIpRig, tmp_path: Path) -> None:
    await add_operators_objects(pair)
    rule = {"name": "one_only", "partition": "Common", "apiAnonymous": ADDS_A_HEADER}
    await pair.hands.call("POST", "ltm/rule", rule)
    write(
        tmp_path,
        good={"lbaas_irule": ["adds_header"], "lbaas_ctcp": "tcp-of-operator"},
        uneven={"lbaas_irule": ["one_only"]},
        wrong_type={"lbaas_ctcp": "udp"},
        tenants={"lbaas_irule": ["absent"]},
    )
    agent = pair.agent(esd_dir=str(tmp_path))
    found = await agent.enhanced_services()
    assert found is not None
    problems = {one.name: one.problem for one in found.services}
    second = pair.emulator.devices["bigip-2"].url.removeprefix("https://")
    assert problems["good"] == ""
    assert problems["uneven"] == (
        f"esd.json: enhanced service 'uneven': lbaas_irule: '/Common/one_only': device {second} has no ltm/rule of "
        "that name; an object that is on every device is allowed"
    )
    assert "lbaas_ctcp: '/Common/udp': device" in problems["wrong_type"]
    assert "/Common/absent" in problems["tenants"]


async def test_a_change_of_the_file_is_applied_to_its_users_only(rig: BigIpRig, tmp_path: Path) -> None:
    await add_operators_objects(rig)
    write(tmp_path, web={"lbaas_irule": ["adds_header"]})
    owner = rig.owner(esd_dir=str(tmp_path))
    other = service(2, members=1)
    await owner.apply(batch(using("web"), other))
    await owner.enhanced_services()
    write(tmp_path, web={"lbaas_irule": ["other", "adds_header"]})
    found = await owner.enhanced_services()
    assert list(found.due.values()) == [("lb-1",)]
    outcome = await owner.apply(batch(using("web")))
    assert (error_of(outcome), outcome.writes, outcome.repaired) == ("", 1, ())
    assert (await rig.hands.call("GET", VIRTUAL))["rules"] == ["/Common/other", "/Common/adds_header"]


async def test_a_change_that_one_user_cannot_have_reaches_all_others(rig: BigIpRig, tmp_path: Path) -> None:
    write(tmp_path, web={"deny": ["192.0.2.0/24"]})
    owner = rig.owner(esd_dir=str(tmp_path))

    def user(number: int, **changes: Any) -> ServiceDefinition:
        return service(number, members=1, listeners=(listener(number, enhanced_services=("web",), **changes),))

    users = user(1), user(2, protocol="TCP"), user(3)
    await owner.apply(batch(*users))
    await owner.enhanced_services()
    write(tmp_path, web={"deny": ["192.0.2.0/24"], "https_redirect": {}})
    found = await owner.enhanced_services()
    assert list(found.due.values()) == [("lb-1", "lb-2", "lb-3")]
    outcome = await owner.apply(batch(*users))
    errors = {one.load_balancer_id: one.error for one in outcome.outcomes}
    assert (errors["lb-1"], errors["lb-3"]) == ("", "")
    assert errors["lb-2"].endswith("https_redirect: listener listener-2 has protocol TCP; HTTP is needed")


async def test_a_removed_service_leaves_the_load_balancer_as_it_is(rig: BigIpRig, tmp_path: Path) -> None:
    await add_operators_objects(rig)
    write(tmp_path, web={"lbaas_irule": ["adds_header"]})
    owner = rig.owner(esd_dir=str(tmp_path))
    await owner.apply(batch(using("web")))
    before = await rig.content()
    write(tmp_path)
    await owner.enhanced_services()
    for complete in (False, True):
        outcome = await owner.apply(batch(using("web", revision=2), complete=complete))
        assert error_of(outcome) == f"enhanced service 'web' is in no file of {tmp_path}"
        assert await rig.content() == before
    assert not error_of(await owner.apply(batch(using(revision=3))))
    assert "rules" not in await rig.hands.call("GET", VIRTUAL)


async def test_drift_of_what_an_enhanced_service_set_is_repaired(rig: BigIpRig, tmp_path: Path) -> None:
    await add_operators_objects(rig)
    web = {"lbaas_policy": ["operators"], "lbaas_persist": "cookie", "lbaas_fallback_persist": "dest_addr"}
    write(tmp_path, web=web)
    owner = rig.owner(esd_dir=str(tmp_path))
    await owner.apply(batch(using("web")))
    before = await rig.content()
    await rig.hands.call("PATCH", VIRTUAL, {"policies": [], "fallbackPersistence": "none"})
    outcome = await owner.apply(batch(using("web"), complete=True))
    assert not error_of(outcome)
    assert await rig.content() == before


# -- traffic


@pytest.fixture
async def busy() -> AsyncIterator[BigIpRig]:
    """A device with a data plane."""
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        rig = BigIpRig(emulator, "standalone")
        yield rig
        await rig.close()


async def test_members_get_the_header_of_the_operators_irule(busy: BigIpRig, tmp_path: Path) -> None:

    await add_operators_objects(busy)
    write(tmp_path, web={"lbaas_irule": ["adds_header"]})
    owner = busy.owner(esd_dir=str(tmp_path), allow_loopback_addresses="true")
    server = Member("one")
    await server.start()
    address = f"{loopback_network()}.77.9"
    one = using(
        "web",
        vip=Vip(address=address, subnet_id="s", network_id="n", port_id="p"),
        listeners=(listener(enhanced_services=("web",), protocol_port=8080),),
        pools=(pool(members=(member(address="127.0.0.1", protocol_port=server.port),), monitor=None),),
    )
    try:
        assert not error_of(await owner.apply(batch(one)))
        reader, writer = await asyncio.open_connection(address, 8080)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
        writer.close()
        assert "X-Added: by the operator" in server.heard[-1]
    finally:
        await server.stop()


class EnhancedTrafficSite(TrafficSite):
    """One device whose agent reads definitions from a directory."""

    def __init__(self, rig: BigIpRig, esd_dir: Path) -> None:
        super().__init__(rig, esd_dir=str(esd_dir), access_log_networks="127.0.0.0/8", cookie_password=SECRET)
        self.esd_dir = esd_dir

    async def refresh(self) -> Mapping[str, str]:
        found = await self._owner.enhanced_services()
        return {one.name: one.problem for one in found.services}


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[EnhancedTrafficSite]:
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        rig = BigIpRig(emulator, "standalone")
        try:
            yield EnhancedTrafficSite(rig, tmp_path)
        finally:
            await rig.close()


class TestBigIpParts(EnhancedServiceBehaviour):
    """The parts that a BIG-IP has."""


class TestBigIpHostileTexts(HostileTextBehaviour):
    """Texts in records of data groups."""


class TestBigIpAccessLogs(AccessLogBehaviour):
    """Access logs by an iRule."""

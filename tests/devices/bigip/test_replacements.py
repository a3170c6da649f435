"""Objects that cannot be changed in place are replaced while others refer to them, on a device that refuses to delete
what a transaction detaches.
"""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from emulator_tests.client import Backend, Client, fetch, free_port
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.devices.bigip.reconcile.alternative_names import ALTERNATIVE_NAME_SUFFIX
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig
from tests.devices.bigip.test_detaching import refused
from tests.devices.bigip.traffic import traffic_site
from tests.devices.services import (
    PROJECT,
    batch,
    gone,
    listener,
    member,
    monitor,
    policy,
    pool,
    rule,
    service,
    session_of,
)
from tests.waiting import eventually

MONITOR, PROFILE, POLICY = "ltm/monitor/http", "ltm/profile/tcp", "ltm/policy"
APP_COOKIE = service(pools=(pool(session_persistence=SessionPersistence(type="APP_COOKIE", cookie_name="c")),))
WANTED: dict[str, ServiceDefinition] = {
    MONITOR: service(),
    PROFILE: service(listeners=(listener(timeout_client_data=7000),)),
    "ltm/profile/server-ssl": service(pools=(pool(tls_enabled=True),)),
    "ltm/persistence/cookie": service(
        pools=(pool(session_persistence=SessionPersistence(type="HTTP_COOKIE", cookie_name="c")),)
    ),
    "ltm/persistence/universal": APP_COOKIE,
    "ltm/persistence/source-addr": service(pools=(pool(lb_algorithm="SOURCE_IP"),)),
    "ltm/data-group/internal": APP_COOKIE,
    POLICY: service(
        listeners=(
            listener(
                l7policies=(policy(1, rule(), action="REDIRECT_TO_URL", redirect_url="http://a.example.com/"),),
            ),
        )
    ),
}
"""A load balancer with an object of each type."""


class Hands:
    """An operator who makes our objects anew with another parent, under our name and with our mark."""

    def __init__(self, rig: BigIpRig) -> None:
        self._rig = rig
        self._made = 0
        self.device = rig.emulator.devices["bigip-1"]

    async def name_of(self, kind: str) -> str:
        names = [name for name in await self._rig.hands.items(kind) if not name.startswith(("hand-made", "evenkeel"))]
        assert len(names) == 1, names
        return names[0]

    async def spoil(self, kind: str) -> str:
        """Returns the name of the object."""
        name = await self.name_of(kind)
        seen = (await self._rig.hands.items(kind))[name]
        if kind == POLICY:
            await self._publish(name, seen["description"])
            return name
        body = {"name": name, "partition": PARTITION, "description": seen["description"], **await self._other(kind)}
        await self.replace(kind, name, body)
        return name

    async def _other(self, kind: str) -> dict[str, Any]:
        if kind == "ltm/data-group/internal":
            return {"type": "ip"}
        self._made += 1
        parent = {"name": f"hand-made-{self._made}", "partition": PARTITION}
        if kind == "ltm/persistence/universal":
            code = {"name": parent["name"], "partition": PARTITION, "apiAnonymous": "when HTTP_REQUEST { }"}
            await self._rig.hands.call("POST", "ltm/rule", code)
            parent["rule"] = f"/{PARTITION}/{parent['name']}"
        await self._rig.hands.call("POST", kind, parent)
        return {"defaultsFrom": f"/{PARTITION}/{parent['name']}"}

    async def _publish(self, name: str, description: str) -> None:
        """Make a policy that has a draft, as the device's own pages do."""
        call = self._rig.hands.call
        (virtual,) = await self._rig.hands.items("ltm/virtual")
        await call("PATCH", f"ltm/virtual/~{PARTITION}~{virtual}", {"policies": []})
        await call("DELETE", f"ltm/policy/~{PARTITION}~{name}")
        draft = {"name": name, "partition": PARTITION, "subPath": "Drafts", "strategy": "first-match"}
        await call("POST", "ltm/policy", {**draft, "description": description})
        await call("POST", "ltm/policy", {"command": "publish", "name": f"/{PARTITION}/Drafts/{name}"})
        body = {"policies": [{"name": f"/{PARTITION}/{name}"}]}
        await call("PATCH", f"ltm/virtual/~{PARTITION}~{virtual}", body)

    async def replace(self, kind: str, name: str, body: dict[str, Any]) -> None:
        engine, client = self.device.engine, Client(self.device.url, self._rig.emulator.ca_file)
        try:
            number = await client.open_transaction()
            gone = await client.send("DELETE", f"{kind}/~{PARTITION}~{name}", transaction=number)
            assert gone.status == 200, gone
            await client.post(kind, body, transaction=number)
            engine.deletes_detached = True  # however the operator did it
            answer = await client.commit(number)
            engine.deletes_detached = False
            assert answer.status == 200, answer
        finally:
            await client.close()


async def names_of(rig: BigIpRig, kind: str) -> set[str]:
    return {name for name in await rig.hands.items(kind) if not name.startswith(("hand-made", "evenkeel"))}


async def users_of(rig: BigIpRig, name: str) -> list[str]:
    """Objects whose attributes name the object."""
    path = f"/{PARTITION}/{name}"
    found = []
    for kind in ("ltm/pool", "ltm/virtual", "ltm/rule", "ltm/monitor/https", "ltm/monitor/http"):
        for each, item in (await rig.hands.items(kind)).items():
            words = str({key: value for key, value in item.items() if key not in ("name", "fullPath")})
            exact = [word for word in words.replace("'", " ").replace('"', " ").split() if word in (path, name)]
            found += [each] if exact else []
    return found


@pytest.mark.parametrize("kind", WANTED)
async def test_an_object_that_cannot_be_changed_in_place_is_replaced_beside(rig: BigIpRig, kind: str) -> None:
    hands, wanted = Hands(rig), WANTED[kind]
    agent = rig.owner()
    await agent.apply(batch(wanted, complete=True))
    before = await users_of(rig, await hands.name_of(kind))
    assert before
    first = await hands.spoil(kind)
    successor = rig.owner()
    await successor.take_over(PROJECT, 2, session_of(2))
    assert not refused(await successor.apply(batch(wanted, epoch=2, complete=True)))
    second = f"{first}{ALTERNATIVE_NAME_SUFFIX}"
    assert await names_of(rig, kind) == {second}
    assert await users_of(rig, second) == before
    assert (await successor.apply(batch(wanted, epoch=2, complete=True))).writes == 0
    await hands.spoil(kind)
    assert not refused(await successor.apply(batch(wanted, epoch=2, complete=True)))
    assert await names_of(rig, kind) == {first}
    assert await users_of(rig, first) == before
    await successor.apply(batch(gone(), epoch=2, complete=True))
    assert not await names_of(rig, kind)


async def test_a_replacement_that_was_interrupted_is_ended_by_the_next_owner(rig: BigIpRig) -> None:
    hands, agent = Hands(rig), rig.owner(retry_time="0.1")
    await agent.apply(batch(service(), complete=True))
    first = await hands.spoil(MONITOR)
    rig.emulator.faults.add(Fault(kind="refuse", method="DELETE", path="monitor"))
    with pytest.raises(DeviceUnavailable):
        await agent.apply(batch(service(), complete=True))
    assert await names_of(rig, MONITOR) == {first, f"{first}{ALTERNATIVE_NAME_SUFFIX}"}
    rig.emulator.faults.clear()
    successor = rig.owner()
    await successor.take_over(PROJECT, 2, session_of(2))
    assert not refused(await successor.apply(batch(service(), epoch=2, complete=True)))
    assert await names_of(rig, MONITOR) == {f"{first}{ALTERNATIVE_NAME_SUFFIX}"}


async def test_an_operators_monitor_of_another_type_under_our_name_stays(rig: BigIpRig) -> None:
    (name,) = {"dev_monitor-1"}
    await rig.owner().apply(batch())
    await rig.hands.call("POST", "ltm/monitor/tcp", {"name": name, "partition": PARTITION})
    assert not refused(await rig.owner().apply(batch(service(), complete=True)))
    assert await names_of(rig, MONITOR) == {f"{name}{ALTERNATIVE_NAME_SUFFIX}"}
    assert await names_of(rig, "ltm/monitor/tcp") == {name}


@pytest.mark.real_time
@pytest.mark.parametrize("kind", [MONITOR, PROFILE])
async def test_traffic_goes_on_while_an_object_is_replaced(kind: str) -> None:
    server, port = Backend("a"), free_port()
    await server.start()
    async with traffic_site() as site:
        target = member(1, 1, address="127.0.0.1", protocol_port=server.port)
        wanted = service(
            listeners=(listener(protocol_port=port, timeout_client_data=7000),),
            pools=(pool(members=(target,), monitor=monitor(delay=1, timeout=1)),),
        )
        assert not refused(await site.apply(wanted))
        place = site.place(wanted.vip.address, port) if wanted.vip else ("", 0)
        answered: list[bool] = []

        async def browse() -> None:
            while True:
                head, name = await fetch(*place)
                answered.append(" 200 " in f"{head} " and name == "a")

        browsing = asyncio.create_task(browse())
        await eventually(lambda: len(answered) > 20)
        await Hands(site.rig).spoil(kind)
        marked = len(answered)
        assert not refused(await site.apply(replace(wanted, revision=2)))
        await eventually(lambda: len(answered) > marked + 50)
        browsing.cancel()
        assert all(answered)
    await server.stop()

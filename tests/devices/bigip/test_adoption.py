"""Partitions that F5's agent made: refused until an operator has them adopted, then changed in place under traffic."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from emulator_tests.client import Backend, fetch, free_port
from evenkeel.core.devices.adoption import ListenerIrules, services_with_irules
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceRejected, DeviceUnavailable
from icontrol_emulator import Emulator, Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, listener, member, pool, service, session_of
from tests.services.process import loopback_network
from tests.waiting import eventually

SEVEN_LAYERS = [{"name": name, "partition": "Common"} for name in ("http", "oneconnect", "tcp")]


def vip() -> str:
    """The load balancer's address."""
    return f"{loopback_network()}.77.9"


class AdoptionScene:
    """A device with a tenant's partition as F5's agent leaves it in global routed mode, and its clients."""

    def __init__(self, rig: BigIpRig, servers: list[Backend], port: int) -> None:
        self.rig = rig
        self.servers = servers
        self.port = port
        self.failed = 0
        self.answered = 0

    @property
    def wanted(self) -> ServiceDefinition:
        members = tuple(
            member(1, place, address="127.0.0.1", protocol_port=server.port)
            for place, server in enumerate(self.servers, 1)
        )
        made = service(
            listeners=(listener(protocol_port=self.port),),
            pools=(pool(members=members, lb_algorithm="LEAST_CONNECTIONS", monitor=None),),
        )
        return replace(made, vip=replace(made.vip, address=vip()))

    def owner(self) -> Owner:
        return self.rig.owner(allow_loopback_addresses="true")

    async def build(self) -> None:
        """Objects with the names, the descriptions and the settings of F5's agent."""
        call = self.rig.hands.call
        place = {"partition": PARTITION}
        await call("POST", "auth/partition", {"name": PARTITION})
        address = {"name": "dev_lb-1", "address": vip(), "autoDelete": "false", "description": "web: a site"}
        await call("POST", "ltm/virtual-address", {**place, **address})
        members = [{**place, "name": f"127.0.0.1:{server.port}", "ratio": 1} for server in self.servers]
        body = {"name": "dev_pool-1", "loadBalancingMode": "round-robin", "description": "p: ", "members": members}
        await call("POST", "ltm/pool", {**place, **body})
        await call(
            "POST", "ltm/rule", {**place, "name": "app_cookie_dev_gone", "apiAnonymous": "when CLIENT_ACCEPTED { }"}
        )
        virtual = {
            "name": "dev_listener-1",
            "destination": f"/{PARTITION}/dev_lb-1:{self.port}",
            "mask": "255.255.255.255",
            "ipProtocol": "tcp",
            "pool": f"/{PARTITION}/dev_pool-1",
            "profiles": SEVEN_LAYERS,
            "sourceAddressTranslation": {"type": "automap"},
            "description": "l: ",
        }
        await call("POST", "ltm/virtual", {**place, **virtual})

    async def browse(self) -> None:
        """Requests, one after the other, until cancelled."""
        while True:
            try:
                head, name = await fetch(vip(), self.port)
                self.failed += name not in ("a", "b") or " 200 " not in f"{head} "
            except (OSError, EOFError, ValueError):
                self.failed += 1
            self.answered += 1


@pytest.fixture
async def scene() -> AsyncIterator[AdoptionScene]:
    async with Emulator(["bigip-1"], users={"admin": "admin"}, monitor_scale=0.1) as emulator:
        servers = [Backend(name) for name in ("a", "b")]
        for server in servers:
            await server.start()
        rig = BigIpRig(emulator, "standalone")
        found = AdoptionScene(rig, servers, free_port())
        await found.build()
        yield found
        await rig.close()
        for server in servers:
            await server.stop()


async def named(scene: AdoptionScene, kind: str) -> dict[str, Any]:
    return await scene.rig.hands.items(kind)


async def members_of_pools(scene: AdoptionScene) -> dict[str, set[str]]:
    pools = await named(scene, "ltm/pool")
    return {name: {each["fullPath"] for each in pool["membersReference"]["items"]} for name, pool in pools.items()}


async def test_foreign_partition_is_refused_before_and_changed_in_place_after_its_adoption(
    scene: AdoptionScene,
) -> None:
    agent, complete = scene.owner(), batch(scene.wanted, complete=True)
    before = {kind: await named(scene, kind) for kind in ("ltm/virtual", "ltm/pool", "ltm/virtual-address")}
    for _ in range(2):
        with pytest.raises(DeviceRejected, match="'evenkeel adopt'"):
            await agent.apply(complete)
    (plan,) = await agent.plan(complete)
    assert {(step.verb, step.type) for step in plan.operations if step.name.endswith("dev_pool-1")} == {
        ("modify", "ltm/pool")
    }
    moved = [step for step in plan.operations if step.verb == "delete"]
    assert [(step.type, step.name.rpartition("/")[2].partition(":")[0]) for step in moved] == [
        ("ltm/pool/members", "127.0.0.1"),
        ("ltm/pool/members", "127.0.0.1"),
        ("ltm/node", "127.0.0.1"),
    ]
    assert plan.left == (f"ltm/rule /{PARTITION}/app_cookie_dev_gone",)
    assert {kind: await named(scene, kind) for kind in before} == before

    clients = [asyncio.create_task(scene.browse()) for _ in range(4)]
    await eventually(lambda: scene.answered >= 20)
    await agent.adopt(PROJECT)
    await agent.adopt(PROJECT)
    outcome = await agent.apply(complete)
    answered = scene.answered
    await eventually(lambda: scene.answered >= answered + 20)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    assert not outcome.outcomes[0].error and scene.failed == 0

    (virtual,) = (await named(scene, "ltm/virtual")).values()
    assert virtual["description"].startswith("evenkeel:dev/1:")
    assert set(await named(scene, "ltm/pool")) == {"dev_pool-1"}
    assert (await named(scene, "ltm/pool"))["dev_pool-1"]["loadBalancingMode"] == "least-connections-member"
    assert "app_cookie_dev_gone" in await named(scene, "ltm/rule")
    assert (await agent.apply(complete)).writes == 0
    assert not (await agent.plan(complete))[0].operations


LISTENER, REGEX = "00000001-0000-4000-8000-000000000000", "00000002-0000-4000-8000-000000000000"


async def add_l7_objects(scene: AdoptionScene) -> None:
    """Give the listener an L7 policy, an iRule, persistence and an http profile, and a rate limit, as F5's agent 9.10
    does.
    """

    async def make(kind: str, name: str, **body: Any) -> None:
        await scene.rig.hands.call("POST", kind, {"name": name, "partition": PARTITION, **body})

    target = f"/{PARTITION}/dev_pool-1"
    condition = {"name": "0", "httpUri": True, "path": True, "startsWith": True, "values": ["/never"]}
    action = {"name": "0", "forward": True, "pool": target}
    shape = {"strategy": "first-match", "legacy": True, "requires": ["http"], "controls": ["forwarding"]}
    rules = [{"name": "to-pool", "ordinal": 1, "conditions": [condition], "actions": [action]}]
    await make("ltm/policy", f"wrapper_policy_{LISTENER}", rules=rules, **shape)
    code = f'when HTTP_REQUEST {{ if {{ [HTTP::path] starts_with "/never" }} {{ pool {target} }} }}'
    await make("ltm/rule", f"irule_{REGEX}", apiAnonymous=code)
    await make("ltm/persistence/source-addr", f"source_addr_dev_{LISTENER}", timeout="1800")
    await make("ltm/profile/http", f"http_profile_dev_{LISTENER}", insertXforwardedFor="enabled")
    own = {"name": f"http_profile_dev_{LISTENER}", "partition": PARTITION}
    changes = {
        "profiles": [own, *SEVEN_LAYERS[1:]],
        "policies": [{"name": f"wrapper_policy_{LISTENER}", "partition": PARTITION}],
        "rules": [f"/{PARTITION}/irule_{REGEX}"],
        "persist": [{"name": f"source_addr_dev_{LISTENER}", "partition": PARTITION}],
        "connectionLimit": 5000,
    }
    await scene.rig.hands.call("PATCH", f"ltm/virtual/~{PARTITION}~dev_listener-1", changes)


async def test_objects_beside_a_listener_are_replaced_under_traffic_and_its_deletion_leaves_nothing(
    scene: AdoptionScene,
) -> None:
    await scene.rig.hands.call("DELETE", f"ltm/rule/~{PARTITION}~app_cookie_dev_gone")
    await add_l7_objects(scene)
    agent = scene.owner()
    clients = [asyncio.create_task(scene.browse()) for _ in range(4)]
    await eventually(lambda: scene.answered >= 20)
    await agent.adopt(PROJECT)
    outcome = await agent.apply(batch(scene.wanted, complete=True))
    answered = scene.answered
    await eventually(lambda: scene.answered >= answered + 20)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    # the second write deletes what the first has detached, the third moves the members
    assert not outcome.outcomes[0].error and outcome.writes == 3 and scene.failed == 0
    for kind in ("ltm/policy", "ltm/rule", "ltm/persistence/source-addr", "ltm/profile/http"):
        assert not await named(scene, kind), kind
    assert not (await agent.apply(batch(gone(1)))).outcomes[0].error
    await agent.apply(batch(complete=True))
    assert not (await agent.retire(PROJECT, 1, session_of(1))).left
    partitions = (await scene.rig.hands.call("GET", "auth/partition"))["items"]
    assert PARTITION not in {item["name"] for item in partitions}


F5_VIRTUAL = {
    "description": "l: ",
    "profiles": SEVEN_LAYERS,
    "policies": [],
    "rules": [],
    "persist": [],
    "sourceAddressTranslation": {"type": "automap"},
}
"""What F5's agent writes to a virtual server when it rebuilds its load balancer."""


async def test_partition_that_is_given_back_serves_on_and_is_adopted_again_under_traffic(scene: AdoptionScene) -> None:
    await scene.rig.hands.call("DELETE", f"ltm/rule/~{PARTITION}~app_cookie_dev_gone")
    agent, complete = scene.owner(), batch(scene.wanted, complete=True)
    theirs = await members_of_pools(scene)
    await agent.adopt(PROJECT)
    await agent.apply(complete)
    clients = [asyncio.create_task(scene.browse()) for _ in range(4)]
    await eventually(lambda: scene.answered >= 20)
    held = {kind: await named(scene, kind) for kind in ("ltm/virtual", "ltm/virtual-address")}
    ours = await members_of_pools(scene)
    (plan,) = await agent.give_back(complete, apply=False)
    assert {step.type for step in plan.operations[:-3]} == {"ltm/pool/members", "ltm/node"}
    assert [(step.verb, step.type) for step in plan.operations[-3:]] == [
        ("modify", "auth/partition"),
        ("delete", "ltm/data-group/internal"),
        ("delete", "ltm/data-group/internal"),
    ]
    assert (await agent.apply(complete)).writes == 0
    assert await agent.give_back(complete, apply=True) == (plan,)
    assert not (await agent.give_back(complete, apply=True))[0].operations
    assert {kind: await named(scene, kind) for kind in held} == held
    assert await members_of_pools(scene) == theirs
    assert not await named(scene, "ltm/data-group/internal")
    assert "description" not in await scene.rig.hands.call("GET", f"auth/partition/{PARTITION}")
    assert PROJECT not in await agent.tenants()
    for owner in (agent, scene.owner()):
        for each in (complete, replace(complete, epoch=2, session_id=session_of(2))):
            with pytest.raises(DeviceRejected, match="'evenkeel adopt'"):
                await owner.apply(each)

    path = f"ltm/virtual/~{PARTITION}~dev_listener-1"
    await scene.rig.hands.call("PATCH", path, F5_VIRTUAL)
    answered = scene.answered
    await eventually(lambda: scene.answered >= answered + 20)
    await agent.adopt(PROJECT)
    outcome = await agent.apply(complete)
    answered = scene.answered
    await eventually(lambda: scene.answered >= answered + 20)
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    assert not outcome.outcomes[0].error and scene.failed == 0
    assert await named(scene, "ltm/virtual") == held["ltm/virtual"]
    assert await members_of_pools(scene) == ours
    assert (await agent.apply(complete)).writes == 0


async def test_partition_of_a_pair_is_given_back_only_if_both_devices_are_there() -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        owner, complete = rig.owner(), batch(service(), complete=True)
        await owner.apply(complete)
        hands = [Hands(rig.emulator, name) for name in rig.emulator.devices]
        rig.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
        with pytest.raises(DeviceUnavailable, match="repeat it when the device is back"):
            await owner.give_back(complete, apply=True)
        rig.emulator.faults.clear()
        for one in hands:
            assert (await one.call("GET", f"auth/partition/{PARTITION}"))["description"] == "evenkeel:dev/1:partition"
        await owner.check()
        assert len(await owner.give_back(complete, apply=True)) == 2
        for one in hands:
            assert "description" not in await one.call("GET", f"auth/partition/{PARTITION}")
            assert not await one.items("ltm/data-group/internal")


async def test_former_owner_does_not_give_a_partition_back(scene: AdoptionScene) -> None:
    former, complete = scene.owner(), batch(scene.wanted, complete=True)
    await former.adopt(PROJECT)
    await former.apply(complete)
    successor = scene.owner()
    await successor.take_over(PROJECT, 2, session_of(2))
    with pytest.raises(DeviceRejected, match="guarded by epoch 2"):
        await former.give_back(complete, apply=True)
    partition = await scene.rig.hands.call("GET", f"auth/partition/{PARTITION}")
    assert partition["description"] == "evenkeel:dev/1:partition"
    assert not (await successor.apply(replace(complete, epoch=2, session_id=session_of(2)))).outcomes[0].error


SAYS = 'when HTTP_RESPONSE priority 900 { HTTP::header insert X-Operator "yes" }'


class IruleScene:
    """The scene with two iRules of an operator on the virtual server, and clients that look for their effect."""

    def __init__(self, scene: AdoptionScene) -> None:
        self.scene = scene
        self.seen = 0
        self.missed = 0

    async def build(self) -> None:
        call = self.scene.rig.hands.call
        await call("POST", "ltm/rule", {"name": "says", "apiAnonymous": SAYS})
        await call(
            "POST", "ltm/rule", {"name": "b", "partition": PARTITION, "apiAnonymous": "when CLIENT_ACCEPTED { }"}
        )
        await add_l7_objects(self.scene)
        rules = ["/Common/says", f"/{PARTITION}/irule_{REGEX}", f"/{PARTITION}/b"]
        await call("PATCH", f"ltm/virtual/~{PARTITION}~dev_listener-1", {"rules": rules})

    async def browse(self) -> None:
        """Requests, one after the other, until cancelled."""
        while True:
            try:
                head, _ = await fetch(vip(), self.scene.port)
                self.missed += "X-Operator: yes" not in head
            except (OSError, EOFError, ValueError):
                self.missed += 1
            self.seen += 1

    async def more(self) -> None:
        """Wait for more requests."""
        before = self.seen
        await eventually(lambda: self.seen >= before + 20)

    async def rules(self) -> list[str]:
        return list((await named(self.scene, "ltm/virtual"))["dev_listener-1"]["rules"])


async def test_operators_irules_that_are_kept_act_over_adoption_changes_and_failover_until_detached(
    scene: AdoptionScene,
) -> None:
    made = IruleScene(scene)
    await made.build()
    agent, plain = scene.owner(), batch(scene.wanted, complete=True)
    (found,) = await agent.found_irules(plain)
    kept = ("/Common/says", f"/{PARTITION}/b")
    assert (found.listener_id, found.irules) == ("listener-1", kept)
    (wanted,) = services_with_irules((scene.wanted,), (found,))
    (plan,) = await agent.plan(batch(wanted, complete=True))
    (virtual,) = [step for step in plan.operations if step.type == "ltm/virtual"]
    assert virtual.note.endswith(f"iRules that were not made by F5's agent stay: {', '.join(kept)}")

    clients = [asyncio.create_task(made.browse()) for _ in range(3)]
    # settled: what is asserted was written before the wait
    await made.more()
    await agent.adopt(PROJECT)
    assert not (await agent.apply(batch(wanted, complete=True))).outcomes[0].error
    # settled: what is asserted was written before the wait
    await made.more()
    assert await made.rules() == list(kept)
    assert not await agent.found_irules(plain)  # the virtual server is ours now

    changed = replace(wanted, revision=2, pools=(replace(wanted.pools[0], lb_algorithm="ROUND_ROBIN"),))
    assert (await agent.apply(batch(changed))).writes == 1
    # settled: what is asserted was written before the wait
    await made.more()
    successor = scene.owner()
    await successor.apply(batch(changed, complete=True, epoch=2))
    # settled: what is asserted was written before the wait
    await made.more()
    assert (await successor.apply(batch(changed, epoch=2))).writes == 0
    for client in clients:
        client.cancel()
    await asyncio.gather(*clients, return_exceptions=True)
    assert made.missed == 0 and await made.rules() == list(kept)

    (detached,) = services_with_irules(
        (replace(changed, revision=3),), (ListenerIrules(listener_id="listener-1", irules=()),)
    )
    await successor.apply(batch(detached, epoch=2))
    assert "rules" not in (await named(scene, "ltm/virtual"))["dev_listener-1"]
    head, _ = await fetch(vip(), scene.port)
    assert "X-Operator" not in head
    assert "b" in await named(scene, "ltm/rule")


async def test_adopted_partition_is_refused_to_other_device_groups(scene: AdoptionScene) -> None:
    await scene.owner().adopt(PROJECT)
    other = scene.rig.agent(group_number=2)
    with pytest.raises(DeviceRejected, match="belongs to device group dev/1"):
        await other.adopt(PROJECT)
    with pytest.raises(DeviceRejected):
        await other.take_over(PROJECT, 1, session_of(1))


async def test_an_empty_partition_and_one_that_does_not_exist_need_no_adoption(scene: AdoptionScene) -> None:
    agent = scene.owner()
    await agent.adopt("elsewhere")
    await scene.rig.hands.call("POST", "auth/partition", {"name": "dev_elsewhere"})
    await agent.take_over("elsewhere", 1, session_of(1))


async def test_a_partition_with_route_domains_of_another_program_is_not_adopted(scene: AdoptionScene) -> None:
    domain = {"name": PARTITION, "partition": PARTITION, "id": 5}
    await scene.rig.hands.call("POST", "net/route-domain", domain)
    before = await scene.rig.hands.call("GET", f"auth/partition/{PARTITION}")
    with pytest.raises(DeviceRejected, match="has route domain 5, which another program numbered"):
        await scene.owner().adopt(PROJECT)
    assert await scene.rig.hands.call("GET", f"auth/partition/{PARTITION}") == before

"""iRules of an operator on a virtual server of F5's agent are kept over its adoption, a failover and changes."""

import uuid
from typing import Any

import pytest

from evenkeel.core.devices.adoption import ListenerIrules
from evenkeel.core.kit.errors import Conflict, SessionLost
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.protocol.messages import KeepIrules
from evenkeel.core.resources.model import Listener, LoadBalancer, LoadBalancerTree, Vip
from tests.devices.bigip.rig import Hands
from tests.system.adoptions import adoption_answer
from tests.system.test_removed_partitions import DEVICES, PairWorld, acts_elsewhere, world
from tests.system.world import ENVIRONMENT
from tests.waiting import eventually

__all__ = ["world"]
LISTENER = str(uuid.uuid4())
RULES = ["/Common/says", f"/{ENVIRONMENT}_a/by-hand"]
VIRTUAL = f"{ENVIRONMENT}_{LISTENER}"
ADDRESS = "192.0.2.77"


async def build(world: PairWorld, load_balancer_id: str) -> None:
    """A partition of F5's agent on both devices, with two iRules of an operator on its virtual server."""
    place: dict[str, Any] = {"partition": f"{ENVIRONMENT}_a"}
    for device in DEVICES:
        call = Hands(world.emulator, device).call
        await call("POST", "auth/partition", {"name": f"{ENVIRONMENT}_a"})
        await call("POST", "ltm/rule", {"name": "says", "apiAnonymous": "when HTTP_REQUEST { }"})
        await call("POST", "ltm/rule", {**place, "name": "by-hand", "apiAnonymous": "when HTTP_RESPONSE { }"})
        address = {"name": f"{ENVIRONMENT}_{load_balancer_id}", "address": ADDRESS, "autoDelete": "false"}
        await call("POST", "ltm/virtual-address", {**place, **address})
        virtual = {
            "name": VIRTUAL,
            "destination": f"/{ENVIRONMENT}_a/{ENVIRONMENT}_{load_balancer_id}:80",
            "mask": "255.255.255.255",
            "ipProtocol": "tcp",
            "profiles": [{"name": name, "partition": "Common"} for name in ("http", "oneconnect", "tcp")],
            "rules": RULES,
        }
        await call("POST", "ltm/virtual", {**place, **virtual})


async def create(world: PairWorld, load_balancer_id: str) -> None:
    vip = Vip(address=ADDRESS, subnet_id="s", network_id="n", port_id=str(uuid.uuid4()))
    front = Listener(id=LISTENER, load_balancer_id=load_balancer_id, project_id="a", protocol="HTTP", protocol_port=80)
    root = LoadBalancer(id=load_balancer_id, project_id="a", vip=vip, provider=ENVIRONMENT)
    plan = VipPlan(subnet_id="s", network_id="n", port_id=vip.port_id, address=ADDRESS)
    change = await world.store.tenants.create_load_balancer(
        LoadBalancerTree(load_balancer=root, listeners=(front,)), plan, []
    )
    await world.controllers["c0"].driver.change_accepted(change)


async def rules(world: PairWorld) -> list[list[str]]:
    """The iRules of the virtual server on each device."""
    found = []
    for device in DEVICES:
        (virtual,) = (await Hands(world.emulator, device).items("ltm/virtual", f"{ENVIRONMENT}_a")).values()
        assert virtual["name"] == VIRTUAL
        found.append(virtual.get("rules", []))
    return found


async def test_irules_of_an_operator_stay_until_an_operator_detaches_them(world: PairWorld) -> None:
    lb = str(uuid.uuid4())
    await build(world, lb)
    await world.start(agents=2)
    await create(world, lb)

    async def refused() -> bool:
        return "'evenkeel adopt'" in (await world.root(lb)).status_reason

    await eventually(refused)
    answer = await adoption_answer(world, lb, keep_irules=True)
    assert not answer.problem
    notes = {step.note for plan in answer.devices for step in plan.operations if step.type == "ltm/virtual"}
    assert notes == {f"iRules that were not made by F5's agent stay: {', '.join(RULES)}"}
    # settled: ACTIVE means that the devices hold it
    await eventually(lambda: world.active(lb))
    assert await rules(world) == [RULES] * 2
    stored: Listener = await world.store.tenants.get(Listener, LISTENER, project_id=None)
    assert list(stored.operator_irules) == RULES

    former = await world.acting(lb)
    await world.vanish(former)
    await eventually(lambda: acts_elsewhere(world, lb, former))
    await world.rename(lb, "by the other agent")
    # settled: ACTIVE means that the devices hold it
    await eventually(lambda: world.active(lb))
    assert await rules(world) == [RULES] * 2

    change = await world.store.tenants.update_child(Listener, LISTENER, {"operator_irules": ()}, project_id=None)
    await world.controllers["c0"].driver.change_accepted(change)
    # settled: ACTIVE means that the devices hold it
    await eventually(lambda: world.active(lb))
    assert await rules(world) == [[], []]


async def test_irules_are_stored_only_for_listeners_of_the_callers_shard(world: PairWorld) -> None:
    await world.start(agents=1)
    first, second = await world.create("a"), str(uuid.uuid4())
    await create(world, second)
    other = await world.create("b")
    for lb in (first, second, other):
        await eventually(lambda lb=lb: world.active(lb))  # type: ignore[misc]
    shard = await world.store.operators.shard_of_load_balancer(other)
    assert shard is not None and shard.acting_agent_id is not None
    agent = await world.store.operators.agent(shard.acting_agent_id)
    listeners = (ListenerIrules(listener_id=LISTENER, irules=("/Common/says",)),)
    call = KeepIrules(
        agent_id=agent.id, session_id=agent.session_id, shard_id=shard.id, epoch=shard.epoch, listeners=listeners
    )
    with pytest.raises(Conflict, match="none of shard"):
        await world.store.tenants.keep_irules(call)
    with pytest.raises(SessionLost):
        await world.store.tenants.keep_irules(
            KeepIrules(agent_id=agent.id, session_id="other", shard_id=shard.id, epoch=shard.epoch, listeners=listeners)
        )

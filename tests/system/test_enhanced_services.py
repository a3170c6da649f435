"""An operator's files while agents and controllers run: reported, applied, changed, removed and put back."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.ports import Device
from evenkeel.core.resources.enhanced_services import usable_services
from evenkeel.core.resources.model import Listener
from tests.devices.bigip.emulated import emulated
from tests.devices.bigip.rig import BigIpRig
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

PARTITION = f"{ENVIRONMENT}_a"
LOOK_SECONDS = 0.25
"""Each look at the device is a connection of its own, with its handshake."""
CODE = 'when HTTP_REQUEST { HTTP::header insert "X-Added" "yes" }'


class EnhancedWorld(World):
    """Agents of one BIG-IP that read one directory."""

    device_driver = "bigip"
    bare_esd_tags = True
    rig: BigIpRig
    directory: Path

    def _device_of(self, host: str) -> Device:
        return self.rig.agent(environment=ENVIRONMENT, esd_dir=str(self.directory))

    def write(self, **definitions: Any) -> None:
        (self.directory / "esd.json").write_text(json.dumps(definitions))

    async def rules(self) -> list[str]:
        """Of the only virtual server."""
        virtuals = await self.rig.hands.items("ltm/virtual", PARTITION)
        return [rule for virtual in virtuals.values() for rule in virtual.get("rules", ())]

    async def has_rules(self, *names: str) -> bool:
        return await self.rules() == [f"/Common/{name}" for name in names]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[EnhancedWorld]:
    async with emulated("bigip-1") as emulator:
        made = EnhancedWorld(tmp_path)
        made.rig = BigIpRig(emulator, "standalone")
        made.directory = tmp_path / "esd"
        made.directory.mkdir()
        for name in ("one", "two"):
            rule = {"name": name, "partition": "Common", "apiAnonymous": CODE}
            await made.rig.hands.call("POST", "ltm/rule", rule)
        yield made
        await made.close()
        await made.rig.close()


async def test_changes_of_the_files_reach_the_device_and_trouble_stands_on_the_load_balancer(
    world: EnhancedWorld,
) -> None:
    world.write(web={"lbaas_irule": ["one"]})
    await world.start()

    async def all_offer_it() -> bool:
        agents = await world.store.operators.enhanced_services(ENVIRONMENT)
        return [[one.name for one in usable_services(agent.services)] for agent in agents] == [["web"], ["web"]]

    await eventually(all_offer_it)
    load_balancer_id = await world.create("a")
    listener = Listener(
        id="listener",
        load_balancer_id=LoadBalancerId(load_balancer_id),
        project_id=ProjectId("a"),
        protocol="HTTP",
        protocol_port=80,
        tags=("esd:web",),
    )
    change = await world.store.tenants.add_listener(listener, project_id=None)
    await world.controllers["c1"].driver.change_accepted(change)
    await eventually(lambda: world.has_rules("one"), every_seconds=LOOK_SECONDS)
    await eventually(lambda: world.active(load_balancer_id))

    world.write(web={"lbaas_irule": ["two", "one"]})
    await eventually(lambda: world.has_rules("two", "one"), every_seconds=LOOK_SECONDS)

    world.write()

    async def in_error() -> bool:
        return "enhanced service 'web' is in no file" in (await world.root(load_balancer_id)).status_reason

    await eventually(in_error)
    assert await world.has_rules("two", "one")  # settled: it may never change

    world.write(web={"lbaas_irule": ["two"]})
    await eventually(lambda: world.has_rules("two"), every_seconds=LOOK_SECONDS)
    await eventually(lambda: world.active(load_balancer_id))
    # settled: the reason goes with the status
    assert (await world.root(load_balancer_id)).status_reason == ""


async def test_bare_tag_of_a_listener_chooses_what_the_files_have_and_unusable_tags_are_discarded(
    world: EnhancedWorld,
) -> None:
    world.write(web={"lbaas_irule": ["one"], "lbaas_ctcp": "none-such", "lbaas_color": "red"})
    await world.start()
    load_balancer_id = await world.create("a")
    listener = Listener(
        id="listener",
        load_balancer_id=LoadBalancerId(load_balancer_id),
        project_id=ProjectId("a"),
        protocol="HTTP",
        protocol_port=80,
        tags=("web", "blue"),
    )
    change = await world.store.tenants.add_listener(listener, project_id=None)
    await world.controllers["c1"].driver.change_accepted(change)
    await eventually(lambda: world.has_rules("one"), every_seconds=LOOK_SECONDS)
    await eventually(lambda: world.active(load_balancer_id))

    async def warned() -> bool:
        agents = await world.store.operators.enhanced_services(ENVIRONMENT)
        told = [one.warnings for agent in agents for one in agent.services]
        return len(told) == 2 and all("lbaas_color" in one[0] and "none-such" in one[1] for one in told)

    await eventually(warned)
    # A name that no file has yet counts from the moment that one has it.
    world.write(blue={"lbaas_irule": ["two"]})
    await eventually(lambda: world.has_rules("two"), every_seconds=LOOK_SECONDS)

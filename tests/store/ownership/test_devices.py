"""A device belongs to one device group of an environment."""

from typing import Any

import pytest

from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.protocol.messages import EndSession
from evenkeel.store.ownership.devices import normalise_endpoint
from tests.store.ownership_world import World, world_fixture

__all__ = ["world_fixture"]

A, B, C = "10.0.0.1:443", "10.0.0.2:443", "10.0.0.3:443"


async def join(world: World, agent_id: str, number: int, *endpoints: str, **changes: Any) -> None:
    await world.agent(agent_id, group_number=number, endpoints=endpoints, **changes)


async def refused(world: World, agent_id: str, number: int, *endpoints: str, **changes: Any) -> str:
    with pytest.raises(CallRefused) as refusal:
        await join(world, agent_id, number, *endpoints, **changes)
    assert refusal.value.code == "contradiction"
    return str(refusal.value)


async def end(world: World, agent_id: str) -> None:
    call = EndSession(agent_id=agent_id, session_id=f"session-of-{agent_id}")
    await world.store.ownership.end_session(call.agent_id, call.session_id)


async def test_an_address_of_another_group_is_refused_however_it_is_spelled(world: World) -> None:
    await join(world, "a1", 1, A, B)
    for endpoint in (B, "https://10.0.0.2:443/", " 10.0.0.2:443"):
        text = await refused(world, "b1", 2, C, endpoint)
        assert "device group east/1" in text and endpoint in text
    await join(world, "b1", 2, C)


async def test_a_device_of_another_group_is_refused_by_whichever_address(world: World) -> None:
    await join(world, "a1", 1, A, B, identities={A: "serial-a", B: "serial-b"})
    text = await refused(world, "b1", 2, C, identities={C: "serial-b"})
    assert "device group east/1" in text and "serial-b" in text
    await join(world, "b1", 2, C, identities={C: "serial-c"})


async def test_other_environments_may_share_a_device_and_so_may_what_is_no_place(world: World) -> None:
    await world.environment("west")
    await join(world, "a1", 1, A, identities={A: "serial-a"})
    await join(world, "w1", 1, A, environment="west", identities={A: "serial-a"})
    await join(world, "b1", 2, A, exclusive=False)


async def test_a_group_gives_its_devices_up_with_its_last_agent_and_load_balancer(world: World) -> None:
    await join(world, "a1", 1, A)
    await world.placed()
    await end(world, "a1")
    await refused(world, "b1", 2, A)
    await join(world, "c1", 3, C)
    await world.expire("c1")
    await join(world, "b1", 2, C)
    assert not await world.live("c1")
    await refused(world, "c1", 3, C)


async def test_one_device_by_two_addresses_is_no_pair(world: World) -> None:
    text = await refused(world, "a1", 1, A, B, identities={A: "serial-a", B: "serial-a"})
    assert A in text and B in text


async def test_another_device_behind_the_same_address_is_reported(world: World) -> None:
    await join(world, "a1", 1, A, B, identities={A: "serial-a", B: "serial-b"})
    await end(world, "a1")
    await join(world, "a1", 1, A, B, identities={A: "", B: "serial-b"})
    await end(world, "a1")
    assert not await world.events("device_replaced")
    await join(world, "a1", 1, A, B, identities={A: "serial-x", B: "serial-b"})
    (event,) = await world.events("device_replaced")
    assert all(word in event.text for word in (A, "serial-x", "serial-a", "east/1"))


def test_endpoints_have_one_spelling() -> None:
    same = {normalise_endpoint(each) for each in ("LB-1.example.:443", "https://lb-1.example:443/", "lb-1.example:443")}
    assert same == {"lb-1.example:443"}
    assert normalise_endpoint("[2001:DB8:0::1]:443") == normalise_endpoint("[2001:db8::1]:443")
    assert normalise_endpoint("2001:db8::1") == normalise_endpoint("[2001:db8::1]") == "2001:db8::1:"
    assert normalise_endpoint("10.0.0.1") != normalise_endpoint("10.0.0.1:443")

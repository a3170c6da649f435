"""What operators and tenants are told in each state: the table of docs/how-to/troubleshoot.md."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.cli.explain import NOTHING, explanation
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.system.world import ENVIRONMENT, World
from tests.waiting import eventually

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "troubleshoot.md"
Situation = Callable[[World], Awaitable[str]]


async def applied(world: World) -> str:
    found = await world.create("p")
    await eventually(lambda: world.active(found))
    return found


async def fine(world: World) -> str:
    await world.start()
    return await applied(world)


async def no_agent(world: World) -> str:
    await world.start(agents=0)
    found = await world.create("p")
    await eventually(lambda: _has_reason(world, found))
    return found


async def agent_dead(world: World) -> str:
    await world.start()
    found = await applied(world)
    home = await world.acting(found)
    await world.kill(home)
    other = next(iter({"h0", "h1"} - {home}))
    await eventually(lambda: _acting_is(world, found, other))
    await eventually(lambda: world.active(found))
    return found


async def only_agent_dead(world: World) -> str:
    await world.start(agents=1)
    found = await applied(world)
    await world.kill("h0")
    await eventually(lambda: _acting_is_not(world, found, "h0"))
    return found


async def device_dead(world: World) -> str:
    await world.start(agents=1)
    found = await applied(world)
    world.views["h0"].cut_off = True
    await world.rename(found, "new")
    await eventually(lambda: _has_reason(world, found))
    await eventually(lambda: _is_out_of_reach(world))
    return found


async def refused(world: World) -> str:
    await world.start(agents=1)
    found = await world.create("p")
    await eventually(lambda: world.active(found))
    world.views["h0"].frozen = True
    await world.rename(found, "new")
    await eventually(lambda: _has_reason(world, found))
    return found


async def full(world: World) -> str:
    world.capacity_policy = {"tenant_count": 1.0}
    await world.start(agents=1)
    await applied(world)
    found = await world.create("q")
    await eventually(lambda: _has_reason(world, found))
    return found


async def halted(world: World) -> str:
    await world.start(agents=3)
    found = await applied(world)
    await world.kill("h0", "h1", "h2")
    await eventually(lambda: _is_halted(world))
    await eventually(lambda: _acting_is(world, found, ""))
    return found


async def broker_gone(world: World) -> str:
    await world.start(agents=3)
    found = await applied(world)
    world.hub.outage = True
    await eventually(lambda: _is_halted(world))
    return found


async def _has_reason(world: World, found: str) -> bool:
    return bool((await world.root(found)).status_reason)


async def _acting_is(world: World, found: str, host: str) -> bool:
    return await world.acting(found) == host


async def _acting_is_not(world: World, found: str, host: str) -> bool:
    return await world.acting(found) != host


async def _is_out_of_reach(world: World) -> bool:
    return any(each.reach.away for each in await world.store.operators.out_of_reach())


async def _is_halted(world: World) -> bool:
    return any(each.halted_at is not None for each in await world.store.operators.environments())


SITUATIONS: dict[str, Situation] = {
    "everything works": fine,
    "no agent": no_agent,
    "an agent is dead": agent_dead,
    "all agents of a group are dead": only_agent_dead,
    "a device is dead": device_dead,
    "a device refuses it": refused,
    "the group is full": full,
    "the environment is halted": halted,
    "the message broker is gone": broker_gone,
}


BEFORE = frozenset({"environment_added", "agent_registered", "load_balancer_active"})
"""Kinds of events from before the situation."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    made = World(tmp_path)
    yield made
    await made.close()


def rows() -> dict[str, list[str]]:
    """The page's table by its first column."""
    found = {}
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[0] in SITUATIONS:
            found[cells[0]] = cells[1:]
    return found


def says(cell: str, text: str) -> bool:
    """The text is what the cell says, whose … stand for anything."""
    pattern = ".*".join(re.escape(part) for part in cell.strip("`").split("…"))
    return re.fullmatch(pattern, text) is not None


def test_the_page_has_every_situation() -> None:
    assert rows().keys() == SITUATIONS.keys()


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_what_is_told(situation: str, world: World) -> None:
    found = await SITUATIONS[situation](world)
    app = create_app(
        store=world.store,
        network=BuiltinNetwork(world.store.operators),
        driver=Sink(),
        default_provider=ENVIRONMENT,
        broker_problem=world.broker_problem,
    )
    async with Client.of(app) as client:

        async def ask(path: str) -> Any:
            return (await client.http.get(path)).json()

        hosting = (await ask(f"/evenkeel/v1/loadbalancers/{found}/agent"))["hosting"]
        status = (await ask("/evenkeel/v1/status"))["status"]
        shown = (await ask(f"/v2/lbaas/loadbalancers/{found}"))["loadbalancer"]
    explained = explanation(hosting)
    tenant = f"{shown['provisioning_status']}, {shown['operating_status']}"
    if shown["status_reason"]:
        tenant += f": {shown['status_reason']}"
    problems = "; ".join(f"{problem['text']}; {problem['remedy']}" for problem in status["problems"])
    exit_codes = f"{int(bool(problems))}, {int(explained.action != NOTHING)}"
    told = (explained.state, explained.action, tenant, problems or "–", exit_codes)
    *cells, events = rows()[situation]
    wrong = [(cell, text) for cell, text in zip(cells, told, strict=True) if not says(cell, text)]
    assert wrong == []
    named = frozenset(re.findall(r"`(\w+)`", events))
    await eventually(lambda: _events_are(world, named))


async def _events_are(world: World, kinds: frozenset[str]) -> bool:
    """Raises :class:`AssertionError` if there are others."""
    seen = {event.kind for event in await world.store.operators.events(after=0, limit=100)} - BEFORE
    assert seen <= kinds
    return seen == kinds

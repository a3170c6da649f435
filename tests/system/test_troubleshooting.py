"""What operators and tenants are told in each state: the table of docs/how-to/troubleshoot.md."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from structlog.testing import capture_logs

from evenkeel.api.app import create_app
from evenkeel.api.identity.caller import Authenticator
from evenkeel.api.identity.password_file import PasswordFileIdentity
from evenkeel.api.identity.users import User
from evenkeel.cli.explain import NOTHING, explain_state
from evenkeel.core.control.scheduling import DueSchedulingWork
from evenkeel.core.kit.errors import StoreUnavailable
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.subnet import SUBNET
from tests.clock import HandClock
from tests.system.world import ENVIRONMENT, World
from tests.waiting import becomes_empty, eventually

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


async def partition_refused(world: World) -> str:
    await world.start(agents=1)
    found = await applied(world)
    world.views["h0"].frozen = True
    await world.rename(found, "new")
    await eventually(lambda: _has_reason(world, found))
    return found


async def refused(world: World) -> str:
    await world.start(agents=1)
    found = await applied(world)
    world.views["h0"].refuses = "name: not on this device"
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
    return any(each.reach.away for each in await world.store.operators.unreachable_groups())


async def _is_halted(world: World) -> bool:
    return any(each.halted_at is not None for each in await world.store.operators.environments())


SITUATIONS: dict[str, Situation] = {
    "everything works": fine,
    "no agent": no_agent,
    "an agent is dead": agent_dead,
    "all agents of a group are dead": only_agent_dead,
    "a device is dead": device_dead,
    "a device refuses the tenant's whole partition": partition_refused,
    "a device refuses this load balancer": refused,
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
        if line.startswith("|"):
            found[cells[0]] = cells[1:]
    return found


def says(cell: str, text: str) -> bool:
    """The text is what the cell says, whose … stand for anything."""
    pattern = ".*".join(re.escape(part) for part in cell.strip("`").split("…"))
    return re.fullmatch(pattern, text) is not None


def told_of(hosting: Any, status: Any, shown: Any) -> tuple[str, ...]:
    """The cells of a row but the last one: of ``explain``, of the tenant's view and of ``status``."""
    explained = explain_state(hosting)
    tenant = f"{shown['provisioning_status']}, {shown['operating_status']}"
    if shown["status_reason"]:
        tenant += f": {shown['status_reason']}"
    problems = "; ".join(f"{problem['text']}; {problem['remedy']}" for problem in status["problems"])
    exit_codes = f"{int(bool(problems))}, {int(explained.action != NOTHING)}"
    return explained.state, explained.action, tenant, problems or "–", exit_codes


def test_the_page_has_every_situation() -> None:
    assert rows().keys() >= {*SITUATIONS, *OTHERS}


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_situation_is_reported_as_documented(situation: str, world: World) -> None:
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

        *cells, events = rows()[situation]

        async def wrong() -> dict[str, str]:
            """Cells that say something else than is told; the parts of what is told follow one another."""
            hosting = (await ask(f"/evenkeel/v1/loadbalancers/{found}/agent"))["hosting"]
            status = (await ask("/evenkeel/v1/status"))["status"]
            shown = (await ask(f"/v2/lbaas/loadbalancers/{found}"))["loadbalancer"]
            told = told_of(hosting, status, shown)
            return {cell: text for cell, text in zip(cells, told, strict=True) if not says(cell, text)}

        await becomes_empty(wrong)
    named = frozenset(re.findall(r"`(\w+)`", events))
    await eventually(lambda: _events_are(world, named))


async def _events_are(world: World, kinds: frozenset[str]) -> bool:
    """Raises :class:`AssertionError` if there are others."""
    seen = {event.kind for event in await world.store.operators.events(after=0, limit=100)} - BEFORE
    assert seen <= kinds
    return seen == kinds


# -- the page's second table: what is told where no load balancer is concerned


async def quota_met(world: World) -> list[str]:
    await world.start(agents=1)
    async with client_of(world) as client:
        await client.http.put("/v2/lbaas/quotas/p", json={"quota": {"load_balancer": 0}})
        new = {"loadbalancer": {"vip_subnet_id": SUBNET.id, "project_id": "p"}}
        await world.store.operators.add_subnet(SUBNET)
        answer = await client.http.post("/v2/lbaas/loadbalancers", json=new)
        status = (await client.http.get("/evenkeel/v1/status")).json()["status"]
    assert status["problems"] == []
    return [str(answer.status_code), answer.json()["faultstring"]]


async def database_gone(world: World) -> list[str]:
    await world.start(agents=1)
    await applied(world)
    with capture_logs() as logs, pytest.MonkeyPatch.context() as patch:
        for name in ("read", "write", "query"):
            patch.setattr(world.store.database, name, _unreachable)
        async with client_of(world) as client:
            answers = [await client.http.get(path) for path in ("/v2/lbaas/loadbalancers", "/evenkeel/v1/status")]
        event = "dependency unavailable; trying again"
        await eventually(lambda: any(entry["event"] == event for entry in logs))
    assert not [entry for entry in logs if entry["log_level"] == "error"]
    return [*{str(answer.status_code) for answer in answers}, event]


async def _unreachable(*_: object, **__: object) -> None:
    raise StoreUnavailable("the database is gone")


async def wrong_password(world: World) -> list[str]:
    await world.start(agents=0)

    class OneUser:
        """Nobody is in the file."""

        content: Mapping[str, User] = {}

    with capture_logs() as logs:
        async with client_of(world, identity=PasswordFileIdentity(OneUser(), HandClock())) as client:
            answer = await client.http.get("/v2/lbaas/loadbalancers", auth=("alice", "wrong"))
    (event,) = [entry for entry in logs if entry["event"].startswith("login")]
    assert event["user"] == "alice" and event["address"]
    assert event["request_id"] == answer.headers["x-openstack-request-id"]
    return [str(answer.status_code), event["event"]]


async def clock_jumps(world: World) -> list[str]:
    """An hour ahead: nobody is taken for dead."""
    real = world.store.scheduling.read_due_work
    jumped_seconds = 0.0

    async def read(**options: Any) -> DueSchedulingWork:
        work = await real(**options)
        return structs.replace(work, now_seconds=work.now_seconds + jumped_seconds)

    with capture_logs() as logs, pytest.MonkeyPatch.context() as patch:
        patch.setattr(world.store.scheduling, "read_due_work", read)
        await world.start(controllers=1, agents=1)
        found = await applied(world)
        jumped_seconds = 3600.0
        await eventually(lambda: any("jumped" in entry["event"] for entry in logs))
    assert await world.acting(found) == "h0"
    return [next(entry["event"] for entry in logs if "jumped" in entry["event"])]


OTHERS: dict[str, Callable[[World], Awaitable[list[str]]]] = {
    "the quota of a project is met": quota_met,
    "the database is gone": database_gone,
    "a wrong password": wrong_password,
    "the database's clock jumps": clock_jumps,
}


def client_of(world: World, identity: Authenticator | None = None) -> Client:
    """Of a controller's API over this world."""
    app = create_app(
        store=world.store,
        network=BuiltinNetwork(world.store.operators),
        driver=Sink(),
        default_provider=ENVIRONMENT,
        identity=identity,
    )
    return Client.of(app)


@pytest.mark.parametrize("what", OTHERS)
async def test_other_fault_is_reported_as_documented(what: str, world: World) -> None:
    how, *_ = rows()[what]
    quoted = re.findall(r"`([^`]+)`", how)
    told = await OTHERS[what](world)
    assert [text for text in told if not any(says(each, text) for each in quoted)] == []
    assert len(told) <= len(quoted)

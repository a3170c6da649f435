"""``updated_at`` says when a status changed, whoever changed it; what did not change keeps its own."""

import ast
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from sqlalchemy import update

import evenkeel.store
from evenkeel.core.devices.device import DeviceState
from evenkeel.core.placement.reach import UNWATCHED_SECONDS
from evenkeel.core.protocol.messages import ReportState, ReportStatus
from evenkeel.core.resources.statuses import OperatingStatus
from evenkeel.core.status.outcomes import ObservedStatus
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from tests.store.ownership_world import World, applied, world_fixture

__all__ = ["world_fixture"]

LONG_AGO = 1_000_000.0
STATUSES = ("provisioning_status", "operating_status")
TABLES = tuple(table for table in schema.metadata.sorted_tables if {*STATUSES, "updated_at"} <= set(table.c.keys()))

Step = Callable[[World, str, dict[str, str]], Awaitable[object]]


async def _report(world: World, **parts: object) -> ReportStatus:
    common = await world.shard_of("")
    return ReportStatus(agent_id="a1", session_id="session-of-a1", shard_id=common.id, epoch=common.epoch, **parts)


async def _online(world: World, id_: str, below: dict[str, str]) -> None:
    ids = {"loadbalancer": id_, **{kind: below[kind] for kind in ("listener", "pool", "member")}}
    statuses = tuple(ObservedStatus(kind=kind, id=one, status=OperatingStatus.ONLINE) for kind, one in ids.items())
    await world.store.reports.record_observed(await _report(world, statuses=statuses))


async def _sees(world: World, agent_id: str, *, reachable: bool) -> None:
    devices = (DeviceState(name="a", reachable=reachable),)
    state = ReportState(agent_id=agent_id, session_id=f"session-of-{agent_id}", devices=devices)
    await world.store.ownership.record_state(state)
    await world.change(schema.agent, agent_id, sight_since=db_now() - 60.0)
    await world.store.scheduling.record_reachability("east", 1)


async def _nobody_looks(world: World, _id: str, _below: dict[str, str]) -> None:
    await world.expire("a1")
    await world.change(schema.agent, "a1", session_expires_at=db_now() - UNWATCHED_SECONDS - 1)
    await world.store.scheduling.record_reachability("east", 1)


async def _back(world: World, _id: str, _below: dict[str, str]) -> None:
    await world.agent("a2")
    await _sees(world, "a2", reachable=True)


async def _out_of_reach(world: World, _id: str, _below: dict[str, str]) -> None:
    await _sees(world, "a1", reachable=False)


async def _in_reach(world: World, id_: str, below: dict[str, str]) -> None:
    await _sees(world, "a1", reachable=True)
    await _online(world, id_, below)


async def _absent(world: World, id_: str, _below: dict[str, str]) -> None:
    await world.store.reports.record_findings(await _report(world, absent=(id_,)))


async def _present(world: World, id_: str, _below: dict[str, str]) -> None:
    await world.store.reports.record_findings(await _report(world, present=(id_,)))


async def _new_history(world: World, _id: str, _below: dict[str, str]) -> None:
    await world.operator.renew_history()


STEPS: tuple[Step, ...] = (_online, _absent, _present, _out_of_reach, _in_reach, _nobody_looks, _back, _new_history)


async def _seen(world: World) -> dict[str, tuple[object, ...]]:
    """Statuses and time, by id."""
    return {
        row.id: (row.provisioning_status, row.operating_status, row.updated_at)
        for table in TABLES
        for row in await world.rows(table)
    }


async def _age(world: World) -> None:
    for table in TABLES:
        await world.db.write(lambda c, table=table: c.execute(update(table).values(updated_at=LONG_AGO)))


async def test_updated_at_changes_with_every_status_and_only_then(world: World) -> None:
    await world.agent("a1")
    load_balancer = await world.placed()
    below = await world.tree(load_balancer)
    await world.placed()  # PENDING_CREATE, below the same devices
    await world.report(applied(load_balancer.id))
    changed: set[str] = set()
    for step in STEPS:
        await _age(world)
        before = await _seen(world)
        await step(world, load_balancer.id, below)
        after = await _seen(world)
        for id_, (provisioning, operating, at) in after.items():
            same = before[id_] == (provisioning, operating, LONG_AGO)
            pending = str(provisioning).startswith("PENDING") and before[id_][0] == provisioning
            assert (at == LONG_AGO) == (same or pending), (step.__name__, id_, before[id_], after[id_])
            changed |= set() if same else {step.__name__}
    assert changed == {step.__name__ for step in STEPS}


def _updates(tree: ast.AST) -> Iterator[ast.Call]:
    """Whole chains of calls that begin with ``update(table)``."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in inner:
            continue
        first: ast.expr = node
        while isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute):
            first = first.func.value
        if isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "update":
            yield node


def _set_by(statement: ast.Call) -> str:
    """What its ``values`` are, as text."""
    node: ast.expr = statement
    found = ""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("values", "ordered_values"):
            found += ast.unparse(ast.Call(ast.Name("set"), node.args, node.keywords))
        node = node.func.value
    return found


def test_no_statement_sets_a_status_alone() -> None:
    alone = [
        f"{file.name}: {values}"
        for file in Path(evenkeel.store.__file__).parent.rglob("*.py")
        for values in map(_set_by, _updates(ast.parse(file.read_text())))
        if any(name in values for name in STATUSES) and "updated_at" not in values
    ]
    assert not alone

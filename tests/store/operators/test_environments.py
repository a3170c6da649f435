"""Environments: made, changed, resumed, removed; each said once."""

from typing import Any

import pytest
from sqlalchemy import update

from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.core.resources.statuses import FailbackMode
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.store.builders import AGENT, add_agent, add_shard, bare, create

WHOLE: dict[str, Any] = {
    "device_driver": "noop",
    "description": "for us",
    "failback": FailbackMode.MANUAL,
    "breaker_share": 0.25,
    "breaker_agents": 5,
}


async def kinds(store: SqlStore) -> list[str]:
    return [event.kind for event in await store.operators.events()][1:]


async def halt(store: SqlStore, name: str = "prod") -> None:
    statement = update(schema.environment).where(schema.environment.c.name == name)
    await store.database.write(
        lambda connection: connection.execute(statement.values(halted_at=db_now(), halted_reason="3 of 4 are silent"))
    )


async def test_environments_come_back_whole_and_by_name(store: SqlStore) -> None:
    added = await store.operators.add_environment(Environment(name="dev", **WHOLE))

    found = await store.operators.environments()

    assert [environment.name for environment in found] == ["dev", "prod"]
    assert found[0] == added
    assert {name: getattr(added, name) for name in WHOLE} == WHOLE
    assert added.created_at > 0 and added.halted_at is None


async def test_adding_the_same_again_is_harmless_and_silent(store: SqlStore) -> None:
    added = [await store.operators.add_environment(Environment(name="dev", **WHOLE)) for _ in range(2)]

    assert added[0] == added[1]
    assert await kinds(store) == ["environment_added"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("device_driver", "bigip"),
        ("description", ""),
        ("failback", FailbackMode.AUTO),
        ("breaker_share", 0.5),
        ("breaker_agents", 3),
    ],
)
async def test_one_that_differs_is_a_conflict_that_names_the_field(store: SqlStore, field: str, value: Any) -> None:
    before = await store.operators.add_environment(Environment(name="dev", **WHOLE))

    with pytest.raises(Conflict, match=rf"dev exists with {field} .* and not "):
        await store.operators.add_environment(Environment(name="dev", **WHOLE | {field: value}))

    assert (await store.operators.environments())[0] == before


async def test_changes_are_kept_and_reported_once(store: SqlStore) -> None:
    changes = {"failback": FailbackMode.NEVER, "breaker_share": 1.0, "breaker_agents": 2, "description": "new"}

    changed = [await store.operators.update_environment("prod", changes) for _ in range(2)]

    assert changed[0] == changed[1] == (await store.operators.environments())[0]
    assert {name: getattr(changed[0], name) for name in changes} == changes
    assert await kinds(store) == ["environment_changed"]
    assert "failback from 'auto' to 'never'" in (await store.operators.events())[-1].text


@pytest.mark.parametrize(
    "changes",
    [
        {"device_driver": "bigip"},
        {"name": "x"},
        {"breaker_share": 1.5},
        {"breaker_share": float("nan")},
        {"breaker_agents": 0},
        {"failback": "sometimes"},
        {"description": None},
    ],
)
async def test_impossible_changes_change_nothing(store: SqlStore, changes: dict[str, Any]) -> None:
    before = await store.operators.environments()

    with pytest.raises(Invalid, match=next(iter(changes))):
        await store.operators.update_environment("prod", changes)

    assert await store.operators.environments() == before
    assert await kinds(store) == []


async def test_resuming_closes_the_circuit_breaker_once(store: SqlStore) -> None:
    await halt(store)
    (before,) = await store.operators.environments()
    assert before.halted_at is not None and before.halted_reason == "3 of 4 are silent"

    for _ in range(2):
        resumed = await store.operators.resume_environment("prod")
        assert (resumed.halted_at, resumed.halted_reason) == (None, "")

    assert await kinds(store) == ["environment_resumed"]
    row = await store.database.read(lambda connection: connection.execute(schema.environment.select()).one())
    assert row.resumed_at >= before.halted_at


async def test_an_environment_in_use_stays(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await create(store, bare())

    with pytest.raises(Conflict, match=r"prod has 1 agent and 1 load balancer"):
        await store.operators.delete_environment("prod")
    await store.database.write(lambda connection: connection.execute(schema.load_balancer.delete()))
    with pytest.raises(Conflict, match=r"prod has 1 agent and 0 load balancers"):
        await store.operators.delete_environment("prod")

    assert len(await store.operators.environments()) == 1


async def test_an_environment_goes_with_its_empty_shards_and_can_be_made_again(store: SqlStore) -> None:
    await add_agent(store, ttl_seconds=None)
    await add_shard(store)
    await store.operators.add_environment(Environment(name="dev", device_driver="noop"))
    await add_shard(store, "other", environment="dev")
    await store.operators.delete_agent(AGENT)

    await store.operators.delete_environment("prod")

    assert [row.name for row in await store.operators.environments()] == ["dev"]
    assert [row.id for row in await store.operators.shards()] == ["other"]
    assert (
        await store.operators.add_environment(Environment(name="prod", device_driver="bigip"))
    ).device_driver == "bigip"


async def test_an_unknown_environment_is_not_found(store: SqlStore) -> None:
    for ask in (
        store.operators.update_environment("nope", {"description": "x"}),
        store.operators.resume_environment("nope"),
        store.operators.delete_environment("nope"),
    ):
        with pytest.raises(NotFound, match="Environment nope"):
            await ask

"""A load balancer that is placed as it is made is placed where the rule would place it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, select

from evenkeel.core.kit.values import Value
from evenkeel.core.placement import choose_group
from evenkeel.store.engine.clock import db_now
from evenkeel.store.ownership.capacity import UNLIMITED_CAPACITY
from evenkeel.store.records import schema
from tests.store.builders import PROJECT, bare, vip
from tests.store.conftest import empty
from tests.store.rule_world import RuleWorld, rule_world_fixture

__all__ = ["rule_world_fixture"]

LIMITED = '{"figures":{"tenant_count":{"value":0.0,"limit":10.0}},"reserved":{}}'


class GroupRow(Value):
    """A device group of environment ``prod``, with one agent."""

    score: float
    limited: bool
    held: bool
    """The tenant has a shard there."""
    up: bool
    """Its agent is."""


groups = st.lists(
    st.builds(
        GroupRow,
        score=st.sampled_from((0.0, 0.3, 0.5, 1.0)),
        limited=st.booleans(),
        held=st.booleans(),
        up=st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


def fill(connection: Connection, some: list[GroupRow]) -> None:
    empty(connection)
    connection.execute(insert(schema.environment).values(name="prod", device_driver="noop", created_at=0.0))
    for number, group in enumerate(some, start=1):
        kind: dict[str, Any] = {"environment": "prod", "device_driver": "noop", "ha_type": "pair", "created_at": 0.0}
        capacity = LIMITED if group.limited else UNLIMITED_CAPACITY
        connection.execute(
            insert(schema.device_group).values(
                **kind,
                number=number,
                reschedule="control",
                endpoints="[]",
                capacity=capacity,
                capacity_score=group.score,
            )
        )
        agent_id = f"agent-{number}"
        ends = db_now() + (600.0 if group.up else -600.0)
        session = {"session_id": agent_id, "session_expires_at": ends, "session_ttl_seconds": 600.0}
        connection.execute(
            insert(schema.agent).values(**kind, id=agent_id, group_number=number, host=agent_id, **session)
        )
        if group.held:
            owner = {"home_agent_id": agent_id, "acting_agent_id": agent_id, "epoch": 1, "created_at": 0.0}
            place = {"environment": "prod", "group_number": number, "project_id": PROJECT}
            connection.execute(insert(schema.shard).values(id=f"shard-{number}", **place, **owner))


@given(groups, st.none() | st.integers(1, 4))
def test_a_new_load_balancer_is_placed_where_the_rule_places_it(
    rule_world: RuleWorld, some: list[GroupRow], zone: int | None
) -> None:
    rule_world.write(lambda connection: fill(connection, some))
    change = rule_world.run(rule_world.store.tenants.create_load_balancer(bare(zone_group_number=zone), vip()))
    views = rule_world.run(
        rule_world.store.scheduling.read_placement_groups(
            "prod", PROJECT, settle_seconds=0.0, load_balancer_id=change.load_balancer_id
        )
    )
    allowed: set[int] = set()
    choose_group(views, lambda equals: allowed.update(view.number for view in equals) or equals[0])
    root, shard = schema.load_balancer, schema.shard
    statement = select(shard.c.group_number).join(root, root.c.shard_id == shard.c.id)
    placed = rule_world.read(lambda connection: connection.scalar(statement))
    found = rule_world.run(rule_world.store.scheduling.shard_with_capacity("prod", PROJECT, zone))

    assert change.placed == (placed is not None) == (found is not None)
    if placed is not None:
        assert placed in allowed
        assert found is not None and found.shard_id == f"shard-{placed}"
        assert not some[placed - 1].limited
    else:  # the scheduler does it: it reserves what is limited, and makes shards
        assert not allowed or any(some[number - 1].limited or not some[number - 1].held for number in allowed)

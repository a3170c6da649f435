"""The first operating status that a statement writes is the one that core/operating says: for every case there is."""

from collections.abc import Iterator
from itertools import count, product
from typing import Any

import pytest
from sqlalchemy import Connection, Table, create_engine, insert, select

from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, Listener, Member, Pool
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus
from evenkeel.core.status.operating import (
    member_status_after_confirmation,
    status_after_confirmation,
    unobserved_status,
)
from evenkeel.store.records import schema
from evenkeel.store.records.rows import row_from_resource
from evenkeel.store.reports.applied import _first_operating_status
from tests.store.builders import l7policy, l7rule, listener, member, monitor, pool

NEW = (ProvisioningStatus.PENDING_CREATE, ProvisioningStatus.ERROR)
"""ERROR: perhaps it never got to the device."""
WATCHED, UNWATCHED = "watched", "unwatched"
"""Pools."""

Child = HealthMonitor | L7Policy | L7Rule | Listener | Member | Pool


@pytest.fixture(name="connection")
def connection_fixture() -> Iterator[Connection]:
    """An empty database that does not ask where children hang."""
    engine = create_engine("sqlite://")
    schema.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(insert(schema.health_monitor).values(**row_from_resource(monitor(pool_id=WATCHED))))
        yield connection
    engine.dispose()


def cases(make: Any, **values: Any) -> list[Child]:
    """One for each combination of what the status may depend on."""
    number = count(1)
    return [
        make(
            **values | unique(make, next(number)),
            operating_status=operating,
            provisioning_status=provisioning,
            admin_state_up=enabled,
        )
        for operating, provisioning, enabled in product(OperatingStatus, ProvisioningStatus, (True, False))
    ]


def unique(make: Any, number: int) -> dict[str, Any]:
    """What may not be the same in two of them."""
    if make is listener:
        return {"protocol_port": number}
    if make is member:
        return {"number": number}
    return {"pool_id": f"pool-{number}"} if make is monitor else {}


def stored(connection: Connection, table: Table, children: list[Child], *, carries_traffic: bool) -> dict[str, str]:
    """What the statement makes of each, by id."""
    connection.execute(insert(table), [row_from_resource(child) for child in children])
    rows = connection.execute(select(table.c.id, _first_operating_status(table, carries_traffic)))
    return {row[0]: row[1] for row in rows}


@pytest.mark.parametrize("carries_traffic", [True, False])
@pytest.mark.parametrize(("table", "make"), [(schema.listener, listener), (schema.pool, pool)])
def test_listeners_and_pools(connection: Connection, table: Table, make: Any, carries_traffic: bool) -> None:
    children = cases(make)
    written = stored(connection, table, children, carries_traffic=carries_traffic)
    for child in children:
        new = child.provisioning_status in NEW
        expected = status_after_confirmation(
            child.operating_status, new=new, enabled=child.admin_state_up, carries_traffic=carries_traffic
        )
        assert written[child.id] == expected


@pytest.mark.parametrize("pool_id", [WATCHED, UNWATCHED])
def test_members(connection: Connection, pool_id: str) -> None:
    children = cases(member, pool_id=pool_id)
    written = stored(connection, schema.member, children, carries_traffic=True)
    for child in children:
        new = child.provisioning_status in NEW
        expected = member_status_after_confirmation(
            child.operating_status, new=new, enabled=child.admin_state_up, monitored=pool_id == WATCHED
        )
        assert written[child.id] == expected


@pytest.mark.parametrize(
    ("table", "make"),
    [(schema.health_monitor, monitor), (schema.l7policy, l7policy), (schema.l7rule, l7rule)],
)
def test_status_of_objects_that_no_device_observes(connection: Connection, table: Table, make: Any) -> None:
    children = cases(make)
    written = stored(connection, table, children, carries_traffic=True)
    for child in children:
        assert written[child.id] == unobserved_status(enabled=child.admin_state_up)

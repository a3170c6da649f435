"""Inputs of placement for each device group: settings, agents, devices, and the environment's circuit breaker."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from evenkeel.core.kit.circuit_breaker import BreakerState
from evenkeel.core.kit.values import Value
from evenkeel.core.placement import GroupSnapshot
from evenkeel.core.placement.reach import Reachability, ReachabilityKind
from evenkeel.core.resources.statuses import FailbackMode, RescheduleMode
from evenkeel.store.ownership.agent_views import AgentWithGroup, name_list_decoder, snapshots_by_group
from evenkeel.store.records import schema

_device_group = schema.device_group
_environment = schema.environment


class GroupRules(Value):
    """Inputs of placement for one group: settings, agents, and the reachability of its devices."""

    group: GroupSnapshot
    """Snapshot of the device group without its shards."""
    reach: Reachability
    """Recorded reachability of the group's devices."""


def reachability_from_row(row: Any) -> Reachability:
    """Return the recorded reachability of the devices from a device group's row."""
    return Reachability(kind=ReachabilityKind(row.reach), away=name_list_decoder.decode(row.away_devices))


_READ_RULES = select(
    _environment.c.name,
    _environment.c.failback,
    _environment.c.breaker_share,
    _environment.c.breaker_agents,
    _environment.c.halted_at,
    _environment.c.resumed_at,
    _device_group.c.number,
    _device_group.c.reschedule,
    _device_group.c.reach,
    _device_group.c.away_devices,
    # An outer join: an environment without device groups has a circuit breaker all the same.
).select_from(_environment.outerjoin(_device_group, _device_group.c.environment == _environment.c.name))


def read_group_rules(
    connection: Connection, agents: Iterable[AgentWithGroup], environment: str | None = None
) -> tuple[dict[tuple[str, int], GroupRules], dict[str, BreakerState]]:
    """Return {(environment, group number): rules} with the groups' ``agents``, and {environment: circuit
    breaker}. ``environment``: only of this one; None: of all. One statement.
    """
    seen = snapshots_by_group(agents)
    statement = _READ_RULES if environment is None else _READ_RULES.where(_environment.c.name == environment)
    rows = connection.execute(statement).all()
    rules = {
        (row.name, row.number): GroupRules(
            group=GroupSnapshot(
                agents=tuple(seen.get((row.name, row.number), ())),
                reschedule=RescheduleMode(row.reschedule),
                failback=FailbackMode(row.failback),
                halted=row.halted_at is not None,
            ),
            reach=reachability_from_row(row),
        )
        for row in rows
        if row.number is not None
    }
    breakers = {
        row.name: BreakerState(
            share=row.breaker_share, agents=row.breaker_agents, halted_at=row.halted_at, resumed_at=row.resumed_at
        )
        for row in rows
    }
    return rules, breakers

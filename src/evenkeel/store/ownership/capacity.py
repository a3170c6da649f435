"""Capacity of device groups: the figures that agents report, and reservations for placed load balancers that
the figures do not include yet.

Whatever changes the utilization of a group with a capacity policy locks and writes the group's row: two
concurrent placements are serialized on a single server, and on a Galera cluster one of them fails at COMMIT
and runs again. So such a group, once it is full, gets no further load balancer, however many controllers
place on it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    distinct,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.kit.values import Wire
from evenkeel.core.placement import FULL_SCORE
from evenkeel.core.protocol.messages import Register, ReportState
from evenkeel.core.resources import capacity
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.engine.statements import json_text
from evenkeel.store.ownership.sql import ConcurrentUpdate, is_live
from evenkeel.store.records import schema

REPORT_SLACK_SECONDS = 5.0
"""Seconds for which a report may be in transit: its capacity figures may be so much older than it states."""
CLOCK_JUMP_SECONDS = 2.0
"""Maximum change, between two reports, of the difference between the database's clock and an agent's; a larger one is
a jump, or a late report.
"""
UNLIMITED_CAPACITY = "{}"
"""Value of ``device_group.capacity`` for a group whose agents have no capacity policy."""

_agent = schema.agent
_device_group = schema.device_group
_load_balancer = schema.load_balancer
_member = schema.member
_capacity_reservation = schema.capacity_reservation


class ReportClock(Wire):
    """Two times of one report: when the agent sent it, by the agent's monotonic clock, and when it was stored, by the
    database's clock.
    """

    session_id: SessionId
    sent_at_seconds: float
    stored_at_seconds: float

    def has_no_jump_until(self, later: "ReportClock") -> bool:
        """Whether the database's clock did not jump between this report and a later one."""
        passed = later.stored_at_seconds - self.stored_at_seconds
        return (
            self.session_id == later.session_id
            and abs(passed - (later.sent_at_seconds - self.sent_at_seconds)) <= CLOCK_JUMP_SECONDS
        )


class GroupCapacity(Wire):
    """Content of the column ``device_group.capacity``, stored as JSON; controllers of adjacent versions read
    it.
    """

    figures: dict[str, CapacityFigure] = {}
    """{metric: value and limit}, last reported by one of the group's agents."""
    reserved: dict[str, float] = {}
    """{metric: amount} reserved for load balancers that the figures do not include yet."""
    clocks: dict[AgentId, ReportClock] = {}
    """{agent id: clocks of its last report that found reservations}."""

    @property
    def score(self) -> float:
        """Highest share of a limit that the group uses, including reservations; 1 or more: full."""
        return capacity.capacity_score(self.figures, self.reserved)

    @property
    def metrics_at_limit(self) -> tuple[str, ...]:
        """Metrics that have reached their limits, including reservations, as texts for people."""
        return capacity.metrics_at_limit(self.figures, self.reserved)

    def with_reservations(self, amounts: Mapping[str, float]) -> "GroupCapacity":
        """Return a copy with further reservations. ``amounts``: {metric: amount to add}."""
        reserved = {name: self.reserved.get(name, 0.0) + amounts.get(name, 0.0) for name in {*self.reserved, *amounts}}
        return replace(self, reserved=reserved)


_group_capacity_decoder = msgspec.json.Decoder(GroupCapacity)
_amounts_decoder = msgspec.json.Decoder(dict[str, float])


def decode_group_capacity(text: str) -> GroupCapacity:
    """Decode the JSON text of the column ``device_group.capacity``."""
    return _group_capacity_decoder.decode(text)


def has_capacity_policy(environment: Any, number: Any) -> ColumnElement[bool]:
    """Return the SQL condition that the device group has a capacity policy."""
    return exists().where(*_is_this_group(environment, number), _device_group.c.capacity != UNLIMITED_CAPACITY)


def _is_this_group(environment: Any, number: Any) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _device_group.c.environment == environment, _device_group.c.number == number


# -- placing

_LIMITED_LOCKED = (
    select(_device_group.c.capacity)
    .where(
        *_is_this_group(bindparam("b_environment"), bindparam("b_group")),
        _device_group.c.capacity != UNLIMITED_CAPACITY,
    )
    .with_for_update()
)


def reserve_capacity(connection: Connection, load_balancer_id: LoadBalancerId, shard: Any) -> None:
    """Reserve capacity of the device group for a load balancer in ``shard``, until a measurement includes the
    load balancer. Nothing is reserved without a capacity policy, or if none of the policy's metrics counts
    objects.

    One statement without a policy, at most four with one. Raises :class:`ConcurrentUpdate` if the group is
    full.
    """
    text = connection.scalar(_LIMITED_LOCKED, {"b_environment": shard.environment, "b_group": shard.group_number})
    # Without a policy no row was locked: such groups are placed on concurrently.
    if text is None:
        return
    known = decode_group_capacity(text)
    if known.score >= FULL_SCORE:  # filled since the decision, by another placement or a report
        raise ConcurrentUpdate
    # Metrics that cannot be computed from a load balancer change only with the next measurement.
    counted = capacity.COUNTED_METRICS & known.figures.keys()
    wanted = _needed_amounts(connection, load_balancer_id, shard.id) if counted else {}
    amounts = {name: amount for name, amount in wanted.items() if name in counted}
    if not amounts:
        return
    connection.execute(
        insert(_capacity_reservation).values(
            load_balancer_id=load_balancer_id,
            environment=shard.environment,
            group_number=shard.group_number,
            amounts=json_text(amounts),
        )
    )
    _write_capacity(connection, shard.environment, shard.group_number, known.with_reservations(amounts))


def _needed_amounts(connection: Connection, load_balancer_id: LoadBalancerId, shard_id: ShardId) -> dict[str, float]:
    # one marked deleted does not count: it may leave the device before this one is applied
    others = exists().where(
        _load_balancer.c.shard_id == shard_id,
        _load_balancer.c.id != load_balancer_id,
        _load_balancer.c.deleted == false(),
    )
    addresses = (
        select(func.count(distinct(_member.c.address)))
        .where(_member.c.load_balancer_id == load_balancer_id, _member.c.deleted == false())
        .scalar_subquery()
    )
    row = connection.execute(select(others.label("others"), addresses.label("addresses"))).one()
    return capacity.amounts_of_new_load_balancer(row.addresses, new_tenant=not row.others)


# -- confirmations and measurements


def confirm_reservations(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId]) -> None:
    """Record that devices hold these load balancers now: the next measurement that begins after this includes them, so
    their reservations can be deleted.
    """
    connection.execute(
        update(_capacity_reservation)
        .where(
            is_in_list(_capacity_reservation.c.load_balancer_id, load_balancer_ids),
            _capacity_reservation.c.confirmed_at.is_(None),
        )
        .values(confirmed_at=db_now())
    )


def store_figures_of_registration(connection: Connection, call: Register) -> None:
    """Store the capacity figures of a registering agent if its group has none yet: no load balancer is placed
    before the limits are known.
    """
    known = GroupCapacity(figures=call.capacity)
    connection.execute(
        update(_device_group)
        .where(*_is_this_group(call.environment, call.group_number), _device_group.c.capacity == UNLIMITED_CAPACITY)
        .values(capacity=json_text(known), capacity_score=known.score)
    )


def store_figures_of_report(connection: Connection, environment: str, number: int, report: ReportState) -> None:
    """Store the capacity figures of an agent's report, and delete the reservations of load balancers that the
    figures include. Nothing changes if the agent has a policy and could not measure.

    If the agent has no policy, the group's limits and reservations are deleted, unless another live agent of
    the group has one.
    """
    # The agent has a policy and could not measure: the last figures stay.
    if report.capacity_unknown:
        return
    if report.capacity:
        _store_capacity(connection, environment, number, report)
    else:
        _clear_capacity(connection, environment, number)


def _store_capacity(connection: Connection, environment: str, number: int, report: ReportState) -> None:
    here = (_capacity_reservation.c.environment == environment, _capacity_reservation.c.group_number == number)
    group = connection.execute(
        select(_device_group.c.capacity, db_now().label("now"))
        .where(*_is_this_group(environment, number))
        .with_for_update()
    ).first()
    if group is None:
        return
    known = decode_group_capacity(group.capacity)
    # Reservations are summed anew from their rows below, so that an error of rounding or a lost row cannot last.
    now = GroupCapacity(figures=report.capacity, clocks=known.clocks)
    if known.reserved:
        now = _drop_included_reservations(connection, now, report, here, float(group.now))
    for text in connection.scalars(select(_capacity_reservation.c.amounts).where(*here)):
        now = now.with_reservations(_amounts_decoder.decode(text))
    # An unchanged group is not written: every agent of the group reports the same devices.
    if known != now:
        _write_capacity(connection, environment, number, now)


def _drop_included_reservations(
    connection: Connection,
    known: GroupCapacity,
    report: ReportState,
    group_conditions: Sequence[ColumnElement[bool]],
    now_seconds: float,
) -> GroupCapacity:
    """Delete the reservations that the report's figures include; return ``known`` with the clocks of this
    report.

    If the database's clock may have jumped since the agent's last report, stored times cannot be compared
    with it: then no reservation is deleted, and all confirmed reservations count as confirmed now.
    """
    clock = ReportClock(
        session_id=report.session_id, sent_at_seconds=report.sent_at_seconds, stored_at_seconds=now_seconds
    )
    last = known.clocks.get(report.agent_id)
    confirmed_at = _capacity_reservation.c.confirmed_at
    if report.sent_at_seconds and (last is None or not last.has_no_jump_until(clock)):
        # Too cautious rather than too early: a reservation that counts one report longer only delays placements.
        connection.execute(
            update(_capacity_reservation)
            .where(*group_conditions, confirmed_at.is_not(None))
            .values(confirmed_at=db_now())
        )
    else:
        since = db_now() - float(report.capacity_measured_seconds_ago + REPORT_SLACK_SECONDS)
        # in the future: stored before the database's clock was set back
        included = or_(confirmed_at < since, confirmed_at > db_now() + REPORT_SLACK_SECONDS)
        connection.execute(delete(_capacity_reservation).where(*group_conditions, included))
    return replace(known, clocks={**known.clocks, report.agent_id: clock})


def _clear_capacity(connection: Connection, environment: str, number: int) -> None:
    """Handle the report of an agent without a capacity policy: unless a live agent of the group has one, the
    group's limits and reservations are deleted.

    The group's score is then the highest that a live agent reports, because all agents measure the same
    devices.
    """
    living = and_(_agent.c.environment == environment, _agent.c.group_number == number, is_live())
    fullest = select(func.coalesce(func.max(_agent.c.capacity_score), 0.0)).where(living).scalar_subquery()
    changed = connection.execute(
        update(_device_group)
        .where(
            *_is_this_group(environment, number),
            # While agents are restarted with a new policy, those that have one decide.
            ~exists().where(living, _agent.c.capacity != UNLIMITED_CAPACITY),
            or_(_device_group.c.capacity_score != fullest, _device_group.c.capacity != UNLIMITED_CAPACITY),
        )
        .values(capacity=UNLIMITED_CAPACITY, capacity_score=fullest)
    )
    if changed.rowcount:
        connection.execute(
            delete(_capacity_reservation).where(
                _capacity_reservation.c.environment == environment, _capacity_reservation.c.group_number == number
            )
        )


def _write_capacity(connection: Connection, environment: str, number: int, known: GroupCapacity) -> None:
    connection.execute(
        update(_device_group)
        .where(*_is_this_group(environment, number))
        .values(capacity=json_text(known), capacity_score=known.score)
    )

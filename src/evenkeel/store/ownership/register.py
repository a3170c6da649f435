"""Opens sessions: checks whether this process may be the agent of (environment, group, host).

Two processes for the same agent, or two agents with different settings of one device group, are faults that
no later check can repair; so they are refused here. The refusal of a different setting names the field and
both values. Registrations of one environment are serialized on its row.
"""

import uuid
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    and_,
    func,
    not_,
    or_,
    select,
    update,
)

from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId
from evenkeel.core.kit.names import name_and_id
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.ports.ownership import ArrivedKeepalive
from evenkeel.core.protocol.messages import Keepalive, Register
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.returning import update_returning
from evenkeel.store.engine.statements import insert_if_absent, json_text
from evenkeel.store.networks.shard_locations import decode_layout
from evenkeel.store.ownership.capacity import store_figures_of_registration
from evenkeel.store.ownership.devices import CONTRADICTION_CODE, check_registered_devices, merge_identities
from evenkeel.store.ownership.former_agents import store_keepalive_count, take_keepalive_count
from evenkeel.store.ownership.session_renewals import (
    CONFIRMED_STATE_COLUMNS,
    OpenedSession,
    RenewedSession,
    build_opened_sessions,
    renew_sessions,
)
from evenkeel.store.ownership.sql import FREED_SHARD_VALUES, is_live
from evenkeel.store.records import schema
from evenkeel.store.vips.port_changes import make_group_ports_due_for_binding
from evenkeel.store.writing.events import record_event

UNKNOWN_ENVIRONMENT_CODE = "unknown_environment"
DUPLICATE_CODE = "duplicate"
BAD_SEALING_KEY_CODE = "bad_sealing_key"
SEALING_KEY_BYTES_MAX = 64

_agent = schema.agent
_device_group = schema.device_group
_shard = schema.shard


def open_session(connection: Connection, call: Register, ttl_seconds: float) -> OpenedSession:
    """Open the agent's session, with an event, or renew it if it is the live one, and return its state;
    ``ttl_seconds``: time after which it expires without keepalive.

    Creates the device group and its common shard if they are missing; frees the shards of the agent's former
    session; deletes the row of the host's former agent. Raises :class:`CallRefused` for a sealing key that is
    too long, an unknown environment, settings or devices that contradict those of the environment or group,
    another live session of the agent or host, and shards that the agent has in another group, or the host's
    former agent still has.
    """
    _check_sealing_key(call)
    _check_environment(connection, call)
    # These checks come after the environment's row was written, which serializes registrations.
    group = _read_and_check_group(connection, call)
    check_registered_devices(connection, call)
    claims = _rows_of_same_agent(connection, call)
    _check_duplicates(call, claims)
    mine = next((row for row in claims if row.id == call.agent_id), None)
    if mine is not None and mine.live:  # a repeated registration, whose answer was lost
        return _renew_session(connection, call, ttl_seconds)
    _check_group_change(connection, call, mine)
    _replace_predecessor(connection, call, claims)
    # Shards are locked before agents: see the order of locks in sql.py.
    _free_former_shards(connection, call.agent_id)
    started = _start_session(connection, call, ttl_seconds, known=mine is not None)
    _make_common_shard(connection, call)
    _store_group(connection, call, group)
    if call.capacity:
        store_figures_of_registration(connection, call)
    record_event(
        connection,
        kind="agent_registered",
        text=f"agent {name_and_id(call.host, call.agent_id)} registered in device group"
        f" {call.environment}/{call.group_number}",
        environment=call.environment,
        agent_id=call.agent_id,
    )
    return build_opened_sessions(connection, [RenewedSession(call.agent_id, started, call.seen)], ttl_seconds)[0]


# -- checks


def _check_sealing_key(call: Register) -> None:
    if len(call.sealing_key) > SEALING_KEY_BYTES_MAX:
        text = f"sealing_key: {len(call.sealing_key)} bytes; there may be {SEALING_KEY_BYTES_MAX}"
        raise CallRefused(BAD_SEALING_KEY_CODE, text)


def _check_environment(connection: Connection, call: Register) -> None:
    environment = schema.environment
    here = environment.c.name == call.environment
    # A write, not only a lock: on a Galera cluster two registrations at two nodes conflict only in rows that both
    # write.
    connection.execute(update(environment).where(here).values(registrations=environment.c.registrations + 1))
    driver = connection.scalar(select(environment.c.device_driver).where(here))
    if driver is None:
        raise CallRefused(UNKNOWN_ENVIRONMENT_CODE, f"environment {call.environment} does not exist")
    if driver != call.device_driver:
        raise _contradicting_setting(
            call, "device_driver", call.device_driver, driver, f"environment {call.environment}"
        )


def _read_and_check_group(connection: Connection, call: Register) -> Any:
    """Check the agent's settings against those of its device group: the device driver always, other settings
    while another agent is live. Return the group's row; None if there is none yet.

    If other settings differ, the sessions of the group's silent agents end. Raises :class:`CallRefused` for a
    setting that differs.
    """
    group = connection.execute(
        select(_device_group).where(
            _device_group.c.environment == call.environment, _device_group.c.number == call.group_number
        )
    ).first()
    if group is None:
        return None
    where = f"device group {call.environment}/{call.group_number}"
    if group.device_driver != call.device_driver:
        raise _contradicting_setting(call, "device_driver", call.device_driver, group.device_driver, where)
    expected = set(msgspec.json.decode(group.endpoints, type=tuple[str, ...]))
    same_endpoints = expected == set(call.endpoints)
    same_layout = decode_layout(group.network_layout) == call.network_layout
    if group.ha_type == call.ha_type.value and same_endpoints and same_layout:
        return group
    _end_silent_sessions(connection, call)
    # The last agent of a group may return with other devices: no live agent contradicts it.
    if not _has_other_live_agent(connection, call):
        return group
    if group.ha_type != call.ha_type.value:
        raise _contradicting_setting(call, "ha_type", call.ha_type.value, group.ha_type, where)
    if not same_endpoints:
        raise _contradicting_setting(
            call, "endpoints", ", ".join(sorted(call.endpoints)), ", ".join(sorted(expected)), where
        )
    mine, stored = json_text(call.network_layout), group.network_layout
    raise _contradicting_setting(call, "network_layout", mine, stored, where)


def _end_silent_sessions(connection: Connection, call: Register) -> None:
    """End the sessions of silent agents of the device group, whose settings change with the agent that registers.

    A keepalive must not revive agents with other settings: they have to register and be checked.
    """
    connection.execute(
        update(_agent)
        .where(
            _agent.c.environment == call.environment,
            _agent.c.group_number == call.group_number,
            _agent.c.id != call.agent_id,
            _agent.c.session_id.is_not(None),
            not_(is_live()),
        )
        .values(session_id=None, silent_since=None)
    )


def _has_other_live_agent(connection: Connection, call: Register) -> bool:
    statement = select(_agent.c.id).where(
        _agent.c.environment == call.environment,
        _agent.c.group_number == call.group_number,
        _agent.c.id != call.agent_id,
        is_live(),
    )
    return connection.execute(statement.limit(1)).first() is not None


def _rows_of_same_agent(connection: Connection, call: Register) -> list[Any]:
    """Return the agents' rows with this agent id, or with this (environment, group, host): none, one, or one of
    each.
    """
    place = and_(
        _agent.c.environment == call.environment,
        _agent.c.group_number == call.group_number,
        _agent.c.host == call.host,
    )
    statement = select(
        _agent.c.id,
        _agent.c.environment,
        _agent.c.group_number,
        _agent.c.host,
        _agent.c.session_id,
        is_live().label("live"),
        (_agent.c.session_expires_at - db_now()).label("remaining_seconds"),
    ).where(or_(_agent.c.id == call.agent_id, place))
    return list(connection.execute(statement))


def _check_duplicates(call: Register, rows: list[Any]) -> None:
    for row in rows:
        if row.live and row.session_id != call.session_id:
            raise CallRefused(
                DUPLICATE_CODE,
                f"agent {row.id} on {row.host} of device group {row.environment}/{row.group_number} has a live"
                f" session, which ends in {row.remaining_seconds:.1f} s unless it is kept alive",
                retry_after_seconds=max(0.0, row.remaining_seconds),
            )


def _check_group_change(connection: Connection, call: Register, stored_row: Any) -> None:
    """Check that the agent has not changed its device group while it has shards; it may change its host.
    Raises :class:`CallRefused` if it has changed its group. ``stored_row``: the agent's stored row; None:
    the agent is new.
    """
    if stored_row is None or (stored_row.environment, stored_row.group_number) == (call.environment, call.group_number):
        return
    if _count_shards(connection, stored_row.id):
        raise _contradicting_setting(
            call,
            "environment_group_number",
            f"{call.environment}/{call.group_number}",
            f"{stored_row.environment}/{stored_row.group_number}",
            f"agent {stored_row.id}, which has shards there",
        )


def _replace_predecessor(connection: Connection, call: Register, rows: list[Any]) -> None:
    """Delete the row of another agent id for this host. Raises :class:`CallRefused` if a shard has that agent
    as home or acting agent, or its session is live.
    """
    for row in rows:
        if row.id == call.agent_id:
            continue
        shards = _count_shards(connection, row.id)
        if shards:
            raise CallRefused(
                CONTRADICTION_CODE,
                f"agent_id: {call.host} of device group {call.environment}/{call.group_number} was agent {row.id},"
                f" which {count_with_noun(shards, 'shard is', 'shards are')} bound to, and this process says"
                f" {call.agent_id}; start it with the former agent id, or delete that agent",
            )
        # The former agent's process may still run and come back.
        store_keepalive_count(connection, row.id)
        # Checked again in the statement: its keepalive may have arrived since the row was read.
        removed = connection.execute(_agent.delete().where(_agent.c.id == row.id, not_(is_live())))
        if removed.rowcount == 0:
            raise _duplicate_session(call)


def _count_shards(connection: Connection, agent_id: AgentId) -> int:
    statement = select(func.count()).where(
        or_(_shard.c.home_agent_id == agent_id, _shard.c.acting_agent_id == agent_id)
    )
    return connection.scalar(statement) or 0


def _contradicting_setting(call: Register, field: str, value: str, expected: str, where: str) -> CallRefused:
    return CallRefused(CONTRADICTION_CODE, f"{field}: agent {call.agent_id} says {value!r}, {where} says {expected!r}")


def _duplicate_session(call: Register) -> CallRefused:
    return CallRefused(DUPLICATE_CODE, f"another session of agent {call.agent_id} on {call.host} was opened meanwhile")


# -- effects


def _renew_session(connection: Connection, call: Register, ttl_seconds: float) -> OpenedSession:
    keepalive = Keepalive(agent_id=call.agent_id, session_id=call.session_id, seen=call.seen)
    renewed = renew_sessions(connection, [ArrivedKeepalive(call=keepalive)], ttl_seconds)[0]
    if renewed is None:
        raise _duplicate_session(call)
    return renewed


def _free_former_shards(connection: Connection, agent_id: AgentId) -> None:
    """Free the shards of the agent's former session: the new one has no record of its unfinished operations, and an
    epoch belongs to one session only.
    """
    connection.execute(update(_shard).where(_shard.c.acting_agent_id == agent_id).values(**FREED_SHARD_VALUES))


def _start_session(connection: Connection, call: Register, ttl_seconds: float, *, known: bool) -> Any:
    values: dict[str, Any] = {
        "environment": call.environment,
        "group_number": call.group_number,
        "host": call.host,
        "device_driver": call.device_driver,
        "ha_type": call.ha_type.value,
        "endpoints": json_text(call.endpoints),
        "session_id": call.session_id,
        "sealing_key": call.sealing_key.hex(),
        "sealing_session_id": call.session_id,
        "session_started_at": db_now(),
        "session_expires_at": db_now() + float(ttl_seconds),
        "session_ttl_seconds": float(ttl_seconds),
        "silent_since": None,
        "reachable_devices": None,
    }
    if not known:
        counted = take_keepalive_count(connection, call.agent_id)
        made = {"assignments_revision": 1, "keepalives": counted, "created_at": db_now()}
        row = {"id": call.agent_id, **made, **values}
        if not insert_if_absent(connection, _agent, row):
            raise _duplicate_session(call)
        return connection.execute(select(*CONFIRMED_STATE_COLUMNS).where(_agent.c.id == call.agent_id)).one()
    statement = (
        update(_agent)
        # Compare-and-set: of two processes that register at once, only one finds the session ended.
        .where(_agent.c.id == call.agent_id, not_(is_live()))
        .values(assignments_revision=_agent.c.assignments_revision + 1, **values)
    )
    started = update_returning(statement, *CONFIRMED_STATE_COLUMNS, by=_agent.c.id == call.agent_id).first_row(
        connection
    )
    if started is None:
        raise _duplicate_session(call)
    return started


def _make_common_shard(connection: Connection, call: Register) -> None:
    row = {
        "id": str(uuid.uuid4()),
        "environment": call.environment,
        "group_number": call.group_number,
        "project_id": COMMON_PROJECT,
        "home_agent_id": call.agent_id,
        "acting_agent_id": call.agent_id,
        "epoch": 1,
        "created_at": db_now(),
    }
    # Each agent of the group tries; the first one to register becomes the common shard's home.
    insert_if_absent(connection, _shard, row)


def _store_group(connection: Connection, call: Register, group: Any) -> None:
    values = {
        "device_driver": call.device_driver,
        "ha_type": call.ha_type.value,
        "reschedule": call.reschedule.value,
        "endpoints": json_text(call.endpoints),
        "network_layout": json_text(call.network_layout),
        "identities": merge_identities(connection, call, group),
    }
    if group is None:
        row = {"environment": call.environment, "number": call.group_number, "created_at": db_now(), **values}
        insert_if_absent(connection, _device_group, row)
        return
    connection.execute(
        update(_device_group)
        .where(_device_group.c.environment == call.environment, _device_group.c.number == call.group_number)
        .values(**values)
    )
    # Ports of load balancers in the group are bound to the former host at the network service.
    if decode_layout(group.network_layout).binding_host != call.network_layout.binding_host:
        make_group_ports_due_for_binding(connection, call.environment, call.group_number)

"""Creates, changes and deletes environments, and resumes them after their circuit breaker opened."""

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, select, update

from evenkeel.core.control.environments import Environment
from evenkeel.core.kit.errors import Conflict, Invalid, NotFound
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema
from evenkeel.store.records.rows import ENVIRONMENT_COLUMNS, environment_column_value, environment_from_row
from evenkeel.store.writing.operator_actions import record_operator_action_event

_environment = schema.environment
_agent, _load_balancer = schema.agent, schema.load_balancer

IDS_SHOWN = 5
"""Maximum number of ids that an event or error lists."""
CHANGEABLE_ATTRIBUTES = (
    "description",
    "failback",
    "breaker_share",
    "breaker_agents",
    "vip_networks_allowed",
    "vip_networks_denied",
)
_STATED_ATTRIBUTES = ("device_driver", *CHANGEABLE_ATTRIBUTES)
"""The attributes of an environment that operators set."""


def read_environments(connection: Connection) -> tuple[Environment, ...]:
    """Return all environments, sorted by name. One query."""
    rows = connection.execute(select(*ENVIRONMENT_COLUMNS).order_by(_environment.c.name))
    return tuple(environment_from_row(row) for row in rows)


def _find_environment(connection: Connection, name: str, *, lock: bool = False) -> Environment | None:
    statement = select(*ENVIRONMENT_COLUMNS).where(_environment.c.name == name)
    row = connection.execute(statement.with_for_update() if lock else statement).first()
    return None if row is None else environment_from_row(row)


def _lock_environment(connection: Connection, name: str) -> Environment:
    """Lock an environment until the transaction ends, so that two changes do not mix, and return it. Raises
    :class:`NotFound`.
    """
    found = _find_environment(connection, name, lock=True)
    if found is None:
        raise NotFound("Environment", name)
    return found


def add_environment(connection: Connection, wanted: Environment) -> Environment:
    """Create an environment, record the operator's act, and return the environment as stored; nothing changes
    if an equal one exists. Raises :class:`Conflict` if one with its name differs, ``IntegrityError`` if
    another transaction creates it meanwhile.
    """
    # Every controller adds its configured environments at each start, so an equal one is the usual case.
    stored = _find_environment(connection, wanted.name)
    if stored is not None:
        return _check_equal_environment(stored, wanted)
    values = {field: environment_column_value(getattr(wanted, field)) for field in _STATED_ATTRIBUTES}
    connection.execute(_environment.insert().values(name=wanted.name, **values, created_at=db_now()))
    record_operator_action_event(
        connection,
        kind="environment_added",
        done=f"environment {wanted.name} was added",
        details=f" for device driver {wanted.device_driver}",
        environment=wanted.name,
    )
    return _lock_environment(connection, wanted.name)


def _check_equal_environment(stored: Environment, wanted: Environment) -> Environment:
    """Return the stored environment if it equals the wanted one. Raises :class:`Conflict` naming the difference."""
    differing = [field for field in _STATED_ATTRIBUTES if getattr(stored, field) != getattr(wanted, field)]
    if differing:
        values = {field: [_value_text(getattr(row, field)) for row in (stored, wanted)] for field in differing}
        told = ", ".join(f"{field} {there} and not {asked}" for field, (there, asked) in values.items())
        raise Conflict(f"Environment {stored.name} exists with {told}.")
    return stored


def update_environment(connection: Connection, name: str, changes: Mapping[str, Any]) -> Environment:
    """Change attributes of an environment, record the operator's act, and return the environment; no act if
    nothing differs. Raises :class:`NotFound`, and :class:`Invalid` for an attribute that cannot be changed
    or a value that is not allowed.
    """
    for field in changes:
        if field not in CHANGEABLE_ATTRIBUTES:
            raise Invalid(f"{field} of an environment cannot be changed. Allowed: {', '.join(CHANGEABLE_ATTRIBUTES)}.")
    before = _lock_environment(connection, name)
    wanted = _environment_with_changes(before, changes)
    differing = {
        field: environment_column_value(getattr(wanted, field))
        for field in changes
        if getattr(wanted, field) != getattr(before, field)
    }
    if not differing:
        return before
    connection.execute(update(_environment).where(_environment.c.name == name).values(**differing))
    told = ", ".join(
        f"{field} from {_value_text(getattr(before, field))} to {_value_text(getattr(wanted, field))}"
        for field in differing
    )
    record_operator_action_event(
        connection,
        kind="environment_changed",
        done=f"environment {name} was changed",
        details=f": {told}",
        environment=name,
    )
    return wanted


def _environment_with_changes(before: Environment, changes: Mapping[str, Any]) -> Environment:
    """Return the environment with the changes applied. Raises :class:`Invalid` for a value that is not allowed."""
    try:
        wanted = msgspec.convert(msgspec.structs.asdict(before) | dict(changes), Environment)
    except msgspec.ValidationError as error:
        raise Invalid(f"Environment {before.name}: {error}") from error
    if not 0.0 <= wanted.breaker_share <= 1.0:
        raise Invalid(f"breaker_share: {wanted.breaker_share}: a number from 0 to 1 is allowed")
    if wanted.breaker_agents < 1:
        raise Invalid(f"breaker_agents: {wanted.breaker_agents}: a number from 1 is allowed")
    return wanted


def resume_environment(connection: Connection, name: str) -> Environment:
    """Close the environment's circuit breaker, so that shards of silent agents move again, record the
    operator's act, and return the environment; nothing happens if the breaker is closed. Raises
    :class:`NotFound`.
    """
    before = _lock_environment(connection, name)
    if before.halted_at is None:
        return before
    connection.execute(
        update(_environment)
        .where(_environment.c.name == name)
        # The time keeps the breaker from opening again at once for the agents that are still silent.
        .values(halted_at=None, halted_reason="", resumed_at=db_now())
    )
    record_operator_action_event(
        connection,
        kind="environment_resumed",
        done=f"environment {name} was resumed",
        details="; shards of silent agents move again",
        environment=name,
    )
    return _lock_environment(connection, name)


def delete_environment(connection: Connection, name: str) -> None:
    """Delete an environment with its shards and device groups, and record the operator's act. Raises
    :class:`NotFound`, :class:`Conflict` while it has agents or load balancers.
    """
    _lock_environment(connection, name)  # locked: registrations are serialized on this row
    agents = connection.scalar(select(func.count()).where(_agent.c.environment == name)) or 0
    roots = connection.scalar(select(func.count()).where(_load_balancer.c.provider == name)) or 0
    if agents or roots:
        raise Conflict(
            f"Environment {name} has {_count_text(agents, 'agent')} and {_count_text(roots, 'load balancer')},"
            " those being deleted included: delete them first."
        )
    # its shards are empty; if the environment is added again, owners raise their epochs above the devices' guards
    for table in (schema.shard, schema.device_group):
        connection.execute(delete(table).where(table.c.environment == name))
    connection.execute(delete(_environment).where(_environment.c.name == name))
    record_operator_action_event(
        connection,
        kind="environment_deleted",
        done=f"environment {name} was deleted",
        environment=name,
    )


def _count_text(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(value[:IDS_SHOWN])}{', …' if len(value) > IDS_SHOWN else ''}] ({len(value)})"
    return repr(getattr(value, "value", value))

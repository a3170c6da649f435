"""Checks the devices of a registration: no two device groups in use of one environment may have the same
device.

Each group removes unknown objects from its tenants' partitions on a device; two groups would remove each
other's. Environments have separate partitions on a device, so they may share one. Registrations of one
environment are serialized, so two of them cannot both find the device free.
"""

import contextlib
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, exists, or_, select, update

from evenkeel.core.kit.errors import CallRefused
from evenkeel.core.kit.ids import COMMON_PROJECT
from evenkeel.core.protocol.messages import Register
from evenkeel.store.engine.statements import json_text
from evenkeel.store.ownership.sql import is_live
from evenkeel.store.records import schema
from evenkeel.store.writing.events import record_event

CONTRADICTION_CODE = "contradiction"

_agent, _device_group, _shard = schema.agent, schema.device_group, schema.shard
_load_balancer = schema.load_balancer
_endpoints_decoder = msgspec.json.Decoder(tuple[str, ...])
_identities_decoder = msgspec.json.Decoder(dict[str, str])


def check_registered_devices(connection: Connection, call: Register) -> None:
    """Check the devices of a registration. Sessions of agents of another group that is not in use and has one
    of the devices are ended. Raises :class:`CallRefused` if a group in use has one of them, or if a device
    is named twice.
    """
    _check_no_device_twice(call)
    # The endpoints are no network addresses, so equal ones of two groups name different devices.
    if not call.exclusive:
        return
    others = connection.execute(
        select(_device_group.c.number, _device_group.c.endpoints, _device_group.c.identities).where(
            _device_group.c.environment == call.environment, _device_group.c.number != call.group_number
        )
    )
    for row in others.all():
        common = _shared_device_text(
            call, _endpoints_decoder.decode(row.endpoints), _identities_decoder.decode(row.identities)
        )
        if not common:
            continue
        if _is_group_in_use(connection, call.environment, row.number):
            raise CallRefused(
                CONTRADICTION_CODE,
                f"{common}: agent {call.agent_id} of device group {call.environment}/{call.group_number} names a device"
                f" of device group {call.environment}/{row.number}, which is in use; a device belongs to one group of"
                " an environment",
            )
        _end_sessions_of_group(connection, call.environment, row.number)


def _check_no_device_twice(call: Register) -> None:
    seen: dict[str, str] = {}
    for endpoint, identity in sorted(call.identities.items()):
        # An identity is empty if the device could not be reached; several such are no contradiction.
        if identity and identity in seen:
            raise CallRefused(
                CONTRADICTION_CODE,
                f"endpoints: agent {call.agent_id} reaches one device, {identity!r}, by {seen[identity]} and by"
                f" {endpoint}; each endpoint of a group is to be a device of its own",
            )
        seen[identity] = endpoint


def _shared_device_text(call: Register, endpoints: Iterable[str], identities: Mapping[str, str]) -> str:
    """Return the endpoint or identity that the registering agent's devices share with the given devices
    (human-readable); empty if there is none.

    ``identities``: {endpoint: identity} of the given devices.
    """
    theirs = {normalise_endpoint(endpoint) for endpoint in endpoints}
    for endpoint in call.endpoints:
        if normalise_endpoint(endpoint) in theirs:
            return f"endpoints: {endpoint}"
    # Compared as well, because one device may be reached by several addresses.
    known = {identity for identity in identities.values() if identity}
    for endpoint, identity in sorted(call.identities.items()):
        if identity in known:
            return f"endpoints: {endpoint} is the device {identity!r}"
    return ""


def normalise_endpoint(endpoint: str) -> str:
    """Return a device's address as ``host:port`` in lower case, with an empty port if none is given.
    ``endpoint``: ``host:port``, ``host`` or a URL of either.
    """
    text = endpoint.strip().lower().rpartition("://")[2].rstrip("/")
    head, colon, port = text.rpartition(":")
    # The last colon of a bare IPv6 address does not separate a port.
    if not colon or not port.isdigit() or (":" in head and not head.endswith("]")):
        head, port = text, ""
    host = head.strip("[]").rstrip(".")
    with contextlib.suppress(ValueError):
        host = ipaddress.ip_address(host).compressed
    return f"{host}:{port}"


def _is_group_in_use(connection: Connection, environment: str, number: int) -> bool:
    """Whether the device group has a live agent, or load balancers, also those being deleted."""
    alive = exists().where(_agent.c.environment == environment, _agent.c.group_number == number, is_live())
    here = and_(_shard.c.environment == environment, _shard.c.group_number == number)
    holds = exists().where(here, _shard.c.project_id != COMMON_PROJECT, _load_balancer.c.shard_id == _shard.c.id)
    return bool(connection.scalar(select(or_(alive, holds))))


def _end_sessions_of_group(connection: Connection, environment: str, number: int) -> None:
    """End the sessions of the device group's agents, because another group got one of its devices.

    A keepalive must not revive these sessions: the agents have to register, which is refused while the other group has
    the device.
    """
    connection.execute(
        update(_agent)
        .where(_agent.c.environment == environment, _agent.c.group_number == number, _agent.c.session_id.is_not(None))
        .values(session_id=None, silent_since=None)
    )


def merge_identities(connection: Connection, call: Register, group: Any) -> str:
    """Merge the device identities that the registering agent read into those of the group (None: it is new),
    and return them as JSON text for its column; endpoints that the agent does not name are dropped.
    Records an event for a replaced device.
    """
    known = {} if group is None else _identities_decoder.decode(group.identities)
    # Identities of endpoints that no agent names any more are dropped, so that their devices are free.
    kept = {endpoint: known[endpoint] for endpoint in call.endpoints if endpoint in known}
    for endpoint, identity in sorted(call.identities.items()):
        if not identity:
            continue
        if kept.get(endpoint, identity) != identity:
            record_event(
                connection,
                kind="device_replaced",
                text=f"device {endpoint} of device group {call.environment}/{call.group_number} was replaced:"
                f" its identity is {identity!r}, it was {kept[endpoint]!r}",
                environment=call.environment,
                agent_id=call.agent_id,
            )
        kept[endpoint] = identity
    return json_text(kept)

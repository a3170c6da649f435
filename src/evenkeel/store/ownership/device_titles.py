"""Titles of devices for human-readable texts: the device's own name, as an agent last reported it, and its address."""

from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, select

from evenkeel.core.status.device_state import DeviceState
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema

DeviceTitles = Mapping[str, str]
"""{address: title of the device, with its own name and address}. Devices whose own name is unknown are missing."""

_agent = schema.agent
_device_states_decoder = msgspec.json.Decoder(tuple[DeviceState, ...])


def read_device_titles(connection: Connection, environment: str, group_number: int) -> DeviceTitles:
    """Return {address: title} of a group's devices; devices whose own name is unknown are missing. One query."""
    return read_titles_by_group(connection, [(environment, group_number)]).get((environment, group_number), {})


def read_titles_by_group(
    connection: Connection, groups: Sequence[tuple[str, int]]
) -> Mapping[tuple[str, int], DeviceTitles]:
    """Return {(environment, group number): {device name: title}} for each of a few device groups; devices
    without a name of their own are missing. One query.
    """
    reported = connection.execute(
        select(_agent.c.environment, _agent.c.group_number, _agent.c.devices)
        .where(is_in_list(_agent.c.environment, sorted({environment for environment, _ in groups})))
        # The latest report comes last and wins where agents disagree.
        .order_by(_agent.c.reported_at)
    )
    found: dict[tuple[str, int], dict[str, str]] = {group: {} for group in groups}
    for environment, number, text in reported:
        if (titles := found.get((environment, number))) is not None:
            titles.update({state.name: state.title for state in _device_states_decoder.decode(text) if state.own_name})
    return found

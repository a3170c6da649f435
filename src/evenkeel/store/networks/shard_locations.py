"""Shards with the network layout of their device groups."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
from sqlalchemy import Select, select

from evenkeel.core.kit.ids import ProjectId, ShardId
from evenkeel.core.networking.networks import NetworkLayout
from evenkeel.store.records import schema

_device_group = schema.device_group
_layout_decoder = msgspec.json.Decoder(NetworkLayout)


class ShardLocation(NamedTuple):
    """A shard, and the layout by which the devices of its group are attached to networks."""

    shard_id: ShardId
    project_id: ProjectId
    environment: str
    group_number: int
    layout: NetworkLayout
    home_host: str = ""
    """Host of the shard's home agent."""
    has_silent: bool = False
    """True: the shard's devices may hold copies of load balancers that move, which must not answer for their VIPs."""


def decode_layout(text: str | None) -> NetworkLayout:
    """Decode a network layout from its JSON column; None: the default layout."""
    return _layout_decoder.decode(text or "{}")


def shard_locations_query() -> Select[tuple[str, str, str, int, str, str]]:
    """Return a query for shards with the columns that :func:`shard_location_from_row` needs."""
    shard, agent = schema.shard, schema.agent
    here = (_device_group.c.environment == shard.c.environment) & (_device_group.c.number == shard.c.group_number)
    columns = shard.c.id, shard.c.project_id, shard.c.environment, shard.c.group_number, _device_group.c.network_layout
    with_group = select(*columns, agent.c.host).join(_device_group, here, isouter=True)
    return with_group.join(agent, agent.c.id == shard.c.home_agent_id, isouter=True)


def shard_location_from_row(row: Iterable[object]) -> ShardLocation:
    """Build the shard's location from a row of :func:`shard_locations_query`."""
    shard_id, project_id, environment, group_number, layout, home_host = row
    return ShardLocation(
        ShardId(str(shard_id)),
        ProjectId(str(project_id)),
        str(environment),
        int(str(group_number)),
        decode_layout(None if layout is None else str(layout)),
        str(home_host or ""),
    )

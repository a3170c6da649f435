"""Maps values to rows and back.

Rows are read as tuples in the order of each kind's ``columns``, which is that of the class's fields, and built into
values by position; values become dictionaries of column values. Nothing here runs SQL.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import inspect
from sqlalchemy import Column, Table

from evenkeel.core.control.agents import Agent
from evenkeel.core.control.environments import Environment
from evenkeel.core.control.epochs import ShardEpoch
from evenkeel.core.control.events import Event
from evenkeel.core.control.shards import Shard
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.networks import DeclaredNetwork, NetworkType
from evenkeel.core.resources.attributes import LINK_ATTRIBUTES, AttributeShape, attribute_shape, fields_of
from evenkeel.core.resources.capacity import CapacityFigure
from evenkeel.core.resources.model import (
    DATAGRAM_PROTOCOLS,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
    Resource,
    Subnet,
    Vip,
)
from evenkeel.core.resources.statuses import FailbackMode, OperatingStatus, ProvisioningStatus
from evenkeel.core.status.device_state import DeviceState
from evenkeel.store.records import schema
from evenkeel.store.records.columns import JSON_TYPES

T = TypeVar("T")
Columns = tuple[Column[Any], ...]

PROVISIONING_STATUSES = {status.value: status for status in ProvisioningStatus}
OPERATING_STATUSES = {status.value: status for status in OperatingStatus}
"""Statuses by their stored texts, as in :data:`PROVISIONING_STATUSES`: a lookup is cheaper than a call of the enum."""
_text_list_decoder = msgspec.json.Decoder(tuple[str, ...])
_text_map_decoder = msgspec.json.Decoder(dict[str, str])
_device_states_decoder = msgspec.json.Decoder(tuple[DeviceState, ...])
_vips_decoder = msgspec.json.Decoder(tuple[Vip, ...])
_shard_epochs_decoder = msgspec.json.Decoder(tuple[ShardEpoch, ...])
_capacity_figures_decoder = msgspec.json.Decoder(dict[str, CapacityFigure])

_TENANT_CLASSES: tuple[type[Any], ...] = tuple(LINK_ATTRIBUTES)
_VIP_COLUMNS = ("vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id")
"""Columns of the attribute ``vip``."""


def _json_shapes() -> dict[str, AttributeShape]:
    """Return {attribute of tenants' objects that is stored as JSON text: its type}."""
    shapes = {
        name: attribute_shape(field.type)
        for cls in _TENANT_CLASSES
        for name, field in fields_of(cls).items()
        if name != "vip" and name not in LINK_ATTRIBUTES[cls]
    }
    return {name: shape for name, shape in shapes.items() if isinstance(shape.node, JSON_TYPES)}


_JSON_ATTRIBUTE_SHAPES = _json_shapes()
JSON_FIELDS = frozenset(_JSON_ATTRIBUTE_SHAPES)
"""Attributes stored as JSON text: lists cannot be sorted by them."""
TEXT_LIST_FIELDS = frozenset(
    name
    for name, (node, _) in _JSON_ATTRIBUTE_SHAPES.items()
    if isinstance(node, inspect.VarTupleType)
    and isinstance(node.item_type, inspect.StrType | inspect.LiteralType)
    and name != "tags"
)
"""Attributes with lists of texts that can be filtered by element; tags have filters of their own."""
_STORED_VALUES_OF_NONE = {
    name: None if optional else "{}" if isinstance(node, inspect.DictType) else "[]"
    for name, (node, optional) in _JSON_ATTRIBUTE_SHAPES.items()
}
"""{attribute: text stored for None}, for attributes stored as JSON; None if the column can be NULL."""


def _named_columns(table: Table, names: str) -> Columns:
    return tuple(table.c[name] for name in names.split())


def _own_fields(cls: type[Any]) -> tuple[str, ...]:
    """Return the names of the attributes that are stored in the object's own row, in their order."""
    return tuple(name for name in fields_of(cls) if name not in LINK_ATTRIBUTES[cls])


def _tenant_columns(cls: type[Any], table: Table) -> Columns:
    """Return the columns of the attributes in an object's own row, in their order; columns of a VIP are last."""
    names = [name for name in _own_fields(cls) if name != "vip"]
    return tuple(table.c[name] for name in (*names, *(_VIP_COLUMNS if "vip" in fields_of(cls) else ())))


def _value_builder(cls: type[T]) -> Callable[..., T]:
    """Return a function that builds a value from the columns of its own row, in their order, followed by its ids of
    related objects.
    """
    make: Callable[..., T] = cls
    own = _own_fields(cls)
    provisioning, operating = own.index("provisioning_status"), own.index("operating_status")
    decoders = [
        (own.index(name), node, msgspec.json.Decoder(fields_of(cls)[name].type).decode)
        for name, (node, _) in _JSON_ATTRIBUTE_SHAPES.items()
        if name in own
    ]
    lists = tuple((at, decode) for at, node, decode in decoders if isinstance(node, inspect.VarTupleType))
    others = tuple((at, decode) for at, node, decode in decoders if not isinstance(node, inspect.VarTupleType))

    def build(stored: Iterable[Any], *links: Any) -> T:
        values = [*stored, *links]
        values[provisioning] = PROVISIONING_STATUSES[values[provisioning]]
        values[operating] = OPERATING_STATUSES[values[operating]]
        for at, decode in lists:  # most are empty
            # A comparison is much cheaper than a call of the decoder, and lists read thousands of rows.
            values[at] = () if (text := values[at]) == "[]" else decode(text)
        for at, decode in others:
            if (text := values[at]) is not None:
                values[at] = decode(text)
        return make(*values)

    return build


listener_from_row = _value_builder(Listener)
"""Build the listener from its row, and the ids of its L7 policies and rate limit policies."""
pool_from_row = _value_builder(Pool)
"""Build the pool from its row, the ids of the listeners that send to it (by default, by L7 policies), the ids of its
members, and the id of its monitor.
"""
member_from_row = _value_builder(Member)
health_monitor_from_row = _value_builder(HealthMonitor)
l7policy_from_row = _value_builder(L7Policy)
"""Build the L7 policy from its row and the ids of its rules."""
l7rule_from_row = _value_builder(L7Rule)
rate_limit_policy_from_row = _value_builder(RateLimitPolicy)
"""Build the rate limit policy from its row and the ids of its rules."""
rate_limit_rule_from_row = _value_builder(RateLimitRule)
_build_load_balancer_with_vip = _value_builder(LoadBalancer)
_VIP_FIELD_INDEX = _own_fields(LoadBalancer).index("vip")


def load_balancer_from_row(row: Iterable[Any], *links: tuple[str, ...]) -> LoadBalancer:
    """Build the load balancer from its row; ``links``: ids of its listeners, and of its pools."""
    *stored, address, subnet_id, network_id, port_id = row
    stored.insert(_VIP_FIELD_INDEX, vip_from_columns(address, subnet_id, network_id, port_id))
    return _build_load_balancer_with_vip(stored, *links)


NO_NETWORK_ID = ""


def vip_from_columns(address: str, subnet_id: str, network_id: str, port_id: str) -> Vip | None:
    """Build the VIP from the values of its columns; None if they stand for no VIP: see :func:`vip_columns`."""
    if network_id == NO_NETWORK_ID:
        return None
    return Vip(address=address, subnet_id=subnet_id, network_id=network_id, port_id=port_id)


def decode_vips(text: str) -> tuple[Vip, ...]:
    """Decode the column of additional VIPs."""
    return () if text == "[]" else _vips_decoder.decode(text)


def vip_columns(load_balancer_id: LoadBalancerId, vip: Vip | None) -> dict[str, str]:
    """Return {column: value} for the VIP. No VIP (None) is stored as a placeholder that is unique, because
    (network, address) is unique.
    """
    vip = vip or Vip(address=load_balancer_id, subnet_id="", network_id=NO_NETWORK_ID, port_id="")
    return {
        "vip_address": vip.address,
        "vip_subnet_id": vip.subnet_id,
        "vip_network_id": vip.network_id,
        "vip_port_id": vip.port_id,
    }


@dataclass(frozen=True, eq=False)
class Kind:
    """Mapping of one class of tenants' objects to its table. There is one instance per class, compared by identity."""

    title: str
    """Octavia's name of the kind, for texts of errors and events."""
    table: Table
    columns: Columns
    build: Callable[..., Any]
    parent: Column[Any] | None = None
    """Column with the id of the parent in the API's paths; None if the paths contain no parent."""
    key: str = "id"
    """The attribute that identifies objects, also as marker of lists."""
    order: tuple[str, ...] = ("created_at", "id")
    """Attributes of a total order, appended to the order of every list."""


def _tenant_kind(
    cls: type[Any], title: str, table: Table, build: Callable[..., Any], parent: Column[Any] | None = None
) -> Kind:
    return Kind(title, table, _tenant_columns(cls, table), build, parent)


LOAD_BALANCER = _tenant_kind(LoadBalancer, "Load Balancer", schema.load_balancer, load_balancer_from_row)
LISTENER = _tenant_kind(Listener, "Listener", schema.listener, listener_from_row)
POOL = _tenant_kind(Pool, "Pool", schema.pool, pool_from_row)
MEMBER = _tenant_kind(Member, "Member", schema.member, member_from_row, schema.member.c.pool_id)
HEALTH_MONITOR = _tenant_kind(HealthMonitor, "Health Monitor", schema.health_monitor, health_monitor_from_row)
L7POLICY = _tenant_kind(L7Policy, "L7 Policy", schema.l7policy, l7policy_from_row)
L7RULE = _tenant_kind(L7Rule, "L7 Rule", schema.l7rule, l7rule_from_row, schema.l7rule.c.l7policy_id)
RATE_LIMIT_POLICY = _tenant_kind(
    RateLimitPolicy, "Rate Limit Policy", schema.rate_limit_policy, rate_limit_policy_from_row
)
RATE_LIMIT_RULE = _tenant_kind(
    RateLimitRule,
    "Rate Limit Rule",
    schema.rate_limit_rule,
    rate_limit_rule_from_row,
    schema.rate_limit_rule.c.rate_limit_policy_id,
)

KINDS: dict[type[Any], Kind] = {
    LoadBalancer: LOAD_BALANCER,
    Listener: LISTENER,
    Pool: POOL,
    Member: MEMBER,
    HealthMonitor: HEALTH_MONITOR,
    L7Policy: L7POLICY,
    L7Rule: L7RULE,
    RateLimitPolicy: RATE_LIMIT_POLICY,
    RateLimitRule: RATE_LIMIT_RULE,
}


_COLUMN_NAMES: dict[type[Any], tuple[str, ...]] = {
    cls: tuple(name for name in _own_fields(cls) if name != "vip") for cls in KINDS
}
"""Names of attributes that have a column of the same name, by class."""


_PLAIN_AND_ENCODED_COLUMNS = {
    kind: (
        tuple(name for name in names if name not in JSON_FIELDS),
        tuple(name for name in names if name in JSON_FIELDS),
    )
    for kind, names in _COLUMN_NAMES.items()
}
"""``{class: (attributes stored as they are, attributes stored as JSON)}``."""


def columns_from_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Convert {attribute: value} of a tenant's object to {column: value}. ``vip`` is not accepted: see
    :func:`vip_columns`.
    """
    return {name: _encode_value(name, value) for name, value in attributes.items()}


def _encode_value(name: str, value: Any) -> Any:
    if name not in JSON_FIELDS:
        return value
    if value is None:
        return _STORED_VALUES_OF_NONE[name]
    return msgspec.json.encode(value).decode()


def row_from_resource(value: Resource) -> dict[str, Any]:
    """Return {column: value} for all columns of the row of a tenant's object."""
    plain, encoded = _PLAIN_AND_ENCODED_COLUMNS[type(value)]
    row = {name: getattr(value, name) for name in plain}
    row.update((name, _encode_value(name, getattr(value, name))) for name in encoded)
    if isinstance(value, LoadBalancer):
        row.update(vip_columns(value.id, value.vip))
    row["provisioning_status"] = value.provisioning_status.value
    row["operating_status"] = value.operating_status.value
    row["live_key"] = live_key_from_resource(value)
    return row


def live_key_from_resource(value: Resource) -> str:
    """Return the value of ``live_key``, a part of unique constraints that separates rows: the id for a
    deleted row, the protocol for a live listener of UDP or SCTP, which have port spaces of their own, else
    an empty text.
    """
    if value.deleted:
        return value.id
    return value.protocol if isinstance(value, Listener) and value.protocol in DATAGRAM_PROTOCOLS else ""


# -- operators' objects

ENVIRONMENT_COLUMNS = _named_columns(
    schema.environment,
    "name device_driver description created_at failback breaker_share breaker_agents vip_networks_allowed"
    " vip_networks_denied halted_at halted_reason",
)
_ENVIRONMENT_LISTS = ("vip_networks_allowed", "vip_networks_denied")
SHARD_COLUMNS = _named_columns(
    schema.shard, "id environment group_number project_id home_agent_id acting_agent_id epoch handover_to"
)
SUBNET_COLUMNS = _named_columns(
    schema.subnet,
    "id network_id cidr allocation_start allocation_end name gateway_ip project_id reserved device_addresses",
)
NETWORK_COLUMNS = _named_columns(
    schema.network,
    "id name network_type physical_network segmentation_id mtu project_id shared external vteps from_service",
)
_SUBNET_LISTS = ("reserved", "device_addresses")
EVENT_COLUMNS = _named_columns(
    schema.event,
    "id at kind text environment agent_id shard_id load_balancer_id user_name user_id request_id client_address",
)
AGENT_COLUMNS = _named_columns(
    schema.agent,
    "id environment group_number host device_driver ha_type endpoints admin_state_up forced_down failback_asked"
    " silent_since reachable_devices session_id session_started_at session_expires_at reported_at configurations"
    " devices serving queue_depth capacity_score capacity assignments_revision created_at",
)


def environment_from_row(row: Sequence[Any]) -> Environment:
    """Build the environment from a row of ``ENVIRONMENT_COLUMNS``."""
    values: dict[str, Any] = {column.name: value for column, value in zip(ENVIRONMENT_COLUMNS, row, strict=True)}
    lists = {name: _text_list_decoder.decode(values[name]) for name in _ENVIRONMENT_LISTS}
    return Environment(**values | lists | {"failback": FailbackMode(values["failback"])})


def environment_column_value(value: Any) -> Any:
    """Convert an environment's attribute to the value of its column: a list to JSON, a member of an
    enumeration to its value; others are unchanged.
    """
    if isinstance(value, tuple):
        return msgspec.json.encode(value).decode()
    return getattr(value, "value", value)


def shard_from_row(row: Sequence[Any]) -> Shard:
    """Build the shard from a row of ``SHARD_COLUMNS``."""
    return Shard(**{column.name: value for column, value in zip(SHARD_COLUMNS, row, strict=True)})


def subnet_from_row(row: Sequence[Any]) -> Subnet:
    """Build the subnet from a row of ``SUBNET_COLUMNS``."""
    values: dict[str, Any] = {column.name: value for column, value in zip(SUBNET_COLUMNS, row, strict=True)}
    lists = {name: _text_list_decoder.decode(values[name]) for name in _SUBNET_LISTS}
    return Subnet(**values | lists)


def row_from_subnet(subnet: Subnet) -> dict[str, Any]:
    """Return {column: value} for all columns of the row of a subnet."""
    values: dict[str, Any] = {column.name: getattr(subnet, column.name) for column in SUBNET_COLUMNS}
    return values | {name: msgspec.json.encode(values[name]).decode() for name in _SUBNET_LISTS}


def network_from_row(row: Sequence[Any]) -> DeclaredNetwork:
    """Build the network from a row of ``NETWORK_COLUMNS``."""
    values: dict[str, Any] = {column.name: value for column, value in zip(NETWORK_COLUMNS, row, strict=True)}
    values["network_type"] = NetworkType(values["network_type"])
    return DeclaredNetwork(**values | {"vteps": _text_list_decoder.decode(values["vteps"])})


def row_from_network(network: DeclaredNetwork) -> dict[str, Any]:
    """Return {column: value} for the columns of the row of a network, except the time at which it was read."""
    values: dict[str, Any] = {column.name: getattr(network, column.name) for column in NETWORK_COLUMNS}
    segment = (network.network_type.value, network.physical_network or "", str(network.segmentation_id or ""))
    return values | {
        "network_type": network.network_type.value,
        "vteps": msgspec.json.encode(network.vteps).decode(),
        # Only declared networks must have different segments; those of the network service get a value of their own.
        "segment_key": network.id if network.from_service else "/".join(segment),
    }


def event_from_row(row: Sequence[Any]) -> Event:
    """Build the event from a row of ``EVENT_COLUMNS``."""
    return Event(**{column.name: value for column, value in zip(EVENT_COLUMNS, row, strict=True)})


def agent_from_row(row: Sequence[Any], **found: Any) -> Agent:
    """Build the agent from a row of ``AGENT_COLUMNS``. ``found``: further attributes by name, such as the
    agent's load.
    """
    values: dict[str, Any] = {column.name: value for column, value in zip(AGENT_COLUMNS, row, strict=True)}
    values["endpoints"] = _text_list_decoder.decode(values["endpoints"])
    values["configurations"] = _text_map_decoder.decode(values["configurations"])
    values["devices"] = _device_states_decoder.decode(values["devices"])
    values["serving"] = _shard_epochs_decoder.decode(values["serving"])
    values["capacity"] = _capacity_figures_decoder.decode(values["capacity"])
    return Agent(**values, **found)

"""Properties of the attributes in :mod:`evenkeel.core.resources.model`: attributes that an update may set, and
attributes that are hidden from tenants. Everything else (columns, list filters, views, change requests) follows from
their types and defaults.
"""

from typing import Any, NamedTuple

import msgspec
from msgspec import inspect

from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)

_SYSTEM_ATTRIBUTES = frozenset(
    {
        "id",
        "project_id",
        "load_balancer_id",
        "provisioning_status",
        "operating_status",
        "served_container_refs",
        "revision",
        "deleted",
        "created_at",
        "updated_at",
    }
)
"""Attributes that no update sets, for every object below a load balancer."""
_OPERATOR_ATTRIBUTES = frozenset({"operator_irules"})
"""Attributes that only operators set, and no request of a tenant."""
LINK_ATTRIBUTES: dict[type[Any], tuple[str, ...]] = {
    LoadBalancer: ("listener_ids", "pool_ids"),
    Listener: ("l7policy_ids", "rate_limit_policy_ids"),
    Pool: ("listener_ids", "l7_listener_ids", "member_ids", "health_monitor_id"),
    Member: (),
    HealthMonitor: (),
    L7Policy: ("rule_ids",),
    L7Rule: (),
    RateLimitPolicy: ("rule_ids",),
    RateLimitRule: (),
}
"""Attributes with ids of related objects, by class; they are stored with the related objects and stand last in their
class.
"""
_FIXED_ATTRIBUTES: dict[type[Any], frozenset[str]] = {
    Listener: frozenset({"protocol", "protocol_port", "operator_irules"}),
    Pool: frozenset({"protocol", "subnet_id"}),
    Member: frozenset(
        {"pool_id", "address", "given_address", "given_monitor_address", "protocol_port", "subnet_id", "vnic_type"}
    ),
    HealthMonitor: frozenset({"pool_id", "type", "shared_monitor_id"}),
    L7Policy: frozenset({"listener_id", "enhanced_service"}),
    L7Rule: frozenset({"l7policy_id"}),
    RateLimitPolicy: frozenset({"listener_id"}),
    RateLimitRule: frozenset({"rate_limit_policy_id"}),
}
"""Attributes that are fixed when the object is created, by class."""


class AttributeShape(NamedTuple):
    """Type of an attribute without None, and whether the attribute may be None."""

    node: inspect.Type
    """Type of the values other than None."""
    optional: bool
    """True if the value may be None."""


def attribute_shape(annotation: Any) -> AttributeShape:
    """Return the shape of an annotation that is one type, or one type or None. Raises :class:`ValueError` for
    another union.
    """
    node = inspect.type_info(annotation)
    if not isinstance(node, inspect.UnionType):
        return AttributeShape(node, optional=False)
    (one,) = (each for each in node.types if not isinstance(each, inspect.NoneType))
    return AttributeShape(one, optional=node.includes_none)


def fields_of(kind: type[Any]) -> dict[str, msgspec.structs.FieldInfo]:
    """Return {name: field} for the attributes of a value class, in order of declaration."""
    return {field.name: field for field in msgspec.structs.fields(kind)}


def defaults_of(kind: type[Any]) -> dict[str, Any]:
    """Return {attribute: default} for the attributes of a value class that have a default, in order of
    declaration.
    """
    return {
        name: field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
        for name, field in fields_of(kind).items()
        if not field.required
    }


CHANGEABLE_ATTRIBUTES: dict[type[Any], frozenset[str]] = {
    LoadBalancer: frozenset({"name", "description", "admin_state_up", "tags", "vip_qos_policy_id", "vip_sg_ids"}),
    **{
        kind: frozenset(fields_of(kind)) - _SYSTEM_ATTRIBUTES - fixed - set(LINK_ATTRIBUTES[kind])
        for kind, fixed in _FIXED_ATTRIBUTES.items()
    },
}
"""{class: attributes that an update may set} (Octavia API reference). A new attribute can be changed unless this module
lists it as fixed.
"""
CONTENT_ATTRIBUTES: dict[type[Any], frozenset[str]] = {
    kind: frozenset(fields_of(kind)) - _SYSTEM_ATTRIBUTES - _OPERATOR_ATTRIBUTES - set(LINK_ATTRIBUTES[kind])
    for kind in _FIXED_ATTRIBUTES
}
"""{class: attributes that requests set, when the object is created or later}, for objects below a load balancer."""
STORABLE_ATTRIBUTES = CHANGEABLE_ATTRIBUTES | {
    Member: CHANGEABLE_ATTRIBUTES[Member] | {"given_monitor_address"},
    Listener: CHANGEABLE_ATTRIBUTES[Listener] | _OPERATOR_ATTRIBUTES,
}
"""Attributes that an update may store, by class: :data:`CHANGEABLE_ATTRIBUTES`, the spelling in which a request gave
an address, and what operators set.
"""
HIDDEN_ATTRIBUTES: dict[type[Any], frozenset[str]] = {
    LoadBalancer: frozenset(
        {
            "revision",
            "deleted",
            "applied_revision",
            "change_id",
            "status_reason",
            "operating_reason",
            "shard_id",
            "zone_group_number",
            "flavor_enhanced_services",
            "data_path",
            "root_pool_id",
            "vip_leaving_revision",
            "held",
            "given_vips",
            "challenges",
        }
    ),
    Listener: frozenset({"revision", "deleted", "operator_irules", "served_container_refs"}),
    L7Rule: frozenset({"revision", "deleted"}),
    RateLimitPolicy: frozenset({"revision", "deleted"}),
    RateLimitRule: frozenset({"revision", "deleted"}),
    Member: frozenset({"revision", "deleted", "given_address", "given_monitor_address"}),
    L7Policy: frozenset({"revision", "deleted", "enhanced_service"}),
    Pool: frozenset({"revision", "deleted", "subnet_id"}),
    HealthMonitor: frozenset({"revision", "deleted", "shared_monitor_id"}),
}
"""{class: attributes that views of Octavia's API do not copy from the class, and by which no list is filtered}. A view
may declare one of these itself, with a value of its own, such as ``status_reason``. A new attribute is shown unless
listed here.
"""

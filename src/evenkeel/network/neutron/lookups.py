"""Proxies look-ups of the OpenStack client: only objects that the project may use, without provider attributes.

Requests to Neutron use the controller's credentials, which see everything; so this module filters what a tenant may
see.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.ports import NetworkObjectKind
from evenkeel.network.neutron.client import NeutronClient

SHOWN_OBJECTS_MAX = 1000
NETWORKS_ASKED_MAX = 100
"""Networks of other projects whose subnets one response lists: their ids are in the request's URL."""

_PATHS_BY_KIND: dict[NetworkObjectKind, str] = {
    "subnets": "/subnets",
    "networks": "/networks",
    "ports": "/ports",
    "policies": "/qos/policies",
    "security_groups": "/security-groups",
    "floatingips": "/floatingips",
}
_COMMON_ATTRIBUTES = frozenset({"id", "name", "description", "project_id", "tenant_id", "shared"})
_SHOWN_ATTRIBUTES: dict[NetworkObjectKind, frozenset[str]] = {
    "subnets": _COMMON_ATTRIBUTES
    | {"network_id", "cidr", "ip_version", "gateway_ip", "allocation_pools", "enable_dhcp"},
    "networks": _COMMON_ATTRIBUTES | {"admin_state_up", "status", "subnets", "mtu", "router:external"},
    "ports": _COMMON_ATTRIBUTES
    | {"network_id", "fixed_ips", "mac_address", "admin_state_up", "status", "device_owner", "device_id"}
    | {"security_groups"},
    "policies": _COMMON_ATTRIBUTES,
    "security_groups": _COMMON_ATTRIBUTES,
    "floatingips": _COMMON_ATTRIBUTES
    | {"floating_ip_address", "floating_network_id", "fixed_ip_address", "port_id", "router_id", "status"},
}
Document = dict[str, Any]


def look_up(
    client: NeutronClient, kind: NetworkObjectKind, filters: Mapping[str, Sequence[str]], project_id: ProjectId | None
) -> tuple[Document, ...]:
    """Return the objects of the kind that match the filters, at most :data:`SHOWN_OBJECTS_MAX`, with the attributes
    that tenants may see. ``project_id``: the project that must be allowed to use the objects; None:
    objects of every project. Blocks; raises the SDK's errors (``errors.SDK_ERRORS``).
    """
    queries = _request_filters(client, kind, project_id)
    # By id: an object of the project may also be shared with it, and would be listed twice.
    found = {row["id"]: row for query in queries for row in _list_documents(client, kind, filters, query)}
    shown = _SHOWN_ATTRIBUTES[kind]
    rows = [{name: value for name, value in row.items() if name in shown} for row in found.values()]
    # Filtered once more: Neutron without the extension filter-validation ignores filters that it does not know, and
    # lists everything.
    return tuple(row for row in rows if all(row.get(name) in values for name, values in filters.items()))[
        :SHOWN_OBJECTS_MAX
    ]


def _list_documents(
    client: NeutronClient, kind: NetworkObjectKind, filters: Mapping[str, Sequence[str]], query: Document
) -> Iterable[Document]:
    # A caller's filter may only narrow what the project sees: it is intersected with the query, never put in its
    # place.
    merged: Document = {name: list(values) for name, values in filters.items()}
    for name in merged.keys() & query.keys():
        merged[name] = [value for value in merged[name] if value in query[name]]
        if not merged[name]:
            return []
    return client.list_documents(_PATHS_BY_KIND[kind], kind, {**query, **merged}, limit=SHOWN_OBJECTS_MAX)


def _request_filters(client: NeutronClient, kind: NetworkObjectKind, project_id: ProjectId | None) -> list[Document]:
    """Return the filter of each request to Neutron: one for the project's own objects and, for kinds that can
    be shared, one for objects shared with the project. ``project_id`` None: one without a filter. Raises
    the SDK's errors (``errors.SDK_ERRORS``).
    """
    if project_id is None:
        return [{}]
    own: Document = {"project_id": [project_id]}
    if kind == "policies":
        return [own, {"shared": ["True"]}]
    if kind not in ("subnets", "networks"):
        return [own]
    others = sorted(client.shared_networks(project_id))[:NETWORKS_ASKED_MAX]
    if not others:
        return [own]
    return [own, {"network_id" if kind == "subnets" else "id": others}]

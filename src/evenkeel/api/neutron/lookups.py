"""Look-ups that the OpenStack client sends to other services at the same endpoint.

``openstack loadbalancer`` resolves names of subnets, networks, ports and projects at Neutron and Keystone; Ansible,
Heat and Terraform look up ports and floating IPs, too. If the endpoint has neither service, these responses let the
clients work: subnets and networks are those from which this controller allocates VIPs, ports those of the VIPs, there
are no floating IPs, and a 403 for projects makes the client use the given name as the id.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.neutron.lists import select_fields, unpaged_list_body
from evenkeel.api.neutron.vip_ports import find_vip_ports
from evenkeel.api.policy.names import own_rule
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.ports import NetworkObjectKind

NeutronObject = dict[str, Any]

RULE = own_rule("lookup", "get")


_KINDS: dict[str, tuple[NetworkObjectKind, str]] = {
    "/subnets": ("subnets", "subnet"),
    "/networks": ("networks", "network"),
    "/ports": ("ports", "port"),
    "/qos/policies": ("policies", "policy"),
    "/security-groups": ("security_groups", "security_group"),
    "/floatingips": ("floatingips", "floatingip"),
}
"""Listed kind and its singular, by path."""

_COMMON = frozenset({"id", "name", "network_id"})
FILTERS: dict[NetworkObjectKind, frozenset[str]] = {
    "ports": _COMMON | {"device_id", "device_owner"},
    "floatingips": frozenset({"id", "port_id", "fixed_ip_address", "floating_ip_address", "floating_network_id"}),
}
"""Query parameters that filter, by kind; other kinds have those in :data:`_COMMON`. Of a repeated one any value may
match. Besides them, lists obey ``fields``, ``limit`` and ``marker``; all other parameters are ignored.
"""


async def _look_up_objects(
    services: Services, call: Call, plural: NetworkObjectKind, filters: Mapping[str, Sequence[str]]
) -> list[NeutronObject]:
    if plural == "ports" and not services.network.has_ports:
        return await find_vip_ports(services, call, filters)
    return [dict(row) for row in await services.network.look_up(plural, filters, project_id=call.caller.scope)]


def _listing_operation(path: str) -> Operation:
    plural, _ = _KINDS[path]
    known = FILTERS.get(plural, _COMMON)

    async def handle_list(services: Services, call: Call) -> Answer:
        filters = {name: call.query_values(name) for name, _ in call.query if name in known}
        rows = await _look_up_objects(services, call, plural, filters)
        return json_answer(
            unpaged_list_body(call, plural, rows, lambda row: str(row["id"]), services.limits.page_items)
        )

    return Operation(method="GET", path=path, handle=handle_list, summary=f"Look {plural} up", rule=RULE, hidden=True)


def _show_operation(path: str) -> Operation:
    plural, name = _KINDS[path]

    async def handle_show(services: Services, call: Call) -> Answer:
        for row in await _look_up_objects(services, call, plural, {"id": [call.params["id"]]}):
            return json_answer({name: select_fields(row, call.query_values("fields"))})
        raise NotFound(name.capitalize(), call.params["id"][:64])

    return Operation(
        method="GET", path=f"{path}/{{id}}", handle=handle_show, summary=f"Look a {name} up", rule=RULE, hidden=True
    )


async def _list_no_projects(services: Services, call: Call) -> Answer:
    raise Refusal(403, "There is no identity service here; project names are their ids.")


LOOKUPS = tuple(operation for path in _KINDS for operation in (_listing_operation(path), _show_operation(path)))
"""Operations with Neutron's responses, at every base path that a client may use for Neutron."""

LOOKUP_ROUTES = (
    RouteMap(tag="Look-ups", prefixes=("/v2", "/v2.0"), operations=LOOKUPS),
    RouteMap(
        tag="Look-ups",
        prefixes=("", "/v3"),
        operations=tuple(
            Operation(
                method="GET", path=path, handle=_list_no_projects, summary="Look projects up", rule=RULE, hidden=True
            )
            for path in ("/projects", "/projects/{id}")
        ),
    ),
)

"""What the stock command line asks of other services at the same endpoint.

``openstack loadbalancer`` resolves names of subnets, networks, ports, projects and the like by asking Neutron and
Keystone. Where there is neither, these few answers let it work: subnets and networks are those of the built-in
network, there are no ports, and a 403 for projects makes the client take the given name as the id.
"""

from ipaddress import ip_network
from typing import Any

from evenkeel.api.answers import Answer, json_answer
from evenkeel.api.context import Call, Services
from evenkeel.api.errors import Refusal
from evenkeel.api.routing import Operation, RouteMap
from evenkeel.core.errors import NotFound
from evenkeel.core.model import Subnet

Shown = dict[str, Any]


def _subnet(subnet: Subnet) -> Shown:
    return {
        "id": subnet.id,
        "name": subnet.name,
        "network_id": subnet.network_id,
        "cidr": subnet.cidr,
        "ip_version": ip_network(subnet.cidr).version,
        "gateway_ip": subnet.gateway_ip,
        "allocation_pools": [{"start": subnet.allocation_start, "end": subnet.allocation_end}],
        "project_id": subnet.project_id or "",
        "tenant_id": subnet.project_id or "",
        "enable_dhcp": False,
    }


def _networks(subnets: tuple[Subnet, ...]) -> list[Shown]:
    """The networks of the subnets; a network is called like its first subnet."""
    found: dict[str, Shown] = {}
    for subnet in subnets:
        shown = found.setdefault(
            subnet.network_id,
            {
                "id": subnet.network_id,
                "name": subnet.name,
                "project_id": subnet.project_id or "",
                "tenant_id": subnet.project_id or "",
                "admin_state_up": True,
                "status": "ACTIVE",
                "subnets": [],
            },
        )
        shown["subnets"].append(subnet.id)
    return list(found.values())


async def _known(services: Services, call: Call, plural: str) -> list[Shown]:
    if plural not in ("subnets", "networks"):
        return []
    scope = call.caller.scope
    rows = tuple(row for row in await services.store.subnets() if scope is None or row.project_id in (None, scope))
    return [_subnet(row) for row in rows] if plural == "subnets" else _networks(rows)


def _matches(shown: Shown, call: Call) -> bool:
    return all(value == shown.get(name) for name, value in call.query if name in ("id", "name", "network_id"))


def _listing(path: str) -> Operation:
    plural = path.rsplit("/", 1)[-1].replace("-", "_")

    async def handle(services: Services, call: Call) -> Answer:
        return json_answer({plural: [row for row in await _known(services, call, plural) if _matches(row, call)]})

    return Operation(method="GET", path=path, handle=handle, summary=f"Look {plural} up", hidden=True)


def _showing(path: str, name: str) -> Operation:
    plural = path.rsplit("/", 1)[-1].replace("-", "_")

    async def handle(services: Services, call: Call) -> Answer:
        for row in await _known(services, call, plural):
            if row["id"] == call.params["id"]:
                return json_answer({name: row})
        raise NotFound(name.capitalize(), call.params["id"][:64])

    return Operation(method="GET", path=f"{path}/{{id}}", handle=handle, summary=f"Look a {name} up", hidden=True)


async def _no_projects(services: Services, call: Call) -> Answer:
    raise Refusal(403, "There is no identity service here; project names are their ids.")


_SHOWN = {
    "/subnets": "subnet",
    "/networks": "network",
    "/ports": "port",
    "/qos/policies": "policy",
    "/security-groups": "security_group",
}

LOOKUP_ROUTES = (
    RouteMap(
        tag="Look-ups",
        prefixes=("/v2", "/v2.0"),
        operations=tuple(
            operation for path, name in _SHOWN.items() for operation in (_listing(path), _showing(path, name))
        ),
    ),
    RouteMap(
        tag="Look-ups",
        prefixes=("", "/v3"),
        operations=tuple(
            Operation(method="GET", path=path, handle=_no_projects, summary="Look projects up", hidden=True)
            for path in ("/projects", "/projects/{id}")
        ),
    ),
)

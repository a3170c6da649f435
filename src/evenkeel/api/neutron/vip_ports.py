"""Ports of VIPs for clients, where the network has none: as Neutron would show the ports that Octavia makes.

With the built-in network a port is only a name for the addresses of a load balancer. Terraform reads the port of each
load balancer, and other clients look its addresses up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.core.control.lists import ListQuery
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.network import octavia_port_mark
from evenkeel.core.resources.model import LoadBalancer, Vip
from evenkeel.core.resources.statuses import ProvisioningStatus

_MARKS = octavia_port_mark(LoadBalancerId(""))
_PREFIXES = {"name": _MARKS.name, "device_id": _MARKS.device_id}
"""Prefix before the load balancer's id, by attribute of the port."""
_COLUMNS = {"id": "vip_port_id", "network_id": "vip_network_id"}


async def find_vip_ports(services: Services, call: Call, filters: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return Neutron's views of the ports of load balancers that the caller may see and that match all
    ``filters``; of one page of load balancers at most.
    """
    if _MARKS.device_owner not in filters.get("device_owner", (_MARKS.device_owner,)):
        return []
    wanted: dict[str, tuple[str, ...]] = {
        _COLUMNS[name]: tuple(values) for name, values in filters.items() if name in _COLUMNS
    }
    named = [_ids_behind_prefix(prefix, filters[name]) for name, prefix in _PREFIXES.items() if name in filters]
    if named:
        # Empty if the filters contradict each other: then the store finds nothing.
        wanted["id"] = tuple(set.intersection(*named))
    query = ListQuery(filters=wanted, project_id=call.caller.scope, limit=services.limits.page_items)
    page = await services.tenants.list(LoadBalancer, query)
    return [_port_view(row, row.vip) for row in page.items if row.vip is not None]


def _ids_behind_prefix(prefix: str, values: Sequence[str]) -> set[str]:
    """Return what follows the prefix in those values that have it: ids of load balancers."""
    return {value.removeprefix(prefix) for value in values if value.startswith(prefix)}


def _port_view(row: LoadBalancer, vip: Vip) -> dict[str, Any]:
    addresses, marks = (vip, *row.additional_vips), octavia_port_mark(row.id)
    return {
        "id": vip.port_id,
        "name": marks.name,
        "description": "",
        "network_id": vip.network_id,
        "project_id": row.project_id,
        "tenant_id": row.project_id,
        "device_owner": marks.device_owner,
        "device_id": marks.device_id,
        "fixed_ips": [{"subnet_id": each.subnet_id, "ip_address": each.address} for each in addresses],
        "security_groups": list(row.vip_sg_ids),
        "admin_state_up": True,
        "status": "DOWN" if row.provisioning_status is ProvisioningStatus.PENDING_CREATE else "ACTIVE",
    }

"""Load balancers that carry real traffic through HAProxy, for tests and benchmarks."""

from collections.abc import Sequence
from typing import Any

from tests.acceptance.tenant import LBAAS, Tenant


def website(
    subnet_id: str,
    address: str,
    ports: dict[str, int],
    backends: Sequence[int],
    *,
    monitor: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A load balancer with a listener and a pool for each protocol of ``ports``. ``backends``: ports of 127.0.0.1."""
    members = [{"address": "127.0.0.1", "protocol_port": port} for port in backends]
    pool = {"lb_algorithm": "ROUND_ROBIN", "members": members, **({"healthmonitor": monitor} if monitor else {})}
    return {
        "vip_subnet_id": subnet_id,
        "vip_address": address,
        "listeners": [
            {
                "protocol": protocol,
                "protocol_port": port,
                "default_pool": {"name": protocol, "protocol": protocol, **pool},
            }
            for protocol, port in ports.items()
        ],
    }


async def create(tenant: Tenant, fields: dict[str, Any]) -> dict[str, Any]:
    """Ask for it; all of it as the API answers. From now on the tenant is about this one."""
    body = {"loadbalancer": {"project_id": tenant.project_id, **fields}}
    root: dict[str, Any] = (await tenant.surely("POST", f"{LBAAS}/loadbalancers", body))["loadbalancer"]
    tenant.load_balancer_id, tenant.pool_id = root["id"], root["pools"][0]["id"]
    return root

"""Finds self IPs, VLANs and tunnels of F5's agent in whose subnets nothing else is left. Pure.

Later releases of F5's agent 9.10 attach devices to a network for the source addresses of one load balancer
alone. When Even Keel's addresses have replaced these, nothing else is in that network, and the attachment
would keep the route domain from being removed.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.networks import f5_agent
from evenkeel.devices.bigip.objects import (
    ROUTE,
    SELF_IP,
    SNAT_ADDRESS,
    TUNNEL,
    VIRTUAL,
    VLAN,
    Key,
    Observed,
)
from evenkeel.devices.bigip.reconcile.networks import addresses_in_use, is_in_subnet, self_ip_subnets

Attributes = Mapping[str, Any]


def abandoned_objects(
    left: Mapping[Key, Attributes], wanted: Collection[Key], observed: Observed, partition: str
) -> list[Key]:
    """Return the self IPs of F5's agent in whose subnets no address and no gateway will exist, and F5's VLANs
    and tunnels that had only such self IPs and on which no virtual server listens.

    ``left``: attributes of all objects that will exist; ``wanted``: keys that are never returned.
    """
    used = list(_addresses_used(left))
    theirs = [key for key in left if key in observed and observed[key].mark is None and key not in wanted]
    gone = [
        key
        for key in theirs
        if key.type == SELF_IP
        and f5_agent.is_self_ip(key.name)
        and not any(is_in_subnet(place, *each) for place in self_ip_subnets(left[key]) for each in used)
    ]
    freed = {canonical.full_path(left[key].get("vlan") or "") for key in gone}
    freed -= {
        canonical.full_path(left[key].get("vlan") or "") for key in left if key.type == SELF_IP and key not in gone
    }
    freed -= {
        canonical.full_path(each)
        for key, attributes in left.items()
        if key.type == VIRTUAL
        for each in attributes.get("vlans") or ()
    }
    links = (key for key in theirs if key.type in (VLAN, TUNNEL) and f5_agent.is_vlan_or_tunnel_name(key.name))
    return [*gone, *(key for key in links if f"/{partition}/{key.name}" in freed)]


def _addresses_used(left: Mapping[Key, Attributes]) -> Iterator[tuple[int, str]]:
    """Yield route domain and address of each virtual address, pool member, SNAT address and route's gateway."""
    yield from addresses_in_use(left)
    for key, attributes in left.items():
        if key.type in (SNAT_ADDRESS, ROUTE):
            host, number = canonical.split_address(
                str(attributes.get("address" if key.type == SNAT_ADDRESS else "gw") or "")
            )
            yield number, host

"""Facts for a partition's plan about networks that several projects share, whose objects are in /Common."""

from collections.abc import Iterable, Mapping

from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.naming import BigIpNames, parse_marked_subnet
from evenkeel.devices.bigip.objects import SELF_IP, SNAT_POOL, Observed, RenderedObjects


class SharedNetworks(Value):
    """Shared networks as the plan of a partition needs them.

    ``subnets``: ``{id: CIDR, or self IP with prefix length}`` of shared subnets that the partition's load
    balancers use or used. ``external_gateway``: whether the plan of /Common sets the default route of route
    domain 0.
    """

    subnets: Mapping[str, str] = {}
    external_gateway: bool = False


NOTHING_SHARED = SharedNetworks()


def shared_subnets_used(rendered: Iterable[RenderedObjects]) -> dict[str, str]:
    """Return ``{id: CIDR}`` of the subnets of shared networks that these load balancers use."""
    networks = (network for one in rendered for network in one.service.networks if network.common)
    return {subnet.id: subnet.cidr for network in networks for subnet in network.subnets}


def refers_to_common(observed: Observed, folder: str) -> bool:
    """Whether a SNAT pool among the observed objects contains addresses in ``folder`` (/Common), which
    projects share.
    """
    pools = (seen for key, seen in observed.items() if key.type == SNAT_POOL)
    return any(str(path).startswith(f"/{folder}/") for seen in pools for path in seen.attributes.get("members") or ())


def own_subnets_in_common(observed: Observed, names: BigIpNames) -> dict[str, str]:
    """Return ``{subnet id: address with prefix length}`` of this device group's self IPs in /Common."""
    found = {}
    for key, seen in observed.items():
        if key.type == SELF_IP and seen.mark is not None and names.is_own_mark(seen.mark):
            subnet_id = parse_marked_subnet(seen.mark.object_id).id
            found[subnet_id] = str(seen.attributes.get("address", ""))
    return found

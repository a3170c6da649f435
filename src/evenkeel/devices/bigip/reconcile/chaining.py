"""Refuses load balancers that a BIG-IP cannot chain: a member has an address that the device itself answers for. Pure.

What a virtual server sends to such an address does not arrive (sapcc/octavia-f5-provider-driver, issue 97 and pull
request 112). The API refuses these members and VIPs, but not addresses that are allocated later. Of two load balancers
in conflict, the one new to the device is refused; what the device holds already stays as it is.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.chaining import is_chainable
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.objects import (
    POOL,
    VIRTUAL_ADDRESS,
    Observed,
    ObservedObject,
    RenderedObjects,
    WantedObject,
)

_canonical_address = canonical.canonical_form_function("address")

_OwnersByAddress = Mapping[object, str]
"""``{address in canonical form: load balancer that uses it}``."""


def chaining_problems(
    services: Sequence[RenderedObjects], observed: Observed, *, complete: bool
) -> dict[LoadBalancerId, str]:
    """Return ``{load balancer id: reason}`` for load balancers with a new member at an address that the
    devices answer for, or a new VIP at a member's address.

    ``services``: load balancers without another problem. ``complete``: the pass removes all other load
    balancers' objects.
    """
    members = {one.service.load_balancer_id: list(_new_members(one, observed)) for one in services}
    vips = {one.service.load_balancer_id: list(_new_vips(one, observed)) for one in services}
    if not any(members.values()) and not any(vips.values()):
        return {}
    named = {one.service.load_balancer_id for one in services}

    def stays(seen: ObservedObject) -> bool:
        owner = _owning_load_balancer(seen)
        return owner not in named and not (complete and owner)

    problems: dict[LoadBalancerId, str] = {}
    answered = {**_own_addresses(observed, stays), **_wanted_vips(services)}
    for owner, found in members.items():
        problems |= _chaining_problems(owner, "member address", found, answered, "the VIP")
    used = {
        **_owners_by_member_address(observed, lambda seen: stays(seen) or _owning_load_balancer(seen) in problems),
        **_wanted_members(services, problems),
    }
    for owner, found in vips.items():
        problems |= _chaining_problems(owner, "vip_address", found, used, "a member")
    return problems


def _chaining_problems(
    load_balancer_id: LoadBalancerId, what: str, addresses: Sequence[str], users: _OwnersByAddress, use: str
) -> dict[LoadBalancerId, str]:
    for address in addresses:
        shown = address.partition("%")[0]
        if (owner := users.get(_canonical_address(address))) is not None and is_chainable(shown):
            whose = f"load balancer {owner}" if owner else "a virtual server of an operator"
            reason = "a BIG-IP does not send to addresses that it answers for itself"
            return {load_balancer_id: f"{what} {shown} is {use} of {whose} on the same devices: {reason}"}
    return {}


def _new_members(one: RenderedObjects, observed: Observed) -> Iterator[str]:
    for item in one.objects:
        if item.key.type == POOL:
            seen = observed.get(item.key)
            there = {} if seen is None else seen.members
            yield from (str(each.attributes["address"]) for each in item.members if each.key.name not in there)


def _new_vips(one: RenderedObjects, observed: Observed) -> Iterator[str]:
    for item in _virtual_addresses(one):
        seen, address = observed.get(item.key), str(item.attributes["address"])
        if seen is None or not canonical.has_wanted_value("address", address, seen.attributes):
            yield address


def _virtual_addresses(one: RenderedObjects) -> Iterator[WantedObject]:
    """Yield the load balancer's virtual addresses that answer; none for a standby (the copy on a second
    device group).
    """
    if not one.service.standby:
        yield from (item for item in one.objects if item.key.type == VIRTUAL_ADDRESS)


def _owning_load_balancer(seen: ObservedObject) -> str:
    return "" if seen.mark is None else seen.mark.load_balancer_id


def _wanted_vips(services: Sequence[RenderedObjects]) -> dict[object, str]:
    items = (item for one in services for item in _virtual_addresses(one))
    return {_canonical_address(item.attributes["address"]): item.owner for item in items}


def _own_addresses(observed: Observed, stays: Callable[[ObservedObject], bool]) -> dict[object, str]:
    return {
        _canonical_address(seen.attributes.get("address")): _owning_load_balancer(seen)
        for key, seen in observed.items()
        # One that answers no ARP is a standby's.
        if key.type == VIRTUAL_ADDRESS
        and stays(seen)
        and canonical.scalar_text(seen.attributes.get("arp")) != "disabled"
    }


def _wanted_members(services: Sequence[RenderedObjects], refused: Collection[str]) -> dict[object, str]:
    pools = (item for one in services for item in one.objects if item.key.type == POOL and item.owner not in refused)
    return {_canonical_address(each.attributes["address"]): item.owner for item in pools for each in item.members}


def _owners_by_member_address(observed: Observed, stays: Callable[[ObservedObject], bool]) -> dict[object, str]:
    pools = (seen for key, seen in observed.items() if key.type == POOL and stays(seen))
    return {
        _canonical_address(each.attributes.get("address")): _owning_load_balancer(seen)
        for seen in pools
        for each in seen.members.values()
    }

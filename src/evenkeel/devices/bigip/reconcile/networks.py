"""Changes of objects that attach a device to networks, which a partition's load balancers share, and removal
of unused ones.

Nothing is read or written here. Users are not counted: whether an object is needed follows from the virtual
addresses and pool members that exist, or will exist, in the partition. So a pass over only some of a tenant's
load balancers removes exactly what the last user leaves, and so does a pass of another agent, whatever
happened before.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from msgspec.structs import replace

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, MarkedSubnet, parse_marked_subnet
from evenkeel.devices.bigip.networks.shared_networks import SharedNetworks
from evenkeel.devices.bigip.objects import (
    FORWARDING_TABLE,
    NEIGHBOURS,
    NETWORK_TYPES,
    POOL,
    ROUTE_DOMAIN,
    SELF_IP,
    SNAT_ADDRESS,
    SNAT_POOL,
    TUNNEL,
    TUNNEL_PROFILES,
    VIRTUAL_ADDRESS,
    Key,
    Observed,
    ObservedObject,
    WantedObject,
)
from evenkeel.devices.bigip.reconcile.forwarding import is_forwarder
from evenkeel.devices.bigip.reconcile.taking_over import default_route_key
from evenkeel.devices.bigip.render.network.addresses import add_route_domain

_JOINED_ATTRIBUTES = {ROUTE_DOMAIN: "vlans", SNAT_POOL: "members", FORWARDING_TABLE: "records"}
"""``{type: list attribute}``: lists of shared objects to which each load balancer adds items."""
# The record of this address has the end points that get what is sent to all hosts.
EVERYWHERE_RECORD = "ff:ff:ff:ff:ff:ff"

Attributes = Mapping[str, Any]
RouteDomainSubnet = tuple[int, IPv4Network | IPv6Network]
"""A route domain's number, and a subnet in that route domain."""


def merge_network_objects(wanted: Iterable[WantedObject]) -> dict[Key, WantedObject]:
    """Merge the network objects that several load balancers need, by key; lists in :data:`_JOINED_ATTRIBUTES`
    are united, and the first object decides about all other attributes.
    """
    found: dict[Key, WantedObject] = {}
    for item in wanted:
        before = found.get(item.key)
        name = _JOINED_ATTRIBUTES.get(item.key.type)
        if before is None:
            found[item.key] = item
        elif name is not None:
            joined = _union_of_lists(before.attributes[name], item.attributes[name])
            found[item.key] = replace(before, attributes={**before.attributes, name: joined})
    return found


def _union_of_lists(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Return both lists as one, sorted by name and without duplicates: of two items with one name that of
    ``other`` stays, but records for all hosts get the end points of both.
    """
    found: dict[str, Any] = {_item_name(item): item for item in one}
    for item in other:
        name = _item_name(item)
        if name == EVERYWHERE_RECORD and name in found:
            ends = {*found[name]["endpoints"], *item["endpoints"]}
            found[name] = {**item, "endpoints": sorted(ends)}
        else:
            found[name] = item
    return [found[name] for name in sorted(found)]


def _item_name(item: Any) -> str:
    return str(item["name"]) if isinstance(item, Mapping) else str(item)


def keep_foreign_items(item: WantedObject, seen: ObservedObject) -> WantedObject:
    """Return the wanted object with the list items that other load balancers have in the existing one."""
    name = _JOINED_ATTRIBUTES.get(item.key.type)
    if name is not None:
        there = [_record_as_written(one) for one in seen.attributes.get(name) or ()]
        return replace(item, attributes={**item.attributes, name: _union_of_lists(there, item.attributes[name])})
    return item


def _record_as_written(item: Any) -> Any:
    """Convert a record as a device returns it to the form in which it is written; a path stays as it is."""
    if not isinstance(item, Mapping):
        return item
    ends = item.get("endpoints")
    return {"name": item["name"], **({"endpoints": sorted(ends)} if ends else {"endpoint": item.get("endpoint", "")})}


# -- default routes


def _own_subnet(key: Key, attributes: Attributes, names: BigIpNames) -> MarkedSubnet | None:
    """Return the subnet in the mark of a self IP; None if the object is not this device group's self IP, or
    the subnet has no gateway.
    """
    mark = names.own_mark(attributes.get("description")) if key.type == SELF_IP else None
    subnet = None if mark is None else parse_marked_subnet(mark.object_id)
    return subnet if subnet is not None and subnet.gateway else None


def default_routes(
    left: Mapping[Key, Attributes], observed: Observed, names: BigIpNames, *, external: bool
) -> list[WantedObject]:
    """Return the default routes of the route domains, one for each IP version: to the gateway of one of Even
    Keel's subnets that has a VIP in the route domain. ``left``: attributes of all objects that will exist.

    An existing route stays with its subnet as long as that is one of the candidates. ``external``: the common
    route domain gets routes, too, where a subnet needs no VIP. Subnets of external networks come before all
    others.
    """
    vips = [
        _route_domain_and_host(str(item.get("address", "")))
        for key, item in left.items()
        if key.type == VIRTUAL_ADDRESS and not is_forwarder(key)
    ]
    subnets: dict[tuple[int, str], dict[str, MarkedSubnet]] = {}
    for key, attributes in left.items():
        subnet = _own_subnet(key, attributes, names)
        for place in self_ip_subnets(attributes) if subnet is not None else ():
            is_common = place[0] == COMMON_ROUTE_DOMAIN
            if subnet is not None and (external if is_common else any(is_in_subnet(place, *vip) for vip in vips)):
                destination = "default-inet6" if ":" in subnet.gateway else "default"
                subnets.setdefault((place[0], destination), {})[subnet.id] = subnet
    return [
        _default_route(*which, _external_gateways(found), observed, names) for which, found in sorted(subnets.items())
    ]


def _external_gateways(subnets: Mapping[str, MarkedSubnet]) -> dict[str, str]:
    """Return ``{subnet id: gateway}`` of the external networks, or of all if none is external."""
    found = {id_: each.gateway for id_, each in subnets.items() if each.external}
    return found or {id_: each.gateway for id_, each in subnets.items()}


def _default_route(
    number: int, destination: str, gateways: Mapping[str, str], observed: Observed, names: BigIpNames
) -> WantedObject:
    key = default_route_key(destination, number, observed, names)
    seen = observed.get(key)
    there = seen.mark.object_id if seen is not None and seen.mark is not None else ""
    # an existing route keeps its gateway: each change interrupts traffic
    subnet_id = there if there in gateways else min(gateways)
    attributes = {
        "network": add_route_domain(destination, number),
        "gw": add_route_domain(gateways[subnet_id], number),
        "description": names.marked_description("net-route", LoadBalancerId(""), subnet_id),
    }
    return WantedObject(key=key, owner="", attributes=attributes, immutables=frozenset({"network"}))


# -- unused objects


def unused_snat_addresses(
    left: Mapping[Key, Attributes], wanted: Mapping[Key, WantedObject], shared: SharedNetworks
) -> frozenset[str]:
    """Return the paths of SNAT addresses in /Common that are members of SNAT pools, that no wanted pool
    needs, and whose subnets nothing uses any more.

    Addresses of subnets that ``shared`` does not know are not returned, so they stay.
    """
    pools = [key for key in left if key.type == SNAT_POOL]
    here = {canonical.full_path(item) for key in pools for item in left[key].get("members") or ()}
    requested = {path for key in pools if key in wanted for path in wanted[key].attributes["members"]}
    addresses = list(addresses_in_use(left)) if here else []
    found = set()
    for path in here - requested:
        folder, _, name = path.removeprefix("/").partition("/")
        subnet = name.rpartition("_")[0]
        cidrs = [cidr for subnet_id, cidr in shared.subnets.items() if subnet.endswith(f"-{subnet_id}")]
        places = [place for cidr in cidrs for place in self_ip_subnets({"address": cidr})]
        if (
            folder == COMMON
            and places
            and not any(is_in_subnet(place, *each) for place in places for each in addresses)
        ):
            found.add(path)
    return frozenset(found)


def unused_network_objects(
    left: Mapping[Key, Attributes], marked: Observed, names: BigIpNames, partition: str, spare: Collection[str]
) -> list[Key]:
    """Return this device group's network objects that nothing will use, and all its routes; objects whose
    mark names one owner (a load balancer, or a network in /Common) are left out.

    ``left``: attributes of all objects that will exist. ``marked``: the objects that exist now. ``spare``:
    result of :func:`unused_snat_addresses`.
    """
    ours = [key for key, seen in marked.items() if key in left and _is_ours(key, seen, names)]
    if not ours:
        return []
    addresses = list(addresses_in_use(left))
    kept = {key for key in ours if key.type in _TYPES_OF_SUBNETS and _is_subnet_used(key, left, marked, addresses)}
    # Each step keeps what the kept objects refer to; objects of others count too, because they may use our links.
    links = {str(left[key].get("vlan")) for key in left if key.type == SELF_IP and (key in kept or key not in ours)}
    paths = {f"/{partition}/{key.name}": key for key in ours}
    kept |= {paths[link] for link in links if link in paths}
    tunnels = [key for key in left if key.type == TUNNEL and (key in kept or key not in ours)]
    profiles = {str(left[key].get("profile")) for key in tunnels}
    kept |= {key for path, key in paths.items() if key.type in TUNNEL_PROFILES and path in profiles}
    numbers = {
        canonical.split_address(str(left[key].get("address")))[1]
        for key in left
        if key.type in (SELF_IP, SNAT_ADDRESS) and (key in kept or key not in ours)
    }
    numbers |= {number for number, _ in addresses}
    kept |= {key for key in ours if key.type == ROUTE_DOMAIN and int(left[key].get("id", 0)) in numbers}
    pools = {key for key in ours if key.type == SNAT_POOL}
    if any(key.type == SNAT_ADDRESS for key in kept):
        kept |= pools
    kept |= {key for key in pools if _addresses_in_common(left[key]) - frozenset(spare)}
    return [key for key in ours if key not in kept]


_TYPES_OF_SUBNETS = (SELF_IP, SNAT_ADDRESS, *NEIGHBOURS)


def _is_ours(key: Key, seen: ObservedObject, names: BigIpNames) -> bool:
    is_ours = seen.mark is not None and names.is_own_mark(seen.mark) and not seen.mark.load_balancer_id
    return key.type in NETWORK_TYPES and is_ours


def _addresses_in_common(pool: Attributes) -> frozenset[str]:
    """Return the full paths of a SNAT pool's addresses that are in /Common, where projects share them."""
    paths = map(canonical.full_path, pool.get("members") or ())
    return frozenset(path for path in paths if path.startswith(f"/{COMMON}/"))


def addresses_in_use(left: Mapping[Key, Attributes]) -> Iterator[tuple[int, str]]:
    """Yield route domain and address of each virtual address and pool member, except addresses of forwarding
    virtual servers.
    """
    for key, attributes in left.items():
        if key.type == VIRTUAL_ADDRESS and not is_forwarder(key):
            yield _route_domain_and_host(str(attributes.get("address", "")))
        elif key.type == POOL:
            for member in attributes.get("members", ()):
                yield _route_domain_and_host(str(member))


def _route_domain_and_host(text: str) -> tuple[int, str]:
    host, number = canonical.split_address(text)
    return number, host


def _is_subnet_used(
    key: Key, left: Mapping[Key, Attributes], marked: Observed, addresses: Iterable[tuple[int, str]]
) -> bool:
    """Whether one of the ``addresses`` in use needs the network object ``key``. ``left``: attributes of the
    objects that remain, ``key`` among them; ``marked``: the objects that exist now.
    """
    if key.type in NEIGHBOURS:
        return _route_domain_and_host(str(left[key].get("ipAddress", ""))) in addresses
    places = _subnets_of_object(key, left, marked)
    return any(is_in_subnet(place, number, host) for place in places for number, host in addresses)


def _subnets_of_object(key: Key, left: Mapping[Key, Attributes], marked: Observed) -> list[RouteDomainSubnet]:
    """Return route domain and network of the object's subnet, read from the self IPs of that subnet; empty if it has no
    self IP.
    """
    if key.type == SELF_IP:
        return list(self_ip_subnets(left[key]))
    subnet = _marked_subnet_id(marked[key])
    return [
        place
        for other, seen in marked.items()
        if other.type == SELF_IP and other in left and _marked_subnet_id(seen) == subnet
        for place in self_ip_subnets(left[other])
    ]


def self_ip_subnets(attributes: Attributes) -> Iterator[RouteDomainSubnet]:
    text = str(attributes.get("address", ""))
    host, number = canonical.split_address(text)
    try:
        yield number, ip_network(f"{host}/{text.rpartition('/')[2]}", strict=False)
    except ValueError:
        return


def is_in_subnet(place: RouteDomainSubnet, number: int, host: str) -> bool:
    try:
        return number == place[0] and ip_address(host) in place[1]
    except ValueError:
        return False


def _marked_subnet_id(seen: ObservedObject) -> str:
    return parse_marked_subnet(seen.mark.object_id if seen.mark is not None else "").id


def reference_removals(
    left: Mapping[Key, Attributes], gone: Collection[Key], partition: str, spare: Collection[str]
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Yield ``(key, attributes)`` changes that take references to objects in ``gone``, and to paths in
    ``spare``, out of the lists of SNAT pools and route domains before the objects are removed.
    """
    paths = {*(f"/{partition}/{key.name}" for key in gone), *spare}
    for key, attributes in left.items():
        if key.type not in (SNAT_POOL, ROUTE_DOMAIN) or key in gone:
            continue
        name = _JOINED_ATTRIBUTES[key.type]
        members = [canonical.full_path(item) for item in attributes.get(name) or ()]
        kept = [path for path in members if path not in paths]
        if kept != members:
            yield key, {name: kept}


def forwarding_record_removals(
    left: Mapping[Key, Attributes], observed: Observed, gone: Collection[Key], names: BigIpNames
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """Yield ``(key, attributes)`` changes that remove the records of vanished hosts from forwarding tables.

    A record has no mark: it is Even Keel's if it has the MAC address of one of Even Keel's neighbour entries, so it is
    removed with the last of these. An end point gets no more broadcasts when the last record that named it is removed;
    records that an operator added stay.
    """
    before = _neighbour_macs(observed.keys(), observed, names)
    vanished = before - _neighbour_macs(observed.keys() - set(gone), observed, names)
    for key, attributes in left.items():
        if key.type != FORWARDING_TABLE or Key(type=TUNNEL, name=key.name) in gone or key not in observed:
            continue
        records = list(map(_record_as_written, attributes.get("records") or ()))
        kept = [one for one in records if str(one["name"]).lower() not in vanished]
        named = _tunnel_endpoints(
            map(_record_as_written, observed[key].attributes.get("records") or ())
        ) - _tunnel_endpoints(kept)
        kept = [one for each in kept if (one := _remove_endpoints(each, named)) is not None]
        if kept != records:
            yield key, {"records": kept}


def _neighbour_macs(keys: Iterable[Key], observed: Observed, names: BigIpNames) -> set[str]:
    ours = (key for key in keys if key.type in NEIGHBOURS and names.is_own_mark(observed[key].mark))
    return {str(observed[key].attributes.get("macAddress", "")).lower() for key in ours}


def _tunnel_endpoints(records: Iterable[Attributes]) -> set[str]:
    return {str(one["endpoint"]) for one in records if one.get("endpoint")}


def _remove_endpoints(record: dict[str, Any], endpoints: Collection[str]) -> dict[str, Any] | None:
    """Return the record, without these end points if it is the record for all hosts; None if that has no end
    point left.
    """
    if record["name"] != EVERYWHERE_RECORD or "endpoints" not in record:
        return record
    left = [one for one in record["endpoints"] if one not in endpoints]
    return {**record, "endpoints": left} if left else None


# -- the state after a commit


def remove_link_from_observed(observed: Observed, key: Key) -> None:
    """Remove, from the observed state, a deleted VLAN's or tunnel's forwarding table and its entry in the route
    domain.
    """
    observed.pop(Key(type=FORWARDING_TABLE, name=key.name), None)
    for other, seen in list(observed.items()):
        vlans = seen.attributes.get("vlans") or () if other.type == ROUTE_DOMAIN else ()
        kept = [item for item in vlans if canonical.full_path(item).rpartition("/")[2] != key.name]
        if len(kept) < len(vlans):
            observed[other] = replace(seen, attributes={**seen.attributes, "vlans": kept})

"""Objects of F5's agent in an adopted partition: which of them Even Keel keeps under their names, and which
are replaced.

Pure. The matches are not stored. A wanted object whose name is free, or is used by F5's agent for another
address, is matched to the object with the same number or address that F5's agent created, or that has had
Even Keel's mark since; so each pass finds the same matches, whichever agent ran the earlier ones. Objects
without a mark whose names F5's agent does not give are not matched: an operator may have created them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address
from typing import Any

from msgspec.structs import replace

from evenkeel.core.networking.networks import COMMON_ROUTE_DOMAIN
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, parse_mark, parse_marked_subnet
from evenkeel.devices.bigip.networks import f5_agent
from evenkeel.devices.bigip.objects import (
    NEIGHBOURS,
    NETWORK_TYPES,
    ROUTE,
    ROUTE_DOMAIN,
    SELF_IP,
    SNAT_ADDRESS,
    SNAT_POOL,
    TUNNEL,
    TUNNEL_PROFILES,
    VIRTUAL,
    VIRTUAL_ADDRESS,
    VLAN,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    WantedObject,
)

_IDENTIFYING_ATTRIBUTES = {ROUTE_DOMAIN: "id", SELF_IP: "address", SNAT_ADDRESS: "address"} | dict.fromkeys(
    NEIGHBOURS, "ipAddress"
)
"""``{type: attribute}`` whose value identifies an object: a device has no two objects of the type with the same
value.
"""
_UNLIMITED_RATES = ("", "0", "disabled")
"""Values by which a virtual server has no limit of connections per second."""
_SECOND_NAME_SUFFIX = "-evenkeel"
_PATH_ATTRIBUTES = ("vlan", "vlans", "members")
"""Attributes that refer to other network objects."""

Attributes = Mapping[str, Any]
ObjectsByIdentity = Mapping[tuple[str, object], ObservedObject]


def use_f5_names(
    rendered: Iterable[RenderedObjects], observed: Observed, names: BigIpNames, partition: str
) -> list[RenderedObjects]:
    """Return the load balancers with the names that their network objects have on the device, and with
    attributes to match; virtual servers lose F5's limits.
    """
    services = [
        replace(one, objects=tuple(_remove_f5_limits(item, observed) for item in one.objects)) for one in rendered
    ]
    if not any(one.networks for one in services):
        return services
    found = {
        (key.type, canonical.canonical_form_function(attribute)(seen.attributes.get(attribute))): seen
        for key, seen in observed.items()
        if (attribute := _IDENTIFYING_ATTRIBUTES.get(key.type)) is not None
    }
    return [
        replace(one, networks=_use_names_on_device(one.networks, found, observed, names, partition))
        if one.networks
        else one
        for one in services
    ]


def _remove_f5_limits(item: WantedObject, observed: Observed) -> WantedObject:
    """Return the virtual server without the restriction to VLANs and the limits of rate and bandwidth that
    F5's agent gave it; other objects, and virtual servers that are new or have an ownership mark already,
    are returned unchanged.

    F5's agent had virtual servers listen only on the VLAN of their VIP, which could not be removed before
    them; Even Keel's listen everywhere in their route domain. No attribute of the API stands for F5's limits.
    Limits are removed only at the adoption: what an operator sets later stays.
    """
    seen = observed.get(item.key) if item.key.type == VIRTUAL else None
    if seen is None or seen.mark is not None:
        return item
    freed: dict[str, Any] = {}
    if seen.attributes.get("vlansEnabled"):
        freed |= {"vlansDisabled": True, "vlans": []}
    if canonical.scalar_text(seen.attributes.get("rateLimit")) not in _UNLIMITED_RATES:
        freed["rateLimit"] = "disabled"
    if canonical.scalar_text(seen.attributes.get("bwcPolicy")):
        freed["bwcPolicy"] = "none"
    return replace(item, attributes={**item.attributes, **freed}) if freed else item


def _use_names_on_device(
    networks: Sequence[WantedObject], found: ObjectsByIdentity, observed: Observed, names: BigIpNames, partition: str
) -> tuple[WantedObject, ...]:
    there = {
        item.key: key
        for item in networks
        if (key := _key_on_device(item, found, observed, names, partition)) is not None
    }
    profiles = {
        item.key: profile
        for item in networks
        if (profile := _tunnel_profile_path(item, observed.get(item.key), names)) is not None
    }
    if not there and not profiles:
        return tuple(networks)
    paths = {f"/{partition}/{old.name}": f"/{partition}/{new.name}" for old, new in there.items()}
    made = []
    for item in networks:
        attributes = {
            name: _replace_paths(value, paths) if name in _PATH_ATTRIBUTES else value
            for name, value in item.attributes.items()
        }
        if item.key in profiles:
            attributes["profile"] = profiles[item.key]
        made.append(replace(item, key=there.get(item.key, item.key), attributes=attributes))
    used = {item.attributes["profile"] for item in made if item.key.type == TUNNEL}
    # A profile of our own is not needed where the tunnel keeps that of F5's agent.
    return tuple(
        item for item in made if item.key.type not in TUNNEL_PROFILES or _partition_path(item.key, partition) in used
    )


def _partition_path(key: Key, partition: str) -> str:
    return f"/{partition}/{key.name}"


def _replace_paths(value: Any, paths: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return paths.get(value, value)
    return sorted(paths.get(each, each) for each in value)


def _key_on_device(
    item: WantedObject, found: ObjectsByIdentity, observed: Observed, names: BigIpNames, partition: str
) -> Key | None:
    """Return the key under which the device has, or should get, the wanted object; None: the object's own
    key.

    If another address of F5's agent still has the object's own name, the result is a second name.
    """
    own = observed.get(item.key)
    if own is not None and not _blocks_wanted_name(item, own, partition):
        return None
    if item.key.type == VLAN:
        key = Key(type=VLAN, name=f5_agent.f5_flat_vlan_name(item.key.name))
        return key if key in observed and item.key.name.startswith("flat-") else None
    attribute = _IDENTIFYING_ATTRIBUTES.get(item.key.type)
    if attribute is None:
        return None
    seen = found.get((item.key.type, canonical.canonical_form_function(attribute)(item.attributes[attribute])))
    if seen is not None and (
        names.is_own_mark(seen.mark) or (seen.mark is None and _has_f5_object_name(seen, item, partition))
    ):
        return seen.key
    return None if own is None else replace(item.key, name=f"{item.key.name}{_SECOND_NAME_SUFFIX}")


def _blocks_wanted_name(item: WantedObject, seen: ObservedObject, partition: str) -> bool:
    """Whether F5's agent gave the wanted object's name to another address, which is removed after Even Keel's object
    exists.
    """
    if (
        item.key.type not in (SELF_IP, SNAT_ADDRESS)
        or seen.mark is not None
        or not _has_f5_object_name(seen, item, partition)
    ):
        return False
    return not canonical.has_wanted_value("address", item.attributes["address"], seen.attributes)


def _has_f5_object_name(seen: ObservedObject, item: WantedObject, partition: str) -> bool:
    """Whether F5's agent named the observed object, by its rules for objects of the wanted object's type and subnet."""
    if item.key.type == ROUTE_DOMAIN:
        return f5_agent.is_route_domain(seen.key.name, partition)
    if item.key.type in NEIGHBOURS:
        return seen.key.name.lower() == str(seen.attributes.get("macAddress", "")).lower()
    subnet_id = _marked_subnet_id(item)
    if item.key.type == SELF_IP:
        return f5_agent.is_self_ip_of_subnet(seen.key.name, subnet_id)
    return f5_agent.snat_index(seen.key.name, subnet_id) is not None


def _marked_subnet_id(item: WantedObject) -> str:
    mark = parse_mark(item.attributes.get("description"))
    return parse_marked_subnet(mark.object_id if mark else "").id


def _tunnel_profile_path(item: WantedObject, seen: ObservedObject | None, names: BigIpNames) -> str | None:
    """Return the path in /Common of the existing tunnel's profile, if that has the wanted profile's name,
    because a tunnel's profile cannot be changed. None for any other profile or object, and for another
    owner's tunnel.
    """
    if item.key.type != TUNNEL or seen is None or not (seen.mark is None or names.is_own_mark(seen.mark)):
        return None
    name = str(item.attributes["profile"]).rpartition("/")[2]
    return f"/{COMMON}/{name}" if seen.attributes.get("profile") == f"/{COMMON}/{name}" else None


def adoption_obstacle_text(rendered: Iterable[RenderedObjects], observed: Observed, partition: str) -> str:
    """Return the reason why the partition cannot be adopted; empty if there is none.

    The reason names a network object that would have to be recreated, under traffic.
    """
    for item in (item for one in rendered for item in one.networks):
        seen = observed.get(item.key)
        if seen is None or seen.mark is not None:
            continue
        for name in sorted(item.immutables & canonical.differing_attributes(item.attributes, seen.attributes).keys()):
            return (
                f"{item.key.type} {_partition_path(item.key, partition)} has {name} {seen.attributes.get(name)} instead"
                f" of {item.attributes[name]}, which cannot be changed in place"
            )
    return ""


# -- what ours have replaced


def replaced_objects(
    left: Mapping[Key, Attributes], wanted: Mapping[Key, WantedObject], observed: Observed, partition: str
) -> list[Key]:
    """Return the objects of F5's agent that Even Keel's replace, or have replaced, and to which nothing
    refers; none while ``wanted`` has no subnet and virtual addresses of F5's agent are left.

    ``left``: attributes of all objects that will exist; ``wanted``: the objects wanted now.
    """
    subnet_ids = _subnet_ids(wanted)
    if not subnet_ids and any(_is_vip_of_other_program(key, observed) for key in left):
        return []  # what is left may be of a load balancer that F5's agent serves
    theirs = [
        key
        for key in left
        if key.type in NETWORK_TYPES and key not in wanted and key in observed and observed[key].mark is None
    ]
    found = [
        key
        for key in theirs
        if key.type == SELF_IP and any(f5_agent.is_self_ip_of_subnet(key.name, subnet_id) for subnet_id in subnet_ids)
    ]
    disconnected = Key(type=TUNNEL, name=f5_agent.DISCONNECTED_TUNNEL_NAME)
    if disconnected in theirs and _partition_path(disconnected, partition) not in _vlans_of_virtuals(left):
        found.append(disconnected)
    return [*found, *_replaced_snat_objects(left, wanted, observed, theirs, partition)]


def _is_vip_of_other_program(key: Key, observed: Observed) -> bool:
    return key.type == VIRTUAL_ADDRESS and key in observed and observed[key].mark is None


def _subnet_ids(wanted: Mapping[Key, WantedObject]) -> set[str]:
    """Return the ids of the subnets in which devices should have addresses."""
    return {_marked_subnet_id(item) for key, item in wanted.items() if key.type in (SELF_IP, SNAT_ADDRESS)} - {""}


def _pools_in_use(observed: Observed) -> set[str]:
    """Return the paths of the SNAT pools that existing virtual servers use."""
    return {_snat_pool(seen.attributes) for key, seen in observed.items() if key.type == VIRTUAL}


def keys_to_replace_later(observed: Observed, partition: str) -> set[Key]:
    """Return the SNAT pools of F5's agent that virtual servers use now, and their addresses.

    The pass that gives the virtual servers another pool does not remove them; a later pass does.
    """
    in_use = _pools_in_use(observed)
    pools = [
        key
        for key, seen in observed.items()
        if key.type == SNAT_POOL
        and seen.mark is None
        and _is_f5_snat_pool_name(key.name, partition)
        and _partition_path(key, partition) in in_use
    ]
    paths = {canonical.full_path(member) for key in pools for member in observed[key].attributes.get("members") or ()}
    return {*pools, *(key for key in observed if key.type == SNAT_ADDRESS and _partition_path(key, partition) in paths)}


def _vlans_of_virtuals(left: Mapping[Key, Attributes]) -> set[str]:
    return {
        canonical.full_path(item)
        for key, attributes in left.items()
        if key.type == VIRTUAL
        for item in attributes.get("vlans") or ()
    }


def _replaced_snat_objects(
    left: Mapping[Key, Attributes],
    wanted: Mapping[Key, WantedObject],
    observed: Observed,
    theirs: Iterable[Key],
    partition: str,
) -> Iterator[Key]:
    """Yield SNAT pools and addresses of F5's agent that Even Keel's replace.

    An address stays as long as an unchanged pool has it. A pool stays until a pass after the one that gives its virtual
    servers another pool: requests may be on their way.
    """
    subnet_ids = _subnet_ids(wanted)
    used = {_snat_pool(attributes) for key, attributes in left.items() if key.type == VIRTUAL}
    used |= _pools_in_use(observed)
    named = [
        key
        for key in theirs
        if key.type in (SNAT_ADDRESS, SNAT_POOL)
        and (
            f5_agent.is_snat_of_subnets(key.name, subnet_ids)
            or (key.type == SNAT_POOL and _is_f5_snat_pool_name(key.name, partition))
        )
    ]
    gone = {key for key in named if key.type == SNAT_POOL and _partition_path(key, partition) not in used}
    yield from sorted(gone, key=lambda key: key.name)
    # A device creates an address, with the address as its name, for a member of a pool that is written as an address.
    freed = {canonical.full_path(member) for key in gone for member in left[key].get("members") or ()}
    named += [
        key
        for key in theirs
        if _is_device_made_snat_address(key) and key not in named and _partition_path(key, partition) in freed
    ]
    kept = {
        canonical.full_path(member)
        for key, attributes in left.items()
        if key.type == SNAT_POOL and key not in wanted and key not in gone
        for member in attributes.get("members") or ()
    }
    yield from (key for key in named if key.type == SNAT_ADDRESS and _partition_path(key, partition) not in kept)


def _is_device_made_snat_address(key: Key) -> bool:
    """Whether the key is a SNAT address that a device created for a member of a pool."""
    try:
        return key.type == SNAT_ADDRESS and bool(ip_address(key.name.partition("%")[0]))
    except ValueError:
        return False


def _is_f5_snat_pool_name(name: str, partition: str) -> bool:
    """Whether F5's agent gives this name to the SNAT pool of a tenant, or since 9.8 of a load balancer."""
    return name == partition or f5_agent.is_prefixed_object_name(name, partition)


def _snat_pool(virtual: Attributes) -> str:
    translation = virtual.get("sourceAddressTranslation")
    return str(translation.get("pool", "")) if isinstance(translation, Mapping) else ""


def default_route_key(destination: str, number: int, observed: Observed, names: BigIpNames) -> Key:
    """Return the key of a route domain's default route: F5's name if F5's agent made the route that the
    device has, else ``<destination>-<number>``.

    In the common route domain nothing is adopted.
    """
    own = Key(type=ROUTE, name=f"{destination}-{number}")
    theirs = Key(type=ROUTE, name=f5_agent.default_route_name(destination, number))
    seen = None if number == COMMON_ROUTE_DOMAIN or own in observed else observed.get(theirs)
    return theirs if seen is not None and (seen.mark is None or names.is_own_mark(seen.mark)) else own


def has_foreign_route(item: WantedObject, observed: Observed) -> bool:
    """Whether a route of another program, with another name, exists for the same destination and route domain."""
    return any(
        seen.mark is None
        and key != item.key
        and _route_destination(seen.attributes) == _route_destination(item.attributes)
        for key, seen in observed.items()
        if key.type == ROUTE
    )


def _route_destination(route: Attributes) -> tuple[str, str]:
    network, _, number = str(route.get("network", "")).partition("%")
    return network, number or str(route.get("gw", "")).partition("%")[2]

"""A digest per load balancer of the load balancer's objects on a device, from the responses to bulk reads. Pure.

The digest covers virtual addresses, virtual servers, pools and members, with most attributes that Even Keel sets:
there manual changes are likely and harmful. Not covered are a virtual server's profiles, iRules and policies, the
content of profiles and monitors, which an observation does not read, and state that a device changes by itself, such
as a member's. Digests of different versions of this module are not comparable.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import BigIpNames, member_name
from evenkeel.devices.bigip.objects import MEMBER, POOL, VIRTUAL, VIRTUAL_ADDRESS, Key, Observed
from evenkeel.devices.bigip.observe.partition_reads import subcollection_items

Item = Mapping[str, Any]
CanonicalForm = Callable[[Any], object]
ObjectIdentity = tuple[str, str, str, str]
"""Identity of an object: type, partition, pool (only of members), name."""

_ADDRESS_ATTRIBUTES = ("fullPath", "address", "mask", "autoDelete", "enabled", "description")
_VIRTUAL_ATTRIBUTES = (
    "fullPath",
    "destination",
    "mask",
    "ipProtocol",
    "pool",
    "fallbackPersistence",
    "connectionLimit",
    "disabled",
    "description",
)
_VIRTUAL_FORMS = tuple(
    (name, canonical.canonical_form_function(name)) for name in ("persist", "sourceAddressTranslation")
)
_POOL_ATTRIBUTES = (
    "fullPath",
    "loadBalancingMode",
    "minActiveMembers",
    "queueOnConnectionLimit",
    "queueDepthLimit",
    "queueTimeLimit",
    "monitor",
    "description",
)
_MEMBER_ATTRIBUTES = ("name", "address", "ratio", "connectionLimit", "priorityGroup", "monitor", "description")
_MEMBER_FORMS = tuple((name, canonical.canonical_form_function(name)) for name in ("session", "state"))


def load_balancer_digests(
    addresses: Iterable[Item], virtuals: Iterable[Item], pools: Iterable[Item], names: BigIpNames
) -> dict[str, str]:
    """Compute ``{load balancer id: digest}`` for load balancers with at least one object of this device group
    on the device.
    """
    found: dict[str, list[str]] = {}
    for items, text in ((addresses, _address_text), (virtuals, _virtual_text), (pools, _pool_text)):
        for item in items:
            if (mark := names.own_mark(item.get("description"))) and mark.load_balancer_id:
                found.setdefault(mark.load_balancer_id, []).append(text(item))
    return {load_balancer_id: _hash_texts(texts) for load_balancer_id, texts in found.items()}


def combine_device_digests(device_digests: Collection[Mapping[str, str]]) -> dict[str, str]:
    """Combine the devices' digests into one for each load balancer id: the common one, or a digest of the
    differing ones.

    The result does not depend on the number of devices that responded with the same content.
    """
    everything = {load_balancer_id for one in device_digests for load_balancer_id in one}
    found = {}
    for load_balancer_id in everything:
        different = {one.get(load_balancer_id, "") for one in device_digests}
        found[load_balancer_id] = different.pop() if len(different) == 1 else _hash_texts(different)
    return found


def object_identities(
    addresses: Iterable[Item], virtuals: Iterable[Item], pools: Iterable[Item]
) -> set[ObjectIdentity]:
    """Return the identities of virtual addresses, virtual servers, pools and members in the responses, of all
    partitions; objects in subfolders are left out.
    """
    found: set[ObjectIdentity] = set()
    for kind, items in ((VIRTUAL_ADDRESS, addresses), (VIRTUAL, virtuals), (POOL, pools)):
        for item in items:
            partition, name = str(item.get("partition")), str(item.get("name"))
            if not item.get("subPath"):
                found.add((kind, partition, "", name))
                if kind == POOL:
                    members = subcollection_items(item, "members")
                    found.update((MEMBER, partition, name, member_name(member)) for member in members)
    return found


def expected_object_identities(observed: Observed, partition: str) -> Iterator[ObjectIdentity]:
    """Yield the identities that :func:`object_identities` should contain if the partition's cached state is
    right.
    """
    for key, item in observed.items():
        if key.type in (VIRTUAL_ADDRESS, VIRTUAL, POOL):
            yield key.type, partition, "", key.name
            yield from (_member_identity(partition, member.key) for member in item.members.values())


def _member_identity(partition: str, key: Key) -> ObjectIdentity:
    return MEMBER, partition, key.pool, key.name


def _address_text(item: Item) -> str:
    return _attributes_text(item, _ADDRESS_ATTRIBUTES)


def _virtual_text(item: Item) -> str:
    return _attributes_text(item, _VIRTUAL_ATTRIBUTES) + _formatted_text(item, _VIRTUAL_FORMS)


def _pool_text(item: Item) -> str:
    members = sorted(
        _attributes_text(member, _MEMBER_ATTRIBUTES) + _formatted_text(member, _MEMBER_FORMS)
        for member in subcollection_items(item, "members")
    )
    return "\n".join((_attributes_text(item, _POOL_ATTRIBUTES), *members))


def _attributes_text(item: Item, attributes: Iterable[str]) -> str:
    # The separator is a character that no attribute contains.
    return "\0".join(map(canonical.scalar_text, map(item.get, attributes)))


def _formatted_text(item: Item, attributes: Iterable[tuple[str, CanonicalForm]]) -> str:
    return "\0".join([str(_sorted_if_set(form(item.get(name)))) for name, form in attributes])


def _sorted_if_set(value: object) -> object:
    """Return a set as a sorted list, because sets iterate in another order in each process; other values unchanged."""
    return sorted(value) if isinstance(value, frozenset) else value


def _hash_texts(texts: Iterable[str]) -> str:
    # Sorted, because the order in which a device lists objects means nothing.
    return hashlib.blake2b("\n".join(sorted(texts)).encode(), digest_size=12).hexdigest()

"""Nodes of pool members: which one a member gets, which are removed, and moves to /Common. Pure.

An address is one node of its route domain, whatever the partition (0107003a: "cannot use the same IP Address"), and
partitions may refer to nodes in /Common only. So a node of the common route domain is in /Common, where tenants share
it. The device makes it with the first member that names it, in the transaction of that member; and it refuses to remove
one that any partition's member names. So users are not counted, such a node has no owner, and no order of two agents'
transactions leaves a member without its node.

Even Keel's nodes are known by their names alone (:meth:`BigIpNames.node_name`) and have no attribute that a pass
sets. A node that is there already is used under its name: one of an operator in /Common, or one in the partition,
where the device made it for a member of F5's agent or of an earlier version. Members at nodes in the partition move
to /Common (:func:`member_moves_to_common`), and back with the partition (:func:`member_moves_from_common`).
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.core.kit.ids import COMMON_PROJECT, ProjectId
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import COMMON, BigIpNames, endpoint, is_in_common, name_and_partition
from evenkeel.devices.bigip.objects import (
    NODE,
    POOL,
    ConfigOperation,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    Verb,
    WantedObject,
)
from evenkeel.devices.bigip.options import BigIpOptions

_COMMON_PREFIX = f"/{COMMON}/"
_canonical_address = canonical.canonical_form_function("address")
_MOVED_ATTRIBUTES = (
    "address",
    "connectionLimit",
    "dynamicRatio",
    "inheritProfile",
    "logging",
    "priorityGroup",
    "rateLimit",
    "ratio",
)
"""Attributes of a member that a move copies as the device shows them; other attributes are converted."""
_DEFAULT_ATTRIBUTES = {
    "monitor": ("", "default", "/Common/none"),
    "connectionLimit": ("", "0"),
    "rateLimit": ("", "0", "disabled"),
}
"""``{attribute: values}`` that a node has as the device made it."""


def member_node_name(member: str) -> str:
    """Return the node of a member: the member's name without the port."""
    return member.rpartition("." if member.count(":") > 1 else ":")[0]


def member_name_at_node(node: str, member: str) -> str:
    """Return the name of a member at this node, with the port of ``member``."""
    return endpoint(node, member[len(member_node_name(member)) + 1 :])


def assign_nodes(
    rendered: Iterable[RenderedObjects], observed: Observed, names: BigIpNames, others: Mapping[str, str]
) -> list[RenderedObjects]:
    """Return the load balancers with each member named after the node that its address has, or gets, on the
    device.

    ``others``: ``{address: path}`` of nodes in /Common that are not Even Keel's.
    """
    found = {**others, **_nodes_in_use(observed), **_own_nodes(observed)}
    return [
        replace(one, objects=tuple(_place_members_at_nodes(item, found, names) for item in one.objects))
        for one in rendered
    ]


def _nodes_in_use(observed: Observed) -> dict[str, str]:
    """Return ``{address: path}`` of the nodes in /Common that the partition's members use."""
    return {
        str(_canonical_address(member.attributes.get("address"))): member_node_name(name)
        for seen in observed.values()
        for name, member in seen.members.items()
        if is_in_common(name)
    }


def _own_nodes(observed: Observed) -> dict[str, str]:
    """Return ``{address: name}`` of the nodes in the tenant's partition."""
    return {
        str(_canonical_address(seen.attributes.get("address"))): key.name
        for key, seen in observed.items()
        if key.type == NODE
    }


def _place_members_at_nodes(item: WantedObject, found: Mapping[str, str], names: BigIpNames) -> WantedObject:
    if item.key.type != POOL or not item.members:
        return item
    return replace(item, members=tuple(_place_member_at_node(member, found, names) for member in item.members))


def _place_member_at_node(member: WantedObject, found: Mapping[str, str], names: BigIpNames) -> WantedObject:
    address = str(_canonical_address(member.attributes["address"]))
    # An address with a number is in the tenant's own route domain, where nobody else has nodes.
    own = member_node_name(member.key.name) if "%" in address else f"{_COMMON_PREFIX}{names.node_name(address)}"
    name = member_name_at_node(found.get(address, own), member.key.name)
    return member if name == member.key.name else replace(member, key=replace(member.key, name=name))


# -- removal


def removable_nodes(
    freed: Iterable[ObservedObject], used: Container[str], observed: Observed, names: BigIpNames
) -> list[Key]:
    """Return the nodes of freed members that no other member of the partition uses, sorted by name: Even
    Keel's nodes in /Common, and nodes in the partition that are as the device made them.

    ``used``: nodes of the members that stay.
    """
    found = {
        member_node_name(member.key.name): str(_canonical_address(member.attributes.get("address"))) for member in freed
    }
    nodes = (Key(type=NODE, name=name) for name in sorted(found) if name not in used)
    return [
        key
        for key in nodes
        if (
            key.name == f"{_COMMON_PREFIX}{names.node_name(found[key.name])}"
            if is_in_common(key.name)
            else _is_created_by_device(observed.get(key))
        )
    ]


def _is_created_by_device(node: ObservedObject | None) -> bool:
    return (
        node is not None
        and not node.attributes.get("description")
        and canonical.has_wanted_value("address", node.key.name, node.attributes)
    )


# -- moves


def member_moves_to_common(
    observed: Observed, names: BigIpNames, project_id: ProjectId, options: BigIpOptions
) -> list[tuple[ConfigOperation, ...]]:
    """Return operations that move members from nodes in the project's partition to /Common; each list item is
    one node's, and one transaction, because two nodes of one address cannot exist.

    Empty for the common project, and where the options forbid moves. Nodes outside the common route domain
    stay, as do nodes with members or attributes that are not Even Keel's.
    """
    if project_id == COMMON_PROJECT or not options.move_nodes:
        return []
    at: dict[str, list[ObservedObject]] = defaultdict(list)
    for seen in observed.values():
        for name, member in seen.members.items():
            at[member_node_name(name)].append(member)
    return [
        tuple(
            _operations_of_move_to_node(
                key, at[key.name], f"{_COMMON_PREFIX}{names.node_name(str(_canonical_address(key.name)))}"
            )
        )
        for key, seen in sorted(observed.items(), key=lambda item: item[0].name)
        if key.type == NODE and "%" not in str(seen.attributes.get("address")) and _has_only_default_attributes(seen)
        if at[key.name] and all(names.is_own_mark(member.mark) for member in at[key.name])
    ]


def _has_only_default_attributes(node: ObservedObject) -> bool:
    """Whether the node is as the device made it, without the limit, monitor or disabled state that its
    members would lose by a move.
    """
    seen = node.attributes
    return (
        _is_created_by_device(node)
        and seen.get("session") != "user-disabled"
        and seen.get("state") != "user-down"
        and all(canonical.scalar_text(seen.get(name)) in usual for name, usual in _DEFAULT_ATTRIBUTES.items())
    )


def member_moves_from_common(
    observed: Observed, names: BigIpNames, partition: str, used_elsewhere: Container[str]
) -> list[tuple[ConfigOperation, ...]]:
    """Return operations that move members from Even Keel's nodes in /Common back to nodes in the partition,
    as F5's agent has them; each list item is one node's, and one transaction.

    ``used_elsewhere``: paths of nodes that other partitions' members name; these stay, as do nodes with
    members that are not Even Keel's.
    """
    at: dict[str, list[ObservedObject]] = defaultdict(list)
    for seen in observed.values():
        for name, member in seen.members.items():
            if is_in_common(name):
                at[member_node_name(name)].append(member)
    found = (
        (path, str(_canonical_address(here[0].attributes.get("address"))), here) for path, here in sorted(at.items())
    )
    return [
        tuple(_operations_of_move_to_node(Key(type=NODE, name=path), here, address, partition))
        for path, address, here in found
        if path == f"{_COMMON_PREFIX}{names.node_name(address)}" and path not in used_elsewhere
        if all(names.is_own_mark(member.mark) for member in here)
    ]


def _operations_of_move_to_node(
    node: Key, members: Sequence[ObservedObject], to: str, partition: str = ""
) -> Iterator[ConfigOperation]:
    """Yield operations that move a node's members to the node ``to``, a path or a name in the partition, which the
    device creates.
    """
    for member in members:
        yield ConfigOperation(verb=Verb.DELETE, key=member.key, owner="")
    yield ConfigOperation(verb=Verb.DELETE, key=node, owner="")
    for member in members:
        key = replace(member.key, name=member_name_at_node(to, member.key.name))
        body = _member_on_new_node(key, member.attributes, partition)
        yield ConfigOperation(verb=Verb.CREATE, key=key, owner="", body=body)


def _member_on_new_node(key: Key, attributes: Mapping[str, Any], partition: str) -> dict[str, Any]:
    session, state = (canonical.canonical_form_function(name)(attributes.get(name)) for name in ("session", "state"))
    return {
        **name_and_partition(key.name, partition),
        **{name: attributes[name] for name in _MOVED_ATTRIBUTES if name in attributes},
        "monitor": canonical.scalar_text(attributes.get("monitor")) or "default",
        "description": attributes["description"],
        "session": f"user-{session}",
        "state": f"user-{state}",
    }

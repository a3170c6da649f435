"""Plans a partition: compares observed with wanted objects, and returns ordered operations. Pure.

Only attributes that Even Keel sets are compared, in canonical form, so the plan is empty if nothing differs. An object
is modified because its name is wanted, and removed only if it has this device group's mark, or if F5's agent made it
and Even Keel's replaced it (:mod:`.f5_objects`, :mod:`.taking_over`). A load balancer is planned completely or not at
all: if one of its objects belongs to another owner, the whole load balancer is a problem.

Nodes have no mark: the device creates them for members, which saves a request each. A node is removed with its last
member (:mod:`evenkeel.devices.bigip.reconcile.nodes`). Files have no mark either, and load balancers share them: each
creates those that are missing, and the last load balancer that refers to a file removes it
(:mod:`evenkeel.devices.bigip.reconcile.files`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from msgspec.structs import replace

from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import (
    COMMON,
    BigIpNames,
    is_in_common,
    member_name,
    name_and_partition,
    parse_mark,
    parse_marked_code,
)
from evenkeel.devices.bigip.networks.shared_networks import NOTHING_SHARED, SharedNetworks
from evenkeel.devices.bigip.objects import (
    BANDWIDTH_POLICY,
    CIPHER_GROUP,
    CIPHER_RULE,
    DATA_GROUP,
    FILES,
    FORWARDING_TABLE,
    FTP_PROFILE,
    MEMBER,
    MONITORS,
    NEIGHBOURS,
    NETWORK_TYPES,
    NODE,
    OWNED_TYPES,
    PERSISTENCE,
    POLICY,
    POOL,
    PROFILES,
    ROUTE,
    ROUTE_DOMAIN,
    RULE,
    SELF_IP,
    SERVER_SSL,
    SNAT_ADDRESS,
    SNAT_POOL,
    TUNNEL,
    TUNNEL_PROFILES,
    VIRTUAL,
    VIRTUAL_ADDRESS,
    VLAN,
    ConfigOperation,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    Verb,
    WantedObject,
)
from evenkeel.devices.bigip.reconcile.abandoned import abandoned_objects
from evenkeel.devices.bigip.reconcile.alternative_names import choose_alternative_names
from evenkeel.devices.bigip.reconcile.chaining import chaining_problems
from evenkeel.devices.bigip.reconcile.f5_objects import F5_TYPES, f5_object_keys, unreferenced_keys
from evenkeel.devices.bigip.reconcile.files import referenced_file_names, unused_files
from evenkeel.devices.bigip.reconcile.forwarding import existing_forwarder_keys, forwarding_servers, is_forwarder
from evenkeel.devices.bigip.reconcile.networks import (
    default_routes,
    forwarding_record_removals,
    keep_foreign_items,
    merge_network_objects,
    reference_removals,
    remove_link_from_observed,
    unused_network_objects,
    unused_snat_addresses,
)
from evenkeel.devices.bigip.reconcile.nodes import assign_nodes, member_node_name, removable_nodes
from evenkeel.devices.bigip.reconcile.taking_over import has_foreign_route, replaced_objects, use_f5_names

NO_NODES: Mapping[str, str] = MappingProxyType({})
NO_OWNER = ""
"""Owner of operations that concern several load balancers, such as the removal of nodes and files."""

# An address or port must be free before it is used again, so listeners and their addresses are removed first; all other
# objects are removed after the objects that referred to them were changed.
_RANK_OF_REPLACED_OBJECTS = 5
_RANKS_OF_CREATION = {kind: 6 + place for place, kind in enumerate((*NETWORK_TYPES, *OWNED_TYPES))} | {MEMBER: 50}
_RANKS_OF_REMOVAL = (
    {VIRTUAL: 0, VIRTUAL_ADDRESS: 1, POLICY: 139, MEMBER: 140, POOL: 141}
    | dict.fromkeys((*PERSISTENCE, *PROFILES, FTP_PROFILE, *MONITORS), 144)
    | {RULE: 145, DATA_GROUP: 146, SERVER_SSL: 146, CIPHER_GROUP: 147, CIPHER_RULE: 148, BANDWIDTH_POLICY: 149}
    | {NODE: 150}
    | dict.fromkeys(FILES, 160)
    | dict.fromkeys(NEIGHBOURS, 170)
    | {ROUTE: 170, SNAT_POOL: 170, SNAT_ADDRESS: 172, SELF_IP: 173, VLAN: 174, TUNNEL: 174}
    | dict.fromkeys((ROUTE_DOMAIN, *TUNNEL_PROFILES), 175)
)
_RANK_OF_REFERENCE_REMOVALS = 171


class Plan(Value):
    """Operations in execution order; ``problems``: the reasons for load balancers that cannot be planned."""

    operations: tuple[ConfigOperation, ...] = ()
    problems: Mapping[LoadBalancerId, str] = {}
    networks: Mapping[str, tuple[WantedObject, ...]] = {}
    """``{load balancer id: network objects}`` that the load balancer needs and may share with others."""
    observed: Observed = {}
    partition: str = ""

    def operations_of_owners(self, owners: frozenset[str]) -> tuple[ConfigOperation, ...]:
        """Return the operations of these owners (load balancer ids or :data:`NO_OWNER`) in order; an operation
        for an object that several of them need appears once.
        """
        found = [one for one in self.operations if one.owner in owners and not _is_for_networks(one)]
        needs = merge_network_objects(
            item for owner in sorted(owners & self.networks.keys()) for item in self.networks[owner]
        )
        found.extend(_shared_object_additions(needs, self.observed, self.partition))
        found.sort(key=_operation_sort_key)
        return tuple({(one.verb, one.key): one for one in found}.values())


def plan_operations(
    observed: Observed,
    rendered: Iterable[RenderedObjects],
    *,
    partition: str,
    names: BigIpNames,
    complete: bool,
    shared: SharedNetworks = NOTHING_SHARED,
    nodes: Mapping[str, str] = NO_NODES,
) -> Plan:
    """Plan all operations for these load balancers, or for these networks in /Common. Problems of load
    balancers are in the plan, and not raised.

    ``complete``: also remove the objects of all other load balancers of this device group. ``shared``: facts
    about networks that projects share. ``nodes``: ``{address: path}`` of nodes in /Common that are not Even
    Keel's.
    """
    there = use_f5_names(assign_nodes(rendered, observed, names, nodes), observed, names, partition)
    services = tuple(choose_alternative_names(there, observed, names, partition))
    problems = {one.service.load_balancer_id: one.problem for one in services if one.problem}
    for one in services:
        if not one.problem and (
            problem := _foreign_object_problem((*one.objects, *one.networks), observed, partition, names)
        ):
            problems[one.service.load_balancer_id] = problem
    fitting = [one for one in services if one.service.load_balancer_id not in problems]
    problems |= chaining_problems(fitting, observed, complete=complete)
    sound = [one for one in services if one.service.load_balancer_id not in problems]
    # Files are planned apart (`_missing_file_operations`), because load balancers share them.
    wanted = {item.key: item for one in sound for item in one.objects if item.key.type not in FILES}
    named = {one.service.load_balancer_id for one in services}
    owners = {one.service.load_balancer_id for one in sound}
    needs: dict[str, tuple[WantedObject, ...]] = {
        one.service.load_balancer_id: one.networks for one in sound if one.networks
    }
    together = merge_network_objects(item for owner in sorted(needs) for item in needs[owner])

    operations = [
        step for item in wanted.values() for step in _object_operations(item, observed.get(item.key), partition)
    ]
    for seen in observed.values():
        owner = _own_load_balancer_id(seen, names)
        if (
            owner
            and seen.key not in wanted
            and seen.key not in together
            # A load balancer with a problem is named but not among the owners, so its objects stay.
            and (owner in owners or (complete and owner not in named))
        ):
            # with the records of forwarding tables that go with it
            operations.append(_delete_operation(seen.key, NO_OWNER if seen.key.type in NEIGHBOURS else owner))
    # after all removals of members: a node is removed with its last member
    operations.extend(_unused_node_removals(observed, wanted, operations, names))
    gone = {step.key for step in operations if step.verb is Verb.DELETE}
    operations.extend(
        _delete_operation(key, NO_OWNER) for key in unused_files(observed, services, gone, partition, names)
    )
    operations.extend(_missing_file_operations(observed, sound, partition))
    changed: dict[Key, list[ConfigOperation]] = {}
    for step in _shared_object_additions(together, observed, partition):
        changed.setdefault(step.key, []).append(step)  # two for an object that is replaced
    for owner, items in needs.items():
        operations.extend(replace(step, owner=owner) for item in items for step in changed.get(item.key, ()))
    operations.extend(_removals_of_f5_objects(observed, wanted, gone, partition, names))
    operations.extend(_shared_object_removals(observed, {**wanted, **together}, gone, partition, names, shared))
    operations.sort(key=_operation_sort_key)
    return Plan(operations=tuple(operations), problems=problems, networks=needs, observed=observed, partition=partition)


def _operation_sort_key(step: ConfigOperation) -> tuple[int, str, str, str]:
    return step.rank, step.key.type, step.key.pool, step.key.name


def is_network_object(key: Key) -> bool:
    """Whether the object attaches the device to a network, so that several load balancers may share it."""
    return key.type in NETWORK_TYPES or is_forwarder(key)


def is_removed_after_all_load_balancers(key: Key) -> bool:
    """Whether the removal of a shared object is planned again after all load balancers were settled, because a load
    balancer that the device refused may still refer to the object.
    """
    return is_network_object(key) or key.type in F5_TYPES


def _is_for_networks(step: ConfigOperation) -> bool:
    """Whether the operation creates, changes or recreates a network object that its owner may share with
    other load balancers.
    """
    removes = step.verb is Verb.DELETE and step.rank != _RANK_OF_REPLACED_OBJECTS
    return step.key.type in NETWORK_TYPES and step.owner != NO_OWNER and not removes


def _shared_object_additions(
    needs: Mapping[Key, WantedObject], observed: Observed, partition: str
) -> Iterator[ConfigOperation]:
    """Yield operations that create missing shared objects, and change existing ones, as these load balancers
    need them; list items of other load balancers stay.

    An object with a differing immutable attribute is deleted and created again.
    """
    for item in needs.values():
        seen = observed.get(item.key)
        if seen is None and item.key.type == FORWARDING_TABLE:  # it comes with the tunnel
            if item.attributes["records"]:
                yield _modify_operation(item, item.attributes)
        else:
            yield from _object_operations(item if seen is None else keep_foreign_items(item, seen), seen, partition)


def _removals_of_f5_objects(
    observed: Observed,
    wanted: Mapping[Key, WantedObject],
    gone: Collection[Key],
    partition: str,
    names: BigIpNames,
) -> Iterator[ConfigOperation]:
    """Yield operations that remove objects of F5's agent from an adopted partition once nothing refers to them."""
    theirs = f5_object_keys(observed, names.prefix) if partition != COMMON else []
    if theirs:
        left = remaining_attributes(observed, wanted, gone)
        yield from (_delete_operation(key, NO_OWNER) for key in unreferenced_keys(theirs, left, partition))


def _shared_object_removals(
    observed: Observed,
    wanted: Mapping[Key, WantedObject],
    gone: Collection[Key],
    partition: str,
    names: BigIpNames,
    shared: SharedNetworks,
) -> Iterator[ConfigOperation]:
    """Yield operations that remove shared objects without users, and references to these objects from lists;
    and operations for default routes, forwarding virtual servers and the records of forwarding tables.
    """
    if not any(key.type in NETWORK_TYPES for key in (*observed, *wanted)):
        return
    kept = {key: keep_foreign_items(item, observed[key]) if key in observed else item for key, item in wanted.items()}
    left = remaining_attributes(observed, kept, gone)
    routes = {item.key: item for item in default_routes(left, observed, names, external=shared.external_gateway)}
    for item in routes.values():
        # A route of an operator to the same destination stays in the place of ours.
        if not _foreign_object_problem((item,), observed, partition, names) and not has_foreign_route(item, observed):
            yield from _object_operations(item, observed.get(item.key), partition)
    stay = wanted.keys() | routes.keys()
    spare = unused_snat_addresses(left, wanted, shared)
    unused = [key for key in unused_network_objects(left, observed, names, partition, spare) if key not in stay]
    # Objects of F5's agent are adopted in tenants' partitions only.
    if partition != COMMON:
        unused += replaced_objects(left, wanted, observed, partition)
        rest = {key: attributes for key, attributes in left.items() if key not in unused}
        unused += abandoned_objects(rest, wanted, observed, partition)
    yield from (_delete_operation(key, NO_OWNER) for key in unused)
    stays = {key: attributes for key, attributes in left.items() if key.type == SELF_IP and key not in unused}
    forward = {item.key: item for item in forwarding_servers(stays, partition, names)}
    for item in forward.values():
        if not _foreign_object_problem((item,), observed, partition, names):
            yield from _object_operations(item, observed.get(item.key), partition)
    yield from (
        _delete_operation(key, NO_OWNER) for key in existing_forwarder_keys(observed, names) if key not in forward
    )
    shown = {key: attributes for key, attributes in left.items() if key in observed}
    removed = {*gone, *unused}
    for key, body in (
        *reference_removals(shown, unused, partition, spare),
        *forwarding_record_removals(shown, observed, removed, names),
    ):
        yield ConfigOperation(verb=Verb.MODIFY, key=key, owner=NO_OWNER, body=body, rank=_RANK_OF_REFERENCE_REMOVALS)


def remaining_attributes(
    observed: Observed, wanted: Mapping[Key, WantedObject], gone: Collection[Key]
) -> dict[Key, Mapping[str, Any]]:
    """Return ``{key: attributes}`` of all objects that will exist; the attributes of pools include their members'
    addresses.
    """
    found: dict[Key, Mapping[str, Any]] = {}
    for key, seen in observed.items():
        if key not in gone and key not in wanted:
            found[key] = (
                {**seen.attributes, "members": list(map(_member_address, seen.members.values()))}
                if key.type == POOL
                else seen.attributes
            )
    for key, item in wanted.items():
        addresses = [member.attributes["address"] for member in item.members]
        found[key] = {**item.attributes, "members": addresses} if key.type == POOL else item.attributes
    return found


def _member_address(member: ObservedObject) -> str:
    return str(member.attributes.get("address") or member_node_name(member.key.name))


def _modify_operation(item: WantedObject, body: Mapping[str, Any]) -> ConfigOperation:
    return ConfigOperation(
        verb=Verb.MODIFY, key=item.key, owner=item.owner, body=body, rank=_RANKS_OF_CREATION[item.key.type]
    )


def _foreign_object_problem(
    objects: Iterable[WantedObject], observed: Observed, partition: str, names: BigIpNames
) -> str:
    for item in objects:
        seen = observed.get(item.key)
        if seen and seen.mark and not names.is_own_mark(seen.mark):
            return f"/{partition}/{item.key.name} belongs to {seen.mark.owner}"
        # In /Common operators have objects of their own, so one without our mark is not changed.
        if seen and not seen.mark and partition == COMMON and item.key.type != FORWARDING_TABLE:
            return f"/{partition}/{item.key.name} was not made by us: an operator has to remove it, or rename it"
    return ""


def _own_load_balancer_id(seen: ObservedObject, names: BigIpNames) -> str:
    """Return the id of the load balancer that the object belongs to; empty if the object is not this device
    group's, or several load balancers share it.
    """
    mark = seen.mark
    return mark.load_balancer_id if mark and names.is_own_mark(mark) else ""


def _object_operations(item: WantedObject, seen: ObservedObject | None, partition: str) -> Iterator[ConfigOperation]:
    """Yield operations that bring one object, and its members, to the wanted state. ``seen`` None: the object
    is absent. An object with a differing immutable attribute is deleted and created again.
    """
    if seen is None:
        yield _create_operation(item, partition)
        return
    changed = canonical.differing_attributes(item.attributes, seen.attributes)
    # the removal comes first, because both have the same name
    if item.immutables & changed.keys():
        yield _delete_operation(item.key, item.owner, rank=_RANK_OF_REPLACED_OBJECTS)
        yield _create_operation(item, partition)
        return
    if changed:
        yield _modify_operation(item, changed)
    yield from _member_operations(item, seen, partition)


def _member_operations(item: WantedObject, seen: ObservedObject, partition: str) -> Iterator[ConfigOperation]:
    wanted = {member.key.name: member for member in item.members}
    for name, member in wanted.items():
        yield from _object_operations(member, seen.members.get(name), partition)
    for name, extra in seen.members.items():
        if name not in wanted:
            yield _delete_operation(extra.key, item.owner)


def _create_operation(item: WantedObject, partition: str) -> ConfigOperation:
    return ConfigOperation(
        verb=Verb.CREATE,
        key=item.key,
        owner=item.owner,
        body=_create_body(item, partition),
        secrets=item.secrets,
        rank=_RANKS_OF_CREATION[item.key.type],
    )


def _create_body(item: WantedObject, partition: str) -> dict[str, Any]:
    """Return the body of the request that creates the object, without empty attributes."""
    body: dict[str, Any] = {**name_and_partition(item.key.name, partition)}
    body.update((name, value) for name, value in item.attributes.items() if value not in ("", []))
    if item.members:
        body["members"] = [_create_body(member, partition) for member in item.members]
    return body


def _missing_file_operations(
    observed: Observed, rendered: Iterable[RenderedObjects], partition: str
) -> Iterator[ConfigOperation]:
    """Yield operations that create missing files, once for each load balancer that needs them."""
    for one in rendered:
        for item in one.objects:
            if item.key.type in FILES and item.key not in observed:
                yield replace(_create_operation(item, partition), content=one.contents[item.key])


def _delete_operation(key: Key, owner: str, *, rank: int | None = None) -> ConfigOperation:
    return ConfigOperation(
        verb=Verb.DELETE, key=key, owner=owner, rank=_RANKS_OF_REMOVAL[key.type] if rank is None else rank
    )


# -- nodes


def _unused_node_removals(
    observed: Observed,
    wanted: Mapping[Key, WantedObject],
    operations: Iterable[ConfigOperation],
    names: BigIpNames,
) -> list[ConfigOperation]:
    gone = {step.key for step in operations if step.verb is Verb.DELETE}
    freed: list[ObservedObject] = []
    used: set[str] = set()
    for seen in observed.values():
        if seen.key.type != POOL or seen.key in wanted:
            continue
        if seen.key in gone:
            freed.extend(seen.members.values())
        else:
            used.update(map(member_node_name, seen.members))
    for item in wanted.values():
        used.update(member_node_name(member.key.name) for member in item.members)
        before = observed.get(item.key)
        freed.extend(before.members.values() if before else ())
    return [_delete_operation(key, NO_OWNER) for key in removable_nodes(freed, used, observed, names)]


def is_still_unused(step: ConfigOperation, observed: Observed, partition: str) -> bool:
    """Whether the file, or node in the partition, that this operation would remove still exists and is still
    unused; False for objects whose removal is planned again (:func:`is_removed_after_all_load_balancers`).
    """
    if step.key not in observed:
        return False
    if is_removed_after_all_load_balancers(step.key):
        return False
    if step.key.type in FILES:
        return step.key.name not in referenced_file_names(
            {key: item.attributes for key, item in observed.items()}, partition
        )
    pools = (item for item in observed.values() if item.key.type == POOL)
    return not any(member_node_name(member) == step.key.name for pool in pools for member in pool.members)


# -- the state after a commit


def predict_observed(observed: Observed, operations: Iterable[ConfigOperation]) -> Observed:
    """Return the state that the device should have after the operations were committed; ``observed`` is not
    modified.
    """
    result = dict(observed)
    for step in operations:
        if step.key.type == MEMBER:
            _predict_member(result, step)
        elif step.verb is Verb.DELETE:
            result.pop(step.key, None)
            if step.key.type in (VLAN, TUNNEL):
                remove_link_from_observed(result, step.key)
        else:
            before = result.get(step.key) if step.verb is Verb.MODIFY else None
            result[step.key] = _predict_object(step, before)
        if step.verb is Verb.CREATE:
            for name in _member_names(step):
                if not is_in_common(name):
                    _predict_node(result, member_node_name(name))
    return result


def _member_names(step: ConfigOperation) -> list[str]:
    if step.key.type == MEMBER:
        return [step.key.name]
    return [member_name(member) for member in step.body.get("members", ())] if step.key.type == POOL else []


def _predict_object(step: ConfigOperation, before: ObservedObject | None) -> ObservedObject:
    attributes = canonical.predict_attributes(before.attributes if before else {}, step.body)
    members = dict(before.members) if before else {}
    for body in attributes.pop("members", ()) if step.key.type == POOL else ():
        key = Key(type=MEMBER, name=member_name(body), pool=step.key.name)
        members[key.name] = ObservedObject(key=key, attributes=body, mark=parse_mark(body.get("description")))
    code = step.key.type == RULE
    mark = parse_marked_code(attributes.get("apiAnonymous")) if code else parse_mark(attributes.get("description"))
    return ObservedObject(key=step.key, attributes=attributes, mark=mark, members=members)


def _predict_member(result: Observed, step: ConfigOperation) -> None:
    pool_key = Key(type=POOL, name=step.key.pool)
    pool = result.get(pool_key)
    if pool is None:
        return
    members = dict(pool.members)
    before = members.pop(step.key.name, None)
    if step.verb is not Verb.DELETE:
        members[step.key.name] = _predict_object(step, before)
    result[pool_key] = ObservedObject(key=pool_key, attributes=pool.attributes, mark=pool.mark, members=members)


def _predict_node(result: Observed, name: str) -> None:
    key = Key(type=NODE, name=name)
    result.setdefault(key, ObservedObject(key=key, attributes={"address": name}))

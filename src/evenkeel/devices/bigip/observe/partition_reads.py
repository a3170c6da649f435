"""Reads one partition: converts the device's JSON to :data:`Observed`, and finds the partition's guards
(records of its owner).

A full read requests every type of object that Even Keel uses, concurrently; a light read only pools and
virtual servers. An object counts as absent only if a successful response does not contain it: every failure
raises.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.core.control.epochs import is_epoch_in_range
from evenkeel.core.kit.ids import COMMON_PROJECT, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.canonical import canonical_form_function
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import DecodedDocumentCache
from evenkeel.devices.bigip.naming import (
    COMMON,
    GUARD_PREFIX,
    REPLACED_OBJECTS_NAME,
    BigIpNames,
    Guard,
    Mark,
    member_name,
    parse_guard,
    parse_mark,
    parse_marked_code,
)
from evenkeel.devices.bigip.networks.shared_networks import own_subnets_in_common, refers_to_common
from evenkeel.devices.bigip.objects import (
    DATA_GROUP,
    F5_ONLY_TYPES,
    FORWARDING_TABLE,
    MEMBER,
    NETWORK_TYPES,
    NODE,
    OWNED_TYPES,
    PARTIAL_READ_TYPES,
    POLICY,
    POOL,
    RULE,
    SELF_IP,
    VIRTUAL,
    VLAN,
    Key,
    Observed,
    ObservedObject,
)
from evenkeel.devices.bigip.observe.result_cache import ResultCache, reuse_equal_items
from evenkeel.devices.waiting import gather_all_results


class Guards(Value):
    """All guards of a partition, of any owner, with the sentinel beside them and the marks of those who wrote them."""

    held: tuple[Guard, ...] = ()
    has_sentinel: bool = False
    marks: tuple[Mark, ...] = ()
    """Marks of guards and sentinel; an object without a mark adds none."""
    replaced: tuple[Mapping[str, Any], ...] = ()
    """The data groups :data:`REPLACED_OBJECTS_NAME` in an adopted partition: F5's objects in /Common that its listeners
    used.
    """

    @property
    def plausible_guards(self) -> tuple[Guard, ...]:
        """Return the guards whose epoch is in the valid range."""
        return tuple(guard for guard in self.held if is_epoch_in_range(guard.epoch))

    @property
    def impossible_guards(self) -> tuple[Guard, ...]:
        """Return the guards whose epoch is out of range: such guards have no owner."""
        return tuple(guard for guard in self.held if not is_epoch_in_range(guard.epoch))

    @property
    def newest_epoch(self) -> int | None:
        """Return the highest valid epoch, whose owner has the partition; None if there is none."""
        return max((guard.epoch for guard in self.plausible_guards), default=None)


async def read_guards(device: IControl, partition: str) -> Guards:
    """Read the partition's guards with one request; none if the partition does not exist. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    return parse_guards(await device.collection(DATA_GROUP, partition=partition), partition)


def parse_guards(items: Iterable[Mapping[str, Any]], partition: str) -> Guards:
    """Find the partition's guards among the items of a collection of data groups; guards are sorted by epoch
    and session.
    """
    groups = {
        str(item.get("name")): item for item in items if item.get("partition") == partition and not item.get("subPath")
    }
    found = (guard for name in groups if (guard := parse_guard(name)) is not None)
    guards = sorted(found, key=lambda guard: (guard.epoch, guard.session))
    # A guard with an impossible epoch has no owner, so its mark does not count.
    names = (*(guard.name for guard in guards if is_epoch_in_range(guard.epoch)), GUARD_PREFIX)
    marks = {
        name: mark for name in names if name in groups and (mark := object_mark(DATA_GROUP, groups[name])) is not None
    }
    return Guards(
        held=tuple(guards),
        has_sentinel=GUARD_PREFIX in groups,
        marks=tuple(marks.values()),
        replaced=_data_group_records(groups.get(REPLACED_OBJECTS_NAME, {})),
    )


def _data_group_records(group: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    found = group.get("records")
    return tuple(each for each in (found if isinstance(found, list) else ()) if isinstance(each, Mapping))


async def read_all_objects(
    device: IControl, partition: str, *, adjacent: bool = False, reads: "PartitionReadCache | None" = None
) -> tuple[Observed, Guards]:
    """Read all attributes of all objects of Even Keel's types in the partition: one request per type,
    concurrently.

    ``adjacent``: also read the objects that attach the device to networks. ``reads``: earlier reads of the
    partition. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    kinds = (*OWNED_TYPES, *F5_ONLY_TYPES, NODE, *(NETWORK_TYPES if adjacent else ()))
    answers, observed = await (reads or PartitionReadCache(partition)).read(device, kinds)
    return observed, parse_guards(answers[DATA_GROUP], partition)


async def read_partition(
    device: IControl,
    names: BigIpNames,
    project_id: ProjectId,
    *,
    adjacent: bool,
    reads: "PartitionReadCache | None" = None,
) -> tuple[Observed, Guards, dict[str, str]]:
    """Read a project's objects and guards, and the shared subnets in /Common of which its SNAT pool has
    addresses. For the common project, the objects are those in /Common that attach the device to networks.

    The third item of the result is ``{subnet id: the device's self IP, with prefix length}`` of these shared
    subnets; empty for the common project. ``reads``: earlier reads of the partition. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    partition = names.partition_name(project_id)
    if project_id == COMMON_PROJECT:
        return *await _read_networks_in_common(device, partition), {}
    observed, guards = await read_all_objects(device, partition, adjacent=adjacent, reads=reads)
    # Few partitions have addresses of shared networks, so the others are spared a second read.
    if not refers_to_common(observed, COMMON):
        return observed, guards, {}
    answers = await _read_collections(device, (SELF_IP,), COMMON)
    return observed, guards, own_subnets_in_common(collect_observed(answers, (SELF_IP,), COMMON), names)


async def _read_networks_in_common(device: IControl, partition: str) -> tuple[Observed, Guards]:
    """Read the objects in /Common that attach the device to networks, and the guards of ``partition``. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    guards = await read_guards(device, partition)
    kinds = (*NETWORK_TYPES, VIRTUAL)  # forwarding virtual servers
    return collect_observed(await _read_collections(device, kinds, COMMON), kinds, COMMON), guards


async def read_pools_and_virtuals(
    device: IControl, partition: str, reads: "PartitionReadCache | None" = None
) -> Observed:
    """Read the partition's pools with members, and virtual servers, with two requests. ``reads``: earlier
    reads of the partition. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    _, observed = await (reads or PartitionReadCache(partition)).read(device, PARTIAL_READ_TYPES)
    return observed


async def read_forwarding_tables(device: IControl, partition: str) -> Observed:
    """Read the forwarding tables of the partition's tunnels, with one request. Raises
    :class:`DeviceRejected`, :class:`DeviceUnavailable`.
    """
    kinds = (FORWARDING_TABLE,)
    return collect_observed(await _read_collections(device, kinds, partition), kinds, partition)


class CommonNodes(Value):
    """Nodes in /Common, which pools of several partitions may use."""

    ours: frozenset[Key] = frozenset()
    others: Mapping[str, str] = {}
    """``{address: path}`` of the nodes that are not Even Keel's."""


async def read_nodes(device: IControl, names: BigIpNames) -> CommonNodes:
    """Read the nodes in /Common, with one request. Raises :class:`DeviceRejected`,
    :class:`DeviceUnavailable`.
    """
    ours, others = set(), {}
    selected: dict[str, Any] = {"$select": "name,partition,subPath,address"}
    for item in await device.collection(NODE, partition=COMMON, **selected):
        name, address = str(item.get("name")), str(canonical_form_function("address")(item.get("address")))
        if item.get("partition") != COMMON or item.get("subPath"):
            continue
        if name == names.node_name(address):
            ours.add(Key(type=NODE, name=f"/{COMMON}/{name}"))
        else:
            others[address] = f"/{COMMON}/{name}"
    return CommonNodes(ours=frozenset(ours), others=others)


_TYPES_WITH_SUBCOLLECTIONS = (FORWARDING_TABLE, POLICY, POOL, VIRTUAL, VLAN)
"""Types whose subcollections Even Keel needs too."""


async def _read_collections(
    device: IControl, kinds: tuple[str, ...], partition: str, documents: DecodedDocumentCache | None = None
) -> dict[str, list[dict[str, Any]]]:
    answers = await gather_all_results(
        *(
            device.collection(kind, partition=partition, expand=kind in _TYPES_WITH_SUBCOLLECTIONS, documents=documents)
            for kind in kinds
        )
    )
    return dict(zip(kinds, answers, strict=True))


class PartitionReadCache:
    """Caches reads of one partition of one device that are repeated.

    A page that equals its predecessor is not decoded again, and a type of which no page differs is not
    converted again. Results are shared between reads, so callers must not change them.
    """

    def __init__(self, partition: str) -> None:
        self._partition = partition
        self._documents = DecodedDocumentCache()
        self._items: dict[str, tuple[dict[str, Any], ...]] = {}
        """Items as last read, by type."""
        self._objects: defaultdict[str, ResultCache] = defaultdict(ResultCache)
        """Conversion of the items, by type."""
        self._merged: defaultdict[tuple[str, ...], ResultCache] = defaultdict(ResultCache)
        """Merging of the objects of all types, by types read."""

    async def read(self, device: IControl, kinds: tuple[str, ...]) -> tuple[dict[str, list[dict[str, Any]]], Observed]:
        """Read the collections of these types, one request per type and page, concurrently.

        Returns the items by type, and the partition's objects: the same object as from the previous read of
        these types if no item differs. Raises :class:`DeviceRejected`, :class:`DeviceUnavailable`.
        """
        answers = await _read_collections(device, kinds, self._partition, self._documents)
        parts = [self._objects_of_type(kind, answers[kind]) for kind in kinds]
        return answers, self._merged[kinds].cached_result(_merge_objects, *parts)

    def _objects_of_type(self, kind: str, items: list[dict[str, Any]]) -> Observed:
        same = self._items[kind] = reuse_equal_items(self._items.get(kind, ()), items)
        return self._objects[kind].cached_result(_collect_type, kind, same, self._partition)


def _collect_type(kind: str, items: Iterable[Mapping[str, Any]], partition: str) -> Observed:
    return collect_observed({kind: items}, (kind,), partition)


def _merge_objects(*parts: Observed) -> Observed:
    return {key: item for part in parts for key, item in part.items()}


def collect_observed(
    answers: Mapping[str, Iterable[Mapping[str, Any]]], kinds: Iterable[str], partition: str
) -> Observed:
    """Collect the partition's objects of these types from the responses, by type in ``answers``; objects in
    subfolders, guards and adoption records are left out.
    """
    found: Observed = {}
    for kind in kinds:
        for item in answers[kind]:
            if item.get("partition") == partition and not item.get("subPath") and not _is_guard_object(kind, item):
                seen = observed_object(kind, item)
                found[seen.key] = seen
    return found


def _is_guard_object(kind: str, item: Mapping[str, Any]) -> bool:
    """Whether the object is a guard, the sentinel or a record of an adoption: no plan changes these."""
    name = str(item.get("name"))
    return kind == DATA_GROUP and (name in (GUARD_PREFIX, REPLACED_OBJECTS_NAME) or parse_guard(name) is not None)


def observed_object(kind: str, item: Mapping[str, Any]) -> ObservedObject:
    """Convert one item of a collection of this type to an object, with its mark, and for a pool its members."""
    name = str(item.get("name"))
    attributes = {key: value for key, value in item.items() if not key.endswith("Reference")}
    if kind == VIRTUAL:
        attributes["profiles"] = subcollection_items(item, "profiles")
        attributes["policies"] = subcollection_items(item, "policies")
    if kind == VLAN:
        attributes["interfaces"] = subcollection_items(item, "interfaces")
    if kind == FORWARDING_TABLE:
        attributes["records"] = subcollection_items(item, "records")
    if kind == POLICY:
        attributes["legacy"] = item.get("status") == "legacy"
        attributes["rules"] = [_policy_rule(rule) for rule in subcollection_items(item, "rules")]
    members = {
        member_name(member): ObservedObject(
            key=Key(type=MEMBER, name=member_name(member), pool=name),
            attributes=member,
            mark=parse_mark(member.get("description")),
        )
        for member in (subcollection_items(item, "members") if kind == POOL else ())
    }
    return ObservedObject(
        key=Key(type=kind, name=name), attributes=attributes, mark=object_mark(kind, item), members=members
    )


def _policy_rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a rule of an LTM policy from the form in which the device returns it to the form in which it is
    written.
    """
    parts = {name: subcollection_items(rule, name) for name in ("conditions", "actions")}
    return {"name": rule.get("name"), "ordinal": rule.get("ordinal", 0), **parts}


def object_mark(kind: str, item: Mapping[str, Any]) -> Mark | None:
    """Return the mark of an object of this type; None if it has none."""
    return parse_marked_code(item.get("apiAnonymous")) if kind == RULE else parse_mark(item.get("description"))


def subcollection_items(item: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the items of an expanded subcollection; a device sends an empty one without ``items``."""
    found = item.get(f"{name}Reference")
    items = found.get("items", []) if isinstance(found, Mapping) else []
    return [one for one in items if isinstance(one, dict)]

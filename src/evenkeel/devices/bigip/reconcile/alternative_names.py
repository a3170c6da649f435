"""Second names for objects that cannot be changed in place while other objects refer to them.

While a pool or virtual server refers to an object, a device counts the object as in use even in the transaction that
deletes and recreates it (:mod:`.detaching`). So the replacement gets a second name, and the old object is deleted when
nothing refers to it any more; traffic never lacks it. Nothing is stored: which of the two names is wanted follows from
what the device holds, so it is the same in each pass of any agent. Pure.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import (
    DATA_GROUP,
    MONITORS,
    PERSISTENCE,
    POLICY,
    PROFILES,
    SERVER_SSL,
    Key,
    Observed,
    ObservedObject,
    RenderedObjects,
    WantedObject,
)

ALTERNATIVE_NAME_SUFFIX = "-anew"
"""Suffix of the second name of an object."""
_MONITOR, _PERSISTENCE, _PROFILE = "monitor", "persistence", "profile"
_NAMESPACES_BY_TYPE: Mapping[str, str] = {
    **dict.fromkeys(MONITORS, _MONITOR),
    **dict.fromkeys(PERSISTENCE, _PERSISTENCE),
    **dict.fromkeys((*PROFILES, SERVER_SSL), _PROFILE),
    POLICY: POLICY,
    DATA_GROUP: DATA_GROUP,
}
"""``{type that is replaced under a second name: name space}``. Types of one name space cannot use the same name."""
_NAMESPACES_BY_ATTRIBUTE: Mapping[str, str] = {
    "monitor": _MONITOR,
    "persist": _PERSISTENCE,
    "fallbackPersistence": _PERSISTENCE,
    "profiles": _PROFILE,
    "sslProfile": _PROFILE,
    "policies": POLICY,
    # code of iRules, which has no text of a tenant
    "apiAnonymous": DATA_GROUP,
}
"""``{attribute that refers to such objects: name space of these objects}``."""
_PATH_PATTERN = re.compile(r"/[\w./-]+")

_ObjectsByName = Mapping[tuple[str, str], Sequence[ObservedObject]]
_NewNames = Mapping[tuple[str, str], str]


def choose_alternative_names(
    rendered: Iterable[RenderedObjects], observed: Observed, names: BigIpNames, partition: str
) -> list[RenderedObjects]:
    """Return the load balancers with the name, first or second, that each object has on the device or should
    get, also in references to the object.
    """
    held: defaultdict[tuple[str, str], list[ObservedObject]] = defaultdict(list)
    for key, seen in observed.items():
        if (space := _NAMESPACES_BY_TYPE.get(key.type)) is not None:
            held[space, key.name].append(seen)
    return [_apply_alternative_names(one, held, names, partition) for one in rendered]


def key_with_other_name(key: Key) -> Key | None:
    """Return the key with the other of the object's two names; None: the type is replaced in place and has one name."""
    if key.type not in _NAMESPACES_BY_TYPE:
        return None
    first = key.name.removesuffix(ALTERNATIVE_NAME_SUFFIX)
    return replace(key, name=first if first != key.name else f"{first}{ALTERNATIVE_NAME_SUFFIX}")


def _apply_alternative_names(
    one: RenderedObjects, held: _ObjectsByName, names: BigIpNames, partition: str
) -> RenderedObjects:
    keys = {item.key: key for item in one.objects if (key := _alternative_name_key(item, held, names)) is not None}
    if not keys:
        return one
    renamed = {
        (_NAMESPACES_BY_TYPE[old.type], f"/{partition}/{old.name}"): f"/{partition}/{new.name}"
        for old, new in keys.items()
    }
    objects = (replace(item, key=keys.get(item.key, item.key)) for item in one.objects)
    return replace(one, objects=tuple(_rename_references(item, renamed) for item in objects))


def _alternative_name_key(item: WantedObject, held: _ObjectsByName, names: BigIpNames) -> Key | None:
    """Return the key with the second name, if the object has it already or must be replaced; None: the first
    name is right, or another owner's object is in the way.
    """
    space = _NAMESPACES_BY_TYPE.get(item.key.type)
    if space is None or not held:
        return None
    second = replace(item.key, name=f"{item.key.name}{ALTERNATIVE_NAME_SUFFIX}")
    own, beside = held.get((space, item.key.name), ()), held.get((space, second.name), ())
    if beside:
        return (
            second
            if all(_can_change_in_place(seen, item) and names.is_own_mark(seen.mark) for seen in beside)
            else None
        )
    # Another owner's object is left for the plan to report.
    foreign = any(seen.mark is not None and not names.is_own_mark(seen.mark) for seen in own)
    return None if foreign or all(_can_change_in_place(seen, item) for seen in own) else second


def _can_change_in_place(seen: ObservedObject, item: WantedObject) -> bool:
    """Whether the existing object can be changed in place into the wanted one."""
    return seen.key.type == item.key.type and all(
        canonical.has_wanted_value(name, item.attributes[name], seen.attributes) for name in item.immutables
    )


def _rename_references(item: WantedObject, renamed: _NewNames) -> WantedObject:
    attributes = {
        name: value if (space := _NAMESPACES_BY_ATTRIBUTE.get(name)) is None else _rename_paths(value, space, renamed)
        for name, value in item.attributes.items()
    }
    members = tuple(_rename_references(member, renamed) for member in item.members)
    return replace(item, attributes=attributes, members=members)


def _rename_paths(value: Any, space: str, renamed: _NewNames) -> Any:
    """Replace renamed objects in an attribute's value: a text with paths, or a list of references by path or name."""
    if isinstance(value, str):
        return _PATH_PATTERN.sub(lambda found: renamed.get((space, found[0]), found[0]), value)
    return [_rename_reference(each, space, renamed) for each in value]


def _rename_reference(value: Any, space: str, renamed: _NewNames) -> Any:
    if "partition" not in value:
        return {**value, "name": renamed.get((space, value["name"]), value["name"])}
    path = renamed.get((space, f"/{value['partition']}/{value['name']}"))
    return value if path is None else {**value, "name": path.rpartition("/")[2]}

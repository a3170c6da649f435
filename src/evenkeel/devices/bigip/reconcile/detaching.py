"""Finds deletions that have to wait for a later transaction.

From TMOS 13.0 a device takes a monitor for one in use in the transaction that detaches it from a pool that stays
(f5-appsvcs-extension, issues 2, 15 and 110); a policy of a virtual server is treated alike. Both are deleted in a
transaction that begins when nothing refers to them any more, and with them whatever they may refer to: pools, profiles.
"""

from collections.abc import Collection, Iterable, Iterator

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.objects import (
    MEMBER,
    MONITORS,
    POLICY,
    POOL,
    VIRTUAL,
    VIRTUAL_ADDRESS,
    ConfigOperation,
    Key,
    Observed,
    ObservedObject,
    Verb,
)

_DETACHED_TYPES = frozenset((*MONITORS, POLICY))
_TYPES_DELETED_AT_ONCE = frozenset((VIRTUAL, VIRTUAL_ADDRESS, MEMBER))
_MONITOR_NAMESPACE = "monitor"


def keys_to_delete_later(steps: Collection[ConfigOperation], observed: Observed, partition: str) -> frozenset[Key]:
    """Return the keys of objects that these steps delete and that must wait for a later transaction; empty
    unless the steps delete a monitor or policy that an object that stays uses now.

    Virtual servers, virtual addresses and members are deleted at once; so are objects that are created anew.
    """
    if not _detaches_object_in_use(steps, observed, partition):
        return frozenset()
    anew = {step.key for step in steps if step.verb is Verb.CREATE}
    return frozenset(
        step.key
        for step in steps
        if step.verb is Verb.DELETE and step.key.type not in _TYPES_DELETED_AT_ONCE and step.key not in anew
    )


def _detaches_object_in_use(steps: Collection[ConfigOperation], observed: Observed, partition: str) -> bool:
    """Whether a monitor or policy that these steps delete is used now by a pool, member or virtual server that
    stays.
    """
    deleted = {step.key for step in steps if step.verb is Verb.DELETE}
    anew = {step.key for step in steps if step.verb is Verb.CREATE}
    found = {(_key_namespace(key), f"/{partition}/{key.name}") for key in deleted - anew if key.type in _DETACHED_TYPES}
    if not found:
        return False
    staying = (seen for key, seen in observed.items() if key.type in (POOL, VIRTUAL) and key not in deleted)
    return any(each in found for seen in staying for each in _attached_objects(seen, deleted))


def _key_namespace(key: Key) -> str:
    """Return the namespace of a key's name: monitors of all types share one."""
    return POLICY if key.type == POLICY else _MONITOR_NAMESPACE


def _attached_objects(seen: ObservedObject, deleted: Collection[Key]) -> Iterator[tuple[str, str]]:
    """Yield namespace and full path of a virtual server's policies, or of the monitors of a pool and of its
    members that are not in ``deleted``.
    """
    if seen.key.type == VIRTUAL:
        yield from ((POLICY, canonical.full_path(each)) for each in seen.attributes.get("policies") or ())
        return
    members = (member for member in seen.members.values() if member.key not in deleted)
    yield from ((_MONITOR_NAMESPACE, path) for path in _monitor_paths((seen, *members)))


def _monitor_paths(items: Iterable[ObservedObject]) -> Iterator[str]:
    for item in items:
        # "/P/a and /P/b ", or "min 1 of { /P/a /P/b }"
        yield from (word for word in str(item.attributes.get("monitor") or "").split() if word.startswith("/"))

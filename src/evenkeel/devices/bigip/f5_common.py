"""Objects of F5's agent in /Common that listeners of an adopted partition used, and that Even Keel's replaced. Pure.

F5's agent keeps TLS in /Common, where listeners of several tenants use one certificate:

=========================  ========================================================================================
object                     name
=========================  ========================================================================================
ltm/profile/client-ssl     ``<prefix>_<container>``, in some versions with more after it
sys/file/ssl-cert, -key    ``<prefix>_<container>`` and ``.crt``, ``_inter.crt`` or ``.key``
ltm/cipher/group, rule     ``<prefix>_<listener>``
ltm/data-group/internal    ``acl_<ACL group>``, which an iRule ``acl_irule_<listener>`` names
=========================  ========================================================================================

None has a mark, and no name tells the tenant. So the adoption records on each device, in the partition, which of them
the virtual servers of F5's agent there use (:func:`keys_used_by_f5`). Complete passes remove the recorded ones to which
nothing on the device refers any more (:func:`removable_keys`): the tenant that is adopted last removes what several
used.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.devices.bigip.naming import COMMON
from evenkeel.devices.bigip.objects import (
    CERTIFICATE_FILE,
    CIPHER_GROUP,
    CIPHER_RULE,
    CLIENT_SSL,
    DATA_GROUP,
    KEY_FILE,
    RULE,
    SERVER_SSL,
    VIRTUAL,
    Key,
    Observed,
)

COMMON_TYPES = (CLIENT_SSL, CERTIFICATE_FILE, KEY_FILE, CIPHER_GROUP, CIPHER_RULE, DATA_GROUP)
"""Types of F5's agent's objects in /Common in the order of removal: an object is removed before those it refers to."""
USER_TYPES = (VIRTUAL, RULE, CLIENT_SSL, SERVER_SSL, "ltm/monitor/https", CIPHER_GROUP)
"""Types of objects that may refer to F5's objects in /Common. For other types the device itself refuses the removal."""
RECORDED_KEYS_MAX = 2000
"""Maximum number of F5's objects in /Common that one partition records."""
_ID = "[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_ACL_GROUP = re.compile(rf"(?<![\w.-])(?:/{COMMON}/)?(acl_{_ID})(?![\w.-])")

Attributes = Mapping[str, Any]


class ReferringObject(NamedTuple):
    """An object of any partition that may refer to objects in /Common."""

    type: str
    path: str
    attributes: Attributes


def is_f5_key_in_common(key: Key, prefix: str) -> bool:
    """Whether the key's type and name are such as F5's agent gives an object in /Common."""
    start = re.escape(prefix)
    patterns = {
        CLIENT_SSL: rf"{start}_{_ID}(?:_.+)?",
        CERTIFICATE_FILE: rf"{start}_{_ID}(?:_.+)?\.crt",
        KEY_FILE: rf"{start}_{_ID}(?:_.+)?\.key",
        CIPHER_GROUP: rf"{start}_{_ID}",
        CIPHER_RULE: rf"{start}_{_ID}",
        DATA_GROUP: rf"acl_{_ID}",
    }
    pattern = patterns.get(key.type)
    return pattern is not None and re.fullmatch(pattern, key.name) is not None


def keys_used_by_f5(
    users: Iterable[ReferringObject], common: Mapping[str, Iterable[Attributes]], prefix: str
) -> frozenset[Key]:
    """Return F5's objects in /Common that these virtual servers and iRules use, directly or through another
    object.

    ``common``: the attributes of objects in /Common, by type; ``prefix``: first part of F5's names.
    """
    there = {Key(type=kind, name=str(item.get("name"))): item for kind, items in common.items() for item in items}
    theirs = {
        key: ReferringObject(key.type, _common_path(key), item)
        for key, item in there.items()
        if is_f5_key_in_common(key, prefix)
    }
    found: set[Key] = set()
    waiting = list(users)
    while waiting:
        one = waiting.pop()
        for key in theirs.keys() - found:
            if _refers_to_key(one, key):
                found.add(key)
                # What it refers to is used as well, such as a profile's certificate.
                waiting.append(theirs[key])
    return frozenset(found)


def removable_keys(recorded: Iterable[Key], users: Iterable[ReferringObject]) -> list[Key]:
    """Return the recorded objects, in the order of removal, to which no user refers that stays.

    ``users``: objects of :data:`USER_TYPES` of all partitions, as they will be.
    """
    left = {(user.type, user.path): user for user in users}
    gone: list[Key] = []
    for kind in COMMON_TYPES:
        for key in sorted((key for key in recorded if key.type == kind), key=lambda key: key.name):
            own = kind, _common_path(key)
            if not any(_refers_to_key(user, key) for place, user in left.items() if place != own):
                gone.append(key)
                # It keeps no longer what it refers to, and that is of a later type.
                left.pop(own, None)
    return gone


def referring_objects(observed: Observed, partition: str) -> Iterator[ReferringObject]:
    """Yield the partition's objects that may refer to objects in /Common."""
    for key, seen in observed.items():
        if key.type in USER_TYPES:
            yield ReferringObject(key.type, f"/{partition}/{key.name}", seen.attributes)


def _refers_to_key(user: ReferringObject, key: Key) -> bool:
    if user.type == RULE:
        code = str(user.attributes.get("apiAnonymous", ""))
        return key.type == DATA_GROUP and key.name in _ACL_GROUP.findall(code)
    return key.type != DATA_GROUP and _has_path(user.attributes, _common_path(key), own=user.path == _common_path(key))


def _has_path(value: Any, path: str, *, own: bool = False) -> bool:
    """Whether the attribute's value is or contains the path; links to subcollections do not count. ``own``:
    the attributes are of the object with this path, whose own name does not count.
    """
    if isinstance(value, Mapping):
        if value.get("partition") == COMMON and f"/{COMMON}/{value.get('name')}" == path and not own:
            return True
        return any(
            _has_path(inner, path)
            for name, inner in value.items()
            if not name.endswith("Reference") and not (own and name == "fullPath")
        )
    if isinstance(value, list):
        return any(_has_path(inner, path) for inner in value)
    return isinstance(value, str) and value == path


def _common_path(key: Key) -> str:
    return f"/{COMMON}/{key.name}"


# -- the record in the partition


def key_records(keys: Iterable[Key]) -> list[dict[str, str]]:
    """Return records for a data group, sorted by name: the name of each object with its types. Only the first
    :data:`RECORDED_KEYS_MAX` keys are recorded.
    """
    types: dict[str, list[str]] = {}
    for key in sorted(keys, key=lambda key: (key.name, key.type))[:RECORDED_KEYS_MAX]:
        types.setdefault(key.name, []).append(key.type)
    return [{"name": name, "data": " ".join(found)} for name, found in types.items()]


def parse_key_records(records: Iterable[Attributes], prefix: str) -> frozenset[Key]:
    """Return the keys of the recorded objects, without names that F5's agent does not give: records may be edited by
    hand.
    """
    keys = (
        Key(type=kind, name=str(item.get("name"))) for item in records for kind in str(item.get("data", "")).split()
    )
    return frozenset(key for key in keys if is_f5_key_in_common(key, prefix))

"""Checks that each object which an enhanced service names is in /Common of every device, with the right type.

Pure, except for :func:`read_common_paths`.
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import NO_PARTS
from evenkeel.config.esd.tags import TAGS
from evenkeel.devices.bigip.canonical import full_path
from evenkeel.devices.bigip.cookie_secret import OPTION_NAME, CookieSecret
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.naming import COMMON
from evenkeel.devices.waiting import gather_all_results

CommonPaths = Mapping[str, frozenset[str]]
"""Full paths of the objects in /Common of one device, by type."""


async def read_common_paths(device: IControl, types: Iterable[str]) -> CommonPaths:
    """Read the full paths of a device's objects in /Common, with one request for each type.

    Raises :class:`DeviceUnavailable`, :class:`DeviceRejected`.
    """
    wanted = tuple(types)
    selected = {"$select": "name,partition,subPath,fullPath"}
    reads = (device.collection(kind, partition=COMMON, expand=False, documents=None, **selected) for kind in wanted)
    answers = await gather_all_results(*reads)
    return {kind: frozenset(map(full_path, items)) for kind, items in zip(wanted, answers, strict=True)}


def verify_definition(
    definition: Definition, devices: Mapping[str, CommonPaths], *, strict: bool = False
) -> Definition:
    """Return the definition with the types of its objects, or with a problem. ``devices``: the objects of
    each reachable device, by host.

    A tag with an object that no device has is discarded with a warning, as F5's agent does, unless no tag
    would be left or ``strict`` is true: then it is a problem. An object that only some devices have is a
    problem: discarding the tag would remove the object from the traffic of the devices that have it. So is
    an object of different types on different devices.
    """
    if definition.problem:
        return definition
    types: dict[str, str] = {}
    discarded: dict[str, str] = {}
    for tag, paths in definition.tags.items():
        for path in paths:
            found = {
                host: next((kind for kind in TAGS[tag].types if path in common.get(kind, ())), "")
                for host, common in devices.items()
                # a device without these types was not read since a definition names objects of them
                if any(kind in common for kind in TAGS[tag].types)
            }
            lacking = [host for host, kind in found.items() if not kind]
            if lacking:
                reason = _missing_object_text(definition, tag, path, lacking[0])
                if strict or len(lacking) < len(found) or len(discarded) + 1 == len(definition.tags):
                    return replace(definition, problem=reason)
                discarded.setdefault(tag, reason)
                break
            if len(set(found.values())) > 1:
                return replace(definition, problem=_difference_text(definition, tag, path))
            types.update(dict.fromkeys([tag] if found else (), next(iter(found.values()), "")))
    return replace(
        definition,
        tags={tag: paths for tag, paths in definition.tags.items() if tag not in discarded},
        types={tag: kind for tag, kind in types.items() if tag not in discarded},
        warnings=(*definition.warnings, *(f"{reason}; the tag is discarded" for reason in discarded.values())),
    )


def check_cookie_secret(definition: Definition, secret: CookieSecret | None) -> Definition:
    """Return the definition. One that encrypts cookies gets the digest of the agent's secret or, if
    ``secret`` is None, a problem and no content.
    """
    if definition.problem or definition.parts.cookie_encryption is None:
        return definition
    if secret is not None:
        return replace(definition, secret_digest=secret.digest)
    where = f"{definition.file}: enhanced service {definition.name!r}: cookie_encryption"
    return replace(definition, parts=NO_PARTS, tags={}, problem=f"{where}: the agent's option {OPTION_NAME} is not set")


def _missing_object_text(definition: Definition, tag: str, path: str, host: str) -> str:
    allowed = TAGS[tag].types
    lacks = f"no {allowed[0]}" if len(allowed) == 1 else f"none of {', '.join(allowed)}"
    return (
        f"{definition.file}: enhanced service {definition.name!r}: {tag}: {path!r}: "
        f"device {host} has {lacks} of that name; an object that is on every device is allowed"
    )


def _difference_text(definition: Definition, tag: str, path: str) -> str:
    return (
        f"{definition.file}: enhanced service {definition.name!r}: {tag}: {path!r}: has another type on each device; "
        "one type is allowed"
    )

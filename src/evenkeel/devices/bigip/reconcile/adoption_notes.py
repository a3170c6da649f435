"""Describes to operators how an adoption changes the behaviour of a virtual server of F5's agent. Pure.

The differences of attributes show other profiles, persistence or rules, but not what these had been set to.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.devices.bigip import canonical
from evenkeel.devices.bigip.objects import (
    COOKIE_PERSISTENCE,
    POLICY,
    SOURCE_PERSISTENCE,
    VIRTUAL,
    Key,
    Observed,
    ObservedObject,
)
from evenkeel.devices.bigip.reconcile.f5_objects import is_f5_rule_name

_FASTL4 = "/Common/fastL4"
_TCP_PROFILE = "ltm/profile/tcp"
_NO_EXPIRY = ("", "0")
Attributes = Mapping[str, Any]


def adoption_note(key: Key, body: Attributes, observed: Observed, partition: str) -> str:
    """Describe how the modification changes the object's behaviour; empty unless it is a virtual server without
    Even Keel's mark.
    """
    seen = observed.get(key) if key.type == VIRTUAL else None
    if seen is None or seen.mark is not None:
        return ""
    return "; ".join(_behaviour_changes(seen, body, observed, partition))


def _behaviour_changes(seen: ObservedObject, body: Attributes, observed: Observed, partition: str) -> Iterator[str]:
    if "persist" in body:
        yield from _persistence_changes(seen, observed, partition)
    if "policies" in body and any(
        _resets_connections(each, observed) for each in seen.attributes.get("policies") or ()
    ):
        yield "REJECT reset connections, and answers 403 now"
    if "profiles" in body and _FASTL4 in map(canonical.full_path, body["profiles"]):
        was = [canonical.full_path(each) for each in seen.attributes.get("profiles") or ()]
        if any(path == "/Common/tcp" or _find_object(_TCP_PROFILE, path, observed, partition) for path in was):
            yield "TCP ended at the device, and is passed on by fastL4 now"
    others = foreign_irules(seen)
    wanted = set(map(canonical.full_path, body["rules"])) if "rules" in body else set(others)
    if detached := [path for path in others if path not in wanted]:
        yield f"iRules that are detached and were not made by F5's agent: {', '.join(detached)}"
    if kept := [path for path in others if path in wanted]:
        yield f"iRules that were not made by F5's agent stay: {', '.join(kept)}"


def foreign_irules(virtual: ObservedObject) -> list[str]:
    """Return the paths of the virtual server's iRules whose names F5's agent does not give (operators'
    iRules), in their order.
    """
    paths = map(canonical.full_path, virtual.attributes.get("rules") or ())
    return [path for path in paths if not is_f5_rule_name(path.rpartition("/")[2])]


def _persistence_changes(seen: ObservedObject, observed: Observed, partition: str) -> Iterator[str]:
    for path in map(canonical.full_path, seen.attributes.get("persist") or ()):
        if (profile := _find_object(SOURCE_PERSISTENCE, path, observed, partition)) is not None:
            yield f"persistence of source addresses lasted {profile.attributes.get('timeout')} s"
        cookie = _find_object(COOKIE_PERSISTENCE, path, observed, partition)
        if cookie is not None and canonical.scalar_text(cookie.attributes.get("expiration")) not in _NO_EXPIRY:
            yield f"cookies expired after {cookie.attributes['expiration']}, and last for the client's session now"


def _find_object(kind: str, path: str, observed: Observed, partition: str) -> ObservedObject | None:
    folder, _, name = path.removeprefix("/").partition("/")
    return observed.get(Key(type=kind, name=name)) if folder == partition else None


def _resets_connections(policy: Any, observed: Observed) -> bool:
    """Whether the partition's L7 policy with this name resets connections; False if the partition has none."""
    seen = observed.get(Key(type=POLICY, name=canonical.full_path(policy).rpartition("/")[2]))
    rules = seen.attributes.get("rules", ()) if seen is not None else ()
    return any(action.get("reset") is True for rule in rules for action in rule.get("actions", ()))

"""A partition's plan in the form shown to operators. Pure.

The operations are those of :mod:`evenkeel.devices.bigip.reconcile.plan`, with the attributes that differ, but
without contents of files.
"""

from collections.abc import Collection, Container, Iterator, Mapping
from typing import Any, Literal

from evenkeel.core.devices.plans import ORPHANS_LISTED_MAX, DevicePlan, PlannedOperation, attribute_changes
from evenkeel.devices.bigip.naming import COMMON, is_in_common, member_name
from evenkeel.devices.bigip.networks.f5_agent import is_prefixed_object_name
from evenkeel.devices.bigip.objects import (
    FILES,
    FORWARDING_TABLE,
    MEMBER,
    NODE,
    POOL,
    VIRTUAL_ADDRESS,
    ConfigOperation,
    Key,
    Observed,
    Verb,
)
from evenkeel.devices.bigip.reconcile.abandoned import abandoned_objects
from evenkeel.devices.bigip.reconcile.adoption_notes import adoption_note
from evenkeel.devices.bigip.reconcile.alternative_names import key_with_other_name
from evenkeel.devices.bigip.reconcile.plan import Plan, remaining_attributes
from evenkeel.devices.bigip.reconcile.taking_over import keys_to_replace_later

_WORDS_BY_VERB: Mapping[Verb, Literal["create", "modify", "delete"]] = {
    Verb.CREATE: "create",
    Verb.MODIFY: "modify",
    Verb.DELETE: "delete",
}
_UNMARKED_TYPES = (*FILES, FORWARDING_TABLE, NODE)
"""Types whose objects never have a mark, not even Even Keel's own."""
_RECREATED_REASON = "an attribute of it cannot be changed in place; it is recreated"
_REPLACED_REASON = "an attribute of it cannot be changed in place;"
_IMPLIED_ATTRIBUTES = ("name", "partition")
"""Attributes left out, because the object's path shows them."""


def describe_plan(
    device: str, todo: Plan, observed: Observed, partition: str, wanted: Collection[Key] = ()
) -> DevicePlan:
    """Describe the changes that the plan makes on the device.

    ``wanted``: all wanted objects, if the plan is for the whole partition; other objects without a mark are then
    reported as ``left``.
    """
    made = {step.key for step in todo.operations if step.verb is Verb.CREATE}
    needed = {step.key for step in todo.operations}
    needed.update(wanted, (item.key for items in todo.networks.values() for item in items))
    return DevicePlan(
        device=device,
        operations=tuple(
            one
            for step in todo.operations
            for one in (_planned_operation(step, observed, partition, made), *_new_members(step, partition))
        ),
        left=tuple(_foreign_objects(observed, needed, partition)) if wanted else (),
        problem="; ".join(dict.fromkeys(todo.problems.values())),
    )


def removal_in_common(key: Key) -> PlannedOperation:
    """Describe the removal of an object of F5's agent from /Common."""
    return PlannedOperation(verb="delete", type=key.type, name=_object_path(key, COMMON))


def _foreign_objects(observed: Observed, wanted: Collection[Key], partition: str) -> list[str]:
    strangers = (
        key
        for key, seen in observed.items()
        if seen.mark is None and key not in wanted and key.type not in _UNMARKED_TYPES
    )
    later = keys_to_replace_later(observed, partition)
    later.update(abandoned_objects(remaining_attributes(observed, {}, later), wanted, observed, partition))
    return sorted(
        f"{key.type} {_object_path(key, partition)}{_kept_object_advice(key, partition, later)}" for key in strangers
    )[:ORPHANS_LISTED_MAX]


def _kept_object_advice(key: Key, partition: str, later: Container[Key]) -> str:
    """Return advice to operators about an object that stays; empty: none. A later pass may remove the object,
    or its load balancer has to be imported first.
    """
    if key in later:
        return " (replaced: a later pass removes it, when requests with it are over)"
    if key.type != VIRTUAL_ADDRESS or not is_prefixed_object_name(key.name, partition):
        return ""
    missing = key.name.rpartition("_")[2]
    return f" (load balancer {missing} does not exist here: 'evenkeel import lbaas' imports it)"


def _planned_operation(
    step: ConfigOperation, observed: Observed, partition: str, made: frozenset[Key] | set[Key]
) -> PlannedOperation:
    return PlannedOperation(
        note=_replacement_note(step, partition, made) or adoption_note(step.key, step.body, observed, partition),
        verb=_WORDS_BY_VERB[step.verb],
        type=step.key.type,
        name=_object_path(step.key, partition),
        attributes=attribute_changes(_wanted_attributes(step), _observed_attributes(step, observed)),
    )


def _replacement_note(step: ConfigOperation, partition: str, made: Container[Key]) -> str:
    if step.verb is not Verb.DELETE:
        return ""
    if step.key in made:
        return _RECREATED_REASON
    other = key_with_other_name(step.key)
    return (
        f"{_REPLACED_REASON} {_object_path(other, partition)} replaces it"
        if other is not None and other in made
        else ""
    )


def _new_members(step: ConfigOperation, partition: str) -> Iterator[PlannedOperation]:
    """Yield the members of a new pool as operations, although the device creates them together with the pool."""
    for body in step.body.get("members", ()) if (step.verb, step.key.type) == (Verb.CREATE, POOL) else ():
        key = Key(type=MEMBER, name=member_name(body), pool=step.key.name)
        wanted = {name: value for name, value in body.items() if name not in _IMPLIED_ATTRIBUTES}
        yield PlannedOperation(
            verb="create", type=MEMBER, name=_object_path(key, partition), attributes=attribute_changes(wanted, {})
        )


def _object_path(key: Key, partition: str) -> str:
    if key.pool:
        return f"/{partition}/{key.pool}/{key.name.removeprefix('/')}"
    return key.name if is_in_common(key.name) else f"/{partition}/{key.name}"


def _wanted_attributes(step: ConfigOperation) -> Mapping[str, Any]:
    if step.verb is Verb.DELETE or step.key.type in FILES:
        return {}
    shown_apart = ("members",) if step.key.type == POOL else ()
    return {name: value for name, value in step.body.items() if name not in (*_IMPLIED_ATTRIBUTES, *shown_apart)}


def _observed_attributes(step: ConfigOperation, observed: Observed) -> Mapping[str, Any]:
    if step.verb is not Verb.MODIFY:
        return {}
    if step.key.type != MEMBER:
        seen = observed.get(step.key)
    else:
        pool = observed.get(Key(type=POOL, name=step.key.pool))
        seen = pool.members.get(step.key.name) if pool else None
    return seen.attributes if seen else {}

"""Changes that the next pass would make on each device, as operators see them: of limited size, and without
secrets.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec.structs import replace

from evenkeel.core.kit.message_chunks import encoded_bytes
from evenkeel.core.kit.values import Wire

PLAN_BYTES_MAX = 48 * 1024
"""Maximum size in bytes of the plans of one answer, so that databases can store the answer in an ordinary text column.
"""
ATTRIBUTES_MAX = 50
ORPHANS_LISTED_MAX = 50
TEXT_CHARACTERS_MAX = 200
ORPHAN = "load balancer"
"""Type of an operation that stands for all objects of an orphan, a load balancer that the database lacks; its note is
the number of seconds since the orphan was found.
"""
HIDDEN_TEXT = "(not shown)"
_SECRET_NAME = re.compile(r"pass(word|phrase|wd)?|secret|credential|private", re.IGNORECASE)
_SECRET_TEXT = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")


class AttributeChange(Wire):
    """Change of one attribute of a device's object: the text of the present value, and that of the wanted
    value; empty: not set.
    """

    name: str
    present: str = ""
    wanted: str = ""


class PlannedOperation(Wire):
    """A planned change of one object of a device.

    ``attributes``: those that differ, at most :data:`ATTRIBUTES_MAX`; empty for objects to delete.
    """

    verb: Literal["create", "modify", "delete"]
    type: str
    """Type of the object in the terms of the device's documentation, such as ``ltm/pool`` or ``backend``."""
    name: str
    attributes: tuple[AttributeChange, ...] = ()
    note: str = ""
    """Reason why the operation is done in this way (human-readable); empty: none."""


class DevicePlan(Wire):
    """Changes that the next pass would make on one device, in order of execution.

    ``more``: number of operations that are not listed. ``left``: objects that no load balancer needs and that are kept
    because they lack our mark; at most :data:`ORPHANS_LISTED_MAX`.
    """

    device: str
    operations: tuple[PlannedOperation, ...] = ()
    more: int = 0
    left: tuple[str, ...] = ()
    problem: str = ""
    """Reason why nothing would be changed, or why the changes are unknown (human-readable)."""
    refusal: str = ""
    """Reason why the partition cannot be adopted: services of another program would be interrupted (human-readable)."""


class PlanAnswer(Wire):
    """An agent's answer to :class:`~evenkeel.core.protocol.messages.PlanHint`, an operator's inquiry. ``problem``:
    reason why there are no plans.
    """

    devices: tuple[DevicePlan, ...] = ()
    problem: str = ""


def attribute_changes(wanted: Mapping[str, Any], present: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """Return the changes of the attributes in ``wanted`` (at most :data:`ATTRIBUTES_MAX`), sorted by name,
    with both values as text; equal values are not left out.
    """
    return tuple(
        AttributeChange(name=name, present=value_text(name, present.get(name)), wanted=value_text(name, wanted[name]))
        for name in sorted(wanted)[:ATTRIBUTES_MAX]
    )


def value_text(name: str, value: Any) -> str:
    """Return the value of an attribute as a text of at most :data:`TEXT_CHARACTERS_MAX` characters; empty for
    None, and :data:`HIDDEN_TEXT` for a secret, recognised by the attribute's name or a private key in the
    value.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # before the text is cut, because a part of a secret is secret, too
    if _SECRET_NAME.search(name) or _SECRET_TEXT.search(text):
        return HIDDEN_TEXT
    return text if len(text) <= TEXT_CHARACTERS_MAX else f"{text[: TEXT_CHARACTERS_MAX - 1]}…"


def truncate_plans(plans: Iterable[DevicePlan], max_bytes: int = PLAN_BYTES_MAX) -> tuple[DevicePlan, ...]:
    """Return the plans with as many of their first operations as fit into ``max_bytes`` in JSON, which the
    devices share equally; ``more`` counts those left out.
    """
    every = tuple(plans)
    # Without plans the division is never evaluated.
    return tuple(_truncate_plan(plan, max_bytes // len(every)) for plan in every)


def _truncate_plan(plan: DevicePlan, max_bytes: int) -> DevicePlan:
    left = max_bytes - encoded_bytes(replace(plan, operations=()))
    kept = 0
    for operation in plan.operations:
        left -= encoded_bytes(operation) + 1
        if left < 0:
            break
        kept += 1
    return replace(plan, operations=plan.operations[:kept], more=plan.more + len(plan.operations) - kept)

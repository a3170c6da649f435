"""Describes drift (changes by others on the device) that a pass found and repaired. Pure.

Descriptions name objects and changed attributes, and never a value, because another user wrote the value.
"""

from collections.abc import Iterable, Sequence

from evenkeel.devices.bigip.objects import (
    CIPHER_GROUP,
    CIPHER_RULE,
    DATA_GROUP,
    MEMBER,
    MONITORS,
    PERSISTENCE,
    POLICY,
    POOL,
    PROFILES,
    RULE,
    SERVER_SSL,
    VIRTUAL,
    VIRTUAL_ADDRESS,
    ConfigOperation,
    Verb,
)

_TITLES_BY_TYPE = {
    VIRTUAL: "virtual server",
    VIRTUAL_ADDRESS: "virtual address",
    POOL: "pool",
    MEMBER: "member",
    **dict.fromkeys(MONITORS, "monitor"),
    **dict.fromkeys((*PROFILES, SERVER_SSL), "profile"),
    **dict.fromkeys(PERSISTENCE, "persistence profile"),
    RULE: "iRule",
    POLICY: "LTM policy",
    DATA_GROUP: "data group",
    CIPHER_RULE: "cipher rule",
    CIPHER_GROUP: "cipher group",
}
ALL_GONE_TEXT = "nothing of it was left; put back"


def drift_texts(steps: Sequence[ConfigOperation], wanted: int) -> list[str]:
    """Describe the drift that these operations of one load balancer repair, one text for each object; a
    single text if nothing of the load balancer was left.

    ``wanted``: number of the load balancer's objects, without members and files.
    """
    removed = {step.key for step in steps if step.verb is Verb.DELETE}
    made = {step.key for step in steps if step.verb is Verb.CREATE}
    if wanted and len(steps) == len(made) == sum(key.type != MEMBER for key in made) == wanted:
        return [ALL_GONE_TEXT]
    return [text for step in steps if (text := _finding_text(step, step.key in removed and step.key in made))]


def _finding_text(step: ConfigOperation, replaced: bool) -> str:
    thing = _object_text(step)
    if step.verb is Verb.MODIFY:
        return f"{thing} was changed ({_name_list(step.body)}); repaired"
    if replaced:
        return f"{thing} was another one; repaired" if step.verb is Verb.CREATE else ""
    return f"{thing} was missing; put back" if step.verb is Verb.CREATE else f"{thing} did not belong there; removed"


def _object_text(step: ConfigOperation) -> str:
    word = f"{_TITLES_BY_TYPE.get(step.key.type, step.key.type.rpartition('/')[2])} {step.key.name}"
    return f"{word} of pool {step.key.pool}" if step.key.pool else word


def _name_list(names: Iterable[str]) -> str:
    return ", ".join("mark" if name == "description" else name for name in sorted(names))

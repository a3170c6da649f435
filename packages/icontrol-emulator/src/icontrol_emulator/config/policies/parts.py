"""Conditions and actions of policies: their flags made whole, one word of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.policies.vocabulary import (
    ACTION_FLAGS,
    ALL_OPERATORS,
    CONDITION_FLAGS,
    EVENTS,
    EVENTS_NOT_EMULATED,
    NOT_EMULATED_OPERANDS,
    NOT_EMULATED_SELECTORS,
    NOT_EMULATED_TARGETS,
    NOT_EMULATED_VERBS,
    OPERANDS,
    OPERATORS,
    SELECTORS,
    TARGETS,
    VERBS,
    tmsh,
)

VALUES_MAX = 10_000
_EVENT_WORDS = frozenset(EVENTS) | EVENTS_NOT_EMULATED
_AMBIGUOUS = frozenset({"extension", "protocol", "version", "value", "path", "domain", "host", "port", "address"})


def one_of(props: Mapping[str, Any], words: Iterable[str]) -> str:
    """The word of this kind that is set, empty if none is."""
    return next((word for word in words if props.get(word) is True), "")


def normalise_condition(props: dict[str, Any], old: Mapping[str, Any] | None) -> None:
    """Complete the flags of a condition: event, selector and comparison, as a device shows them."""
    _read_flags(props, CONDITION_FLAGS)
    for words in (frozenset(OPERANDS) | NOT_EMULATED_OPERANDS, _EVENT_WORDS, SELECTORS | NOT_EMULATED_SELECTORS,
                  ALL_OPERATORS):  # fmt: skip
        _keep_one(props, words, old or {})
    _values(props)
    operand = OPERANDS.get(one_of(props, OPERANDS))
    if operand is None:
        return
    if not one_of(props, _EVENT_WORDS):
        props["request" if "request" in operand.events else operand.events[0]] = True
    selector = one_of(props, SELECTORS | NOT_EMULATED_SELECTORS)
    if not selector:
        selector = next(iter(operand.selectors))
        props[selector] = True
    kind = operand.selectors.get(selector)
    if kind is not None and not one_of(props, ALL_OPERATORS):
        props["matches" if "matches" in OPERATORS[kind] else "equals"] = True


def normalise_action(props: dict[str, Any], old: Mapping[str, Any] | None) -> None:
    """Complete the flags of an action: event and verb, as a device shows them."""
    _read_flags(props, ACTION_FLAGS)
    for words in (frozenset(TARGETS) | NOT_EMULATED_TARGETS, _EVENT_WORDS, VERBS | NOT_EMULATED_VERBS):
        _keep_one(props, words, old or {})
    target = TARGETS.get(one_of(props, TARGETS))
    if target is None:
        return
    if not one_of(props, _EVENT_WORDS):
        props["request" if "request" in target.events else target.events[0]] = True
    if not one_of(props, VERBS | NOT_EMULATED_VERBS):
        props[next(iter(target.verbs))] = True


def _read_flags(props: dict[str, Any], flags: frozenset[str]) -> None:
    for name in flags & props.keys():
        if props[name] in (True, "true", "yes"):
            props[name] = True
        elif props[name] in (False, "false", "no"):
            del props[name]
        else:
            raise errors.invalid_value(name, props[name])


def _keep_one(props: dict[str, Any], words: frozenset[str], old: Mapping[str, Any]) -> None:
    """Refuse two words of a kind; a word of the request replaces the one that was set before."""
    found = sorted(word for word in words if props.get(word) is True)
    if len(found) > 1:
        for word in [word for word in found if old.get(word) is True][: len(found) - 1]:
            del props[word]
            found.remove(word)
    if len(found) > 1:
        text = f'"{tmsh(found[1])}" may not be specified with "{tmsh(found[0])}"'
        raise errors.IControlError(400, text, errors.INVALID_VALUE_ERROR)


def _values(props: dict[str, Any]) -> None:
    values = props.get("values")
    if values is None:
        return
    listed = values if isinstance(values, list) else [values]
    if len(listed) > VALUES_MAX or not all(isinstance(value, str | int) for value in listed):
        raise errors.invalid_value("values", values)
    props["values"] = [str(value) for value in listed]

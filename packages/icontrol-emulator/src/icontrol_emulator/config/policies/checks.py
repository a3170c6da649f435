"""Checks of a policy that a device makes. Numbers and texts are those that users of F5's clients quoted in public
issues.

0107186c and 01071706: F5Networks/terraform-provider-bigip issues 112 (its old repository) and 119; 010716ff: 648;
010716e2: F5Networks/f5-ansible issue 1877; 010716d9: F5Networks/f5-openstack-lbaasv2-driver issue 550. Texts without
such a source have the number 01070734.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from icontrol_emulator import errors
from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.names import strip_domain
from icontrol_emulator.config.policies.parts import one_of
from icontrol_emulator.config.policies.vocabulary import (
    ALL_OPERATORS,
    EVENTS,
    EVENTS_NOT_EMULATED,
    NOT_EMULATED_OPERANDS,
    NOT_EMULATED_PARAMETERS,
    NOT_EMULATED_SELECTORS,
    NOT_EMULATED_TARGETS,
    NOT_EMULATED_VERBS,
    OPERANDS,
    OPERATORS,
    SELECTORS,
    TARGETS,
    VERBS,
    ActionTarget,
    Kind,
    Operand,
    tmsh,
)
from icontrol_emulator.config.schema import Context
from icontrol_emulator.irules.syntax import SyntaxFault, parts

RULES = "ltm/policy/rules"
CONDITIONS = "ltm/policy/rules/conditions"
ACTIONS = "ltm/policy/rules/actions"
TCL = "tcl:"
REDIRECT_CODES = (0, *range(300, 309))


class PolicyPart(NamedTuple):
    """A condition or action, with the place that errors name."""

    policy: str
    rule: str
    props: Mapping[str, Any]

    def error(self, number: str, text: str) -> errors.IControlError:
        return errors.mcpd(400, number, f"Policy '{self.policy}', rule '{self.rule}'; {text}")

    def not_emulated(self, word: str) -> errors.IControlError:
        return self.error("01070734", f"'{tmsh(word)}' is not supported by this emulator.")


def rules_of(ctx: Context, policy: Obj) -> list[Obj]:
    """The rules in the order in which they are evaluated."""
    found = ctx.store.children(RULES, policy.key.as_parent)
    return sorted(found, key=lambda rule: (int(rule.props.get("ordinal", 0)), rule.name))


def parts_of(ctx: Context, rule: Obj, type_path: str) -> list[Mapping[str, Any]]:
    found = ctx.store.children(type_path, rule.key.as_parent)
    found.sort(key=lambda part: (int(part.name) if part.name.isdigit() else 0, part.name))
    return [ctx.props(part) for part in found]


def check_rules(ctx: Context, policy: Obj) -> None:
    """Raise the error with which a device refuses one of the policy's rules."""
    for rule in rules_of(ctx, policy):
        conditions = [PolicyPart(policy.key.path, rule.name, props) for props in parts_of(ctx, rule, CONDITIONS)]
        actions = [PolicyPart(policy.key.path, rule.name, props) for props in parts_of(ctx, rule, ACTIONS)]
        for part in conditions:
            _check_condition(part)
        for part in actions:
            _check_action(part)
        _check_order(conditions, actions)


def needs(ctx: Context, policy: Obj) -> Iterator[tuple[str, ...]]:
    """For each operand and target: the kinds of profiles of which a virtual server needs one."""
    for rule in rules_of(ctx, policy):
        for props in parts_of(ctx, rule, CONDITIONS):
            yield OPERANDS[one_of(props, OPERANDS)].needs
            yield from _needs_of_event(props)
        for props in parts_of(ctx, rule, ACTIONS):
            yield TARGETS[one_of(props, TARGETS)].needs
            yield from _needs_of_event(props)


def _needs_of_event(props: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if props.get("request") or props.get("response"):
        yield ("http", "fasthttp")
    if props.get("sslClientHello"):
        yield ("client-ssl", "ssl")


def described(ctx: Context, policy: Obj) -> tuple[list[str], list[str]]:
    """The rules' `control` and `require`, which a device adds to the request's."""
    controls: set[str] = set(policy.props.get("controls") or ())
    requires: set[str] = set(policy.props.get("requires") or ())
    for rule in rules_of(ctx, policy):
        for props in parts_of(ctx, rule, CONDITIONS):
            operand = OPERANDS.get(one_of(props, OPERANDS))
            requires |= {operand.word} if operand else set()
        for props in parts_of(ctx, rule, ACTIONS):
            target = TARGETS.get(one_of(props, TARGETS))
            if target is not None:
                controls |= {target.controls}
                requires |= {"http"} if props.get("request") or props.get("response") else {target.word}
    return sorted(controls - {""}), sorted(requires - {""})


def _refuse(part: PolicyPart, words: Iterable[str]) -> None:
    for word in words:
        if part.props.get(word) not in (None, False, ""):
            raise part.not_emulated(word)


def _check_condition(part: PolicyPart) -> None:
    _refuse(part, NOT_EMULATED_OPERANDS | NOT_EMULATED_SELECTORS)
    name = one_of(part.props, OPERANDS)
    if not name:
        raise part.error("01071706", "missing operand.")
    operand = OPERANDS[name]
    selector = one_of(part.props, SELECTORS)
    if selector not in operand.selectors:
        raise part.error("01070734", f"selector '{tmsh(selector)}' is not available for operand '{tmsh(name)}'.")
    _check_event(part, name, operand, "operand")
    operator = one_of(part.props, ALL_OPERATORS)
    kind = operand.selectors[selector]
    if operator not in OPERATORS[kind]:
        raise part.error("01070734", f"condition '{tmsh(operator)}' is not valid for operand '{tmsh(name)}'.")
    if selector in operand.named and not part.props.get("tmName"):
        raise part.error("01070734", f"operand '{tmsh(name)}' requires a name.")
    values = part.props.get("values") or []
    if operator != "exists" and not values and not part.props.get("datagroup"):
        raise errors.configuration_error(
            f"Operand '{tmsh(name)}' with condition '{tmsh(operator)}' requires at least 1 value"
        )
    for value in values:
        if (kind is Kind.NUMBER and not _is_number(value)) or (kind is Kind.ADDRESS and not _is_network(value)):
            raise part.error("01070734", f"value '{value}' is not valid for operand '{tmsh(name)}'.")


def _check_event(part: PolicyPart, name: str, known: Operand | ActionTarget, what: str) -> None:
    _refuse(part, EVENTS_NOT_EMULATED)
    event = one_of(part.props, EVENTS)
    if event not in known.events:
        raise part.error("010716ff", f"{what} '{tmsh(name)}' is not available during event '{tmsh(event)}'.")


def _check_action(part: PolicyPart) -> None:
    _refuse(part, NOT_EMULATED_TARGETS | NOT_EMULATED_VERBS | NOT_EMULATED_PARAMETERS)
    name = one_of(part.props, TARGETS)
    if not name:
        raise part.error("0107186c", "missing or invalid target.")
    target = TARGETS[name]
    verb = one_of(part.props, VERBS)
    if verb not in target.verbs:
        raise part.error("01070734", f"action '{tmsh(verb)}' is not available for target '{tmsh(name)}'.")
    _check_event(part, name, target, "target")
    one, _ = target.verbs[verb]
    given = [word for word in one if part.props.get(word) not in (None, "")]
    if one and not given:
        words = " or ".join(f"'{tmsh(word)}'" for word in sorted(one))
        raise part.error("01070734", f"target '{tmsh(name)}' with action '{tmsh(verb)}' requires {words}.")
    if name == "forward" and len(given) > 1:
        raise part.error("01070734", f"target 'forward' takes one of {', '.join(map(tmsh, sorted(given)))}.")
    if int(part.props.get("code", 0)) not in REDIRECT_CODES:
        raise part.error("01070734", f"code {part.props['code']} is not valid: 300 to 308.")
    for value in part.props.values():
        if isinstance(value, str) and value.startswith(TCL):
            _check_tcl(part, value)


def _check_tcl(part: PolicyPart, value: str) -> None:
    try:
        parts(value.removeprefix(TCL))
    except SyntaxFault as error:
        raise part.error("01070734", f"Tcl in '{value}': {error}.") from error


def _check_order(conditions: list[PolicyPart], actions: list[PolicyPart]) -> None:
    latest = max((EVENTS.index(one_of(part.props, EVENTS)) for part in conditions), default=0)
    for part in actions:
        if EVENTS.index(one_of(part.props, EVENTS)) < latest:
            raise part.error("010716e2", "defines an action which occurs before one of its conditions.")


def _is_number(value: str) -> bool:
    return value.isdigit() and int(value) < 2**32


def _is_network(value: str) -> bool:
    address, slash, length = value.partition("/")
    try:
        ipaddress.ip_network(f"{strip_domain(address)}{slash}{length}", strict=False)
    except ValueError:
        return False
    return True

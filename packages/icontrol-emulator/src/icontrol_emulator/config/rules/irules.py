"""iRules: checked as a device does when it loads them, and held against the profiles of their virtual servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules.misc import BuiltInRules, check_users
from icontrol_emulator.config.schema import Context
from icontrol_emulator.errors import IControlError
from icontrol_emulator.irules.catalogue import needed_profiles
from icontrol_emulator.irules.check import BadRule, Reference, examine

RULE = "ltm/rule"
BODY_BYTES_MAX = 65_520
FAMILIES = {"pool": "ltm/pool", "value_list": "ltm/data-group", "virtual": "ltm/virtual"}
"""Kinds of objects that rules name, as errors call them -> families."""


class RuleRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        code = props.get("apiAnonymous", "")
        if not isinstance(code, str):
            raise errors.invalid_value("apiAnonymous", code)
        props["apiAnonymous"] = code = code.strip()
        size = len(code.encode())
        if size > BODY_BYTES_MAX:
            said = f"attribute:rule_definition type:rule max:{BODY_BYTES_MAX} received:{size}"
            raise errors.mcpd(400, "01070712", f"Max string size exceeded during update of {said}")
        path = draft.key.path
        try:
            examine(code)
        except BadRule as error:
            text = f"Rule [{path}] error: {path}:{error.line}: error: [{error.reason}][{error.source}]"
            raise errors.mcpd(400, "01070151", text) from error

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return list(dict.fromkeys(_target(ctx, obj, each) for each in _references(props)))

    def missing(self, ctx: Context, obj: Obj, target: Target, word: str) -> IControlError:
        found = (each for each in _references(obj.props) if _target(ctx, obj, each) == target)
        reference = next(found, None)
        if reference is None:
            return super().missing(ctx, obj, target, word)
        text = f"Unable to find {reference.kind} ({reference.name}) referenced at line {reference.line}"
        return errors.mcpd(400, "01070151", f"Rule [{obj.key.path}] error: {text}: [{reference.source}]")

    def check(self, ctx: Context, obj: Obj) -> None:
        check_users(ctx, RULE, obj)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        """Error text as quoted in F5Networks/k8s-bigip-ctlr issue 2799."""
        return errors.in_use("rule", obj.key.path, "virtual server", user.key.top.path)


def _references(props: Mapping[str, Any]) -> list[Reference]:
    return examine(str(props.get("apiAnonymous", ""))).references


def _target(ctx: Context, rule: Obj, reference: Reference) -> Target:
    family = FAMILIES[reference.kind]
    return Target(family, qualify(ctx.store, family, rule.partition, rule.sub_path, reference.name))


def check_rules(ctx: Context, virtual: Obj, kinds: Iterable[str]) -> None:
    """Raise an error if a rule of the virtual server has an event for which it lacks a profile of these kinds."""
    known = set(kinds)
    for path in virtual.props.get("rules") or ():
        rule = ctx.store.get(Key(RULE, "", path))
        events = examine(str(rule.props.get("apiAnonymous", ""))).events if rule is not None else []
        for event in events:
            needed, text = needed_profiles(event)
            if needed and not needed & known:
                # as an issue of a Puppet module quotes it for HTTP_REQUEST
                said = f"{event} event in rule ({path}) requires an associated {text} profile on the virtual-server"
                raise errors.mcpd(400, "01071912", f"{said} ({virtual.key.path}).")

"""Cipher rules (named cipher strings) and cipher groups (combinations of rules)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config import ciphers
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context

RULE = "ltm/cipher/rule"
GROUP = "ltm/cipher/group"
LISTS = ("allow", "require", "exclude")


class CipherRuleRules(BuiltInRules):
    def check(self, ctx: Context, obj: Obj) -> None:
        text = str(ctx.props(obj).get("cipher"))
        try:
            ciphers.choices(text)
        except ciphers.BadWord as error:
            raise errors.configuration_error(f"Invalid keyword '{error}' in cipher rule {obj.key.path}") from error


class CipherGroupRules(BuiltInRules):
    """`allow`, `require` and `exclude` list rules as `{name, partition}`."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        for name in LISTS:
            if name in props:
                props[name] = [_rule(ctx, draft, item) for item in props[name] or ()]

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        listed = [item for name in LISTS for item in props.get(name) or ()]
        return [Target(RULE, f"/{item['partition']}/{item['name']}") for item in listed]

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        for name in LISTS:
            if name in shown:
                shown[name] = [{**item, "nameReference": _link(ctx, item)} for item in shown[name]]


def _link(ctx: Context, item: Mapping[str, str]) -> dict[str, str]:
    path = f"{RULE}/~{item['partition']}~{item['name']}"
    return {"link": f"https://localhost/mgmt/tm/{path}?ver={ctx.version}"}


def _rule(ctx: Context, draft: Obj, item: Any) -> dict[str, str]:
    given = {"name": item} if isinstance(item, str) else dict(item)
    path = str(given.get("name", ""))
    if not path.startswith("/") and given.get("partition"):
        path = f"/{given['partition']}/{path}"
    full = qualify(ctx.store, RULE, draft.partition, draft.sub_path, path)
    if ctx.store.get(Key(RULE, "", full)) is None:
        raise errors.not_found("cipher rule", full)
    partition, _, name = full.strip("/").rpartition("/")
    return {"name": name, "partition": partition}


def of_group(ctx: Context, path: str) -> tuple[ciphers.Choice, ...]:
    """The suites that a group allows and requires, without those it excludes."""
    group = ctx.store.get(Key(GROUP, "", path))
    props = ctx.props(group) if group is not None else {}
    found = dict.fromkeys(each for text in _texts(ctx, props, "allow") for each in ciphers.choices(text))
    for text in _texts(ctx, props, "require"):
        found = {each: None for each in found if each in ciphers.choices(text)}
    barred = {each for text in _texts(ctx, props, "exclude") for each in ciphers.choices(text)}
    return tuple(each for each in found if each not in barred)


def _texts(ctx: Context, props: Mapping[str, Any], name: str) -> Iterator[str]:
    for item in props.get(name) or ():
        rule = ctx.store.get(Key(RULE, "", f"/{item['partition']}/{item['name']}"))
        if rule is not None:
            yield str(ctx.props(rule).get("cipher"))


def of_profile(ctx: Context, props: Mapping[str, Any]) -> tuple[ciphers.Choice, ...]:
    """The suites that a profile's properties allow, by group or by string. Raises `BadWord`."""
    group = str(props.get("cipherGroup") or "none")
    return of_group(ctx, group) if group != "none" else ciphers.choices(str(props.get("ciphers") or "DEFAULT"))

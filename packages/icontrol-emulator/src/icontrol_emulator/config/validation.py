"""Validation at the end of a unit of work.

Covers only the touched objects (and the owners of touched sub-objects), so that its cost depends on the size of the
change, not of the configuration.
"""

from __future__ import annotations

import re

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import COMMON, split_path
from icontrol_emulator.config.registry import Registry
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.schema import Context


def validate(ctx: Context, registry: Registry) -> None:
    touched = ctx.store.touched()
    owners = [key.top for key in touched if key.parent]
    present = dict.fromkeys(key for key in [*touched, *owners] if ctx.store.get(key) is not None)
    for key in present:
        obj = ctx.store.get(key)
        if obj is not None:
            _check_references(ctx, registry, obj)
            _check_uniques(ctx, obj)
    for key in touched:
        if ctx.store.get(key) is None and not key.parent:
            _check_unused(ctx, registry, key)
    for key in () if ctx.deletes_detached else ctx.store.removed():
        if DETACHED_FIRST.fullmatch(key.type) and not key.parent:
            _check_detached_before(ctx, registry, key)
    for key in present:
        obj = ctx.store.get(key)
        if obj is not None:
            registry[key.type].rules.check(ctx, obj)


def _check_references(ctx: Context, registry: Registry, obj: Obj) -> None:
    spec = registry[obj.key.type]
    for target in obj.refs:
        if target.family == domains.FAMILY:
            if not any(True for _ in ctx.store.claimants(target)):
                raise errors.not_found("route domain", target.path)
            continue
        if ctx.store.find(target) is None:
            if target.family == "sys/folder":
                raise errors.IControlError(
                    400, f"The requested folder ({target.path}) was not found.", errors.INVALID_VALUE_ERROR
                )
            raise spec.rules.missing(ctx, obj, target, registry.word(target.family))
        _check_partition(ctx, registry, obj, target)


def _check_partition(ctx: Context, registry: Registry, obj: Obj, target: Target) -> None:
    theirs = split_path(target.path).partition
    top = ctx.store.get(obj.key.top) or obj
    if (
        target.family == "sys/folder"
        or top.key.type == domains.DOMAIN
        or not top.partition
        or theirs in ("", COMMON, top.partition)
    ):
        return
    word = registry[top.key.type].word
    plural = f"{registry.word(target.family).lower()}s"
    raise errors.foreign_partition(word, PLURALS.get(target.family, plural), top.key.path, target.path)


DETACHED_FIRST = re.compile(r"ltm/(policy|monitor/.+)")
"""Types of objects that cannot be deleted in the transaction that detaches them."""
PLURALS = {"ltm/rule": "rules", "profile": "profiles", "ltm/policy": "policies"}


def _check_uniques(ctx: Context, obj: Obj) -> None:
    for unique in obj.uniques:
        for other in ctx.store.claimants(unique):
            rival = ctx.store.get(other)
            if other != obj.key and rival is not None:
                raise ctx.spec(obj.key.type).rules.clash(ctx, obj, rival, unique)


def _check_unused(ctx: Context, registry: Registry, key: Key) -> None:
    spec = registry[key.type]
    target = Target(spec.name_space, key.path)
    if ctx.store.find(target) is not None:
        return
    removed = ctx.store.before(key) if key.type == domains.DOMAIN else None
    gone = [
        unique for unique in (removed.uniques if removed else ()) if not any(True for _ in ctx.store.claimants(unique))
    ]
    for each in (target, *gone):
        for user_key in ctx.store.users(each):
            user = ctx.store.get(user_key)
            if user is not None:
                raise spec.rules.in_use(ctx, Obj(key=key, name=key.path), user)


def _check_detached_before(ctx: Context, registry: Registry, key: Key) -> None:
    """A device from TMOS 13.0 on takes an object for one in use in the transaction that detaches it
    (F5Networks/f5-appsvcs-extension, issues 2, 15 and 110), also if the transaction creates it anew. The text is that
    of an object in use.
    """
    spec = registry[key.type]
    target = Target(spec.name_space, key.path)
    changed = ctx.store.all_before()
    for each in (*changed, *ctx.store.users(target)):
        user = ctx.store.get(each)
        before = changed.get(each, user)
        if user is not None and before is not None and target in before.refs:
            raise spec.rules.in_use(ctx, Obj(key=key, name=key.path), user)

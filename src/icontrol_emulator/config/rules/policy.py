"""Local traffic policies: drafts are edited, published ones are used."""

from __future__ import annotations

from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import split_path
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules.partition import drop_folder_if_empty, ensure_folder
from icontrol_emulator.config.schema import Context, TypeRules

POLICY = "ltm/policy"
DRAFTS = "Drafts"


def is_draft(obj: Obj) -> bool:
    return obj.sub_path.split("/")[-1] == DRAFTS


class PolicyRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        wants_draft = props.pop("createDraft", None)
        props.pop("status", None)
        if wants_draft and old is not None:
            _copy(ctx, old, f"/{old.partition}/{DRAFTS}/{old.name}")
            return
        legacy = props.pop("legacy", None) in (True, "true")
        if old is None and legacy:
            props["_published"] = True
        published = props.get("_published") or (old is not None and not is_draft(old))
        if old is None and not legacy and not is_draft(draft):
            raise errors.configuration_error(
                f"Policy {draft.key.path} cannot be created in published state: create it as a draft "
                "(subPath Drafts) and publish it, or set legacy"
            )
        if published and old is not None and not old.props.get("_published"):
            raise errors.configuration_error(f"Policy {draft.key.path} is published and may not be modified")
        if is_draft(draft):
            ensure_folder(ctx, f"/{draft.partition}/{draft.sub_path}")

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        if is_draft(obj):
            drop_folder_if_empty(ctx, f"/{obj.partition}/{obj.sub_path}")

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        shown["status"] = "legacy" if obj.props.get("_published") else "draft" if is_draft(obj) else "published"


def publish(ctx: Context, path: str) -> None:
    """Replace the published policy of the same name by the draft. Call inside a unit of work."""
    draft = ctx.store.get(Key(POLICY, "", path))
    if draft is None:
        raise errors.not_found("policy", path)
    if not is_draft(draft):
        raise errors.configuration_error(f"Policy {path} is not a draft")
    parts = split_path(path)
    above = parts.sub_path.rpartition("/")[0]
    _copy(ctx, draft, f"/{parts.partition}/{above}/{parts.name}" if above else f"/{parts.partition}/{parts.name}")
    ctx.delete(draft.key)


def _copy(ctx: Context, source: Obj, path: str) -> None:
    parts = split_path(path)
    target = Key(POLICY, "", path)
    if ctx.store.get(target) is not None:
        _drop_tree(ctx, target)
    if parts.sub_path:
        ensure_folder(ctx, parts.folder)
    folder = Target("sys/folder", parts.folder)
    copy = Obj(
        key=target,
        name=parts.name,
        partition=parts.partition,
        sub_path=parts.sub_path,
        props={name: value for name, value in source.props.items() if name != "_published"},
        generation=ctx.store.next_generation(),
        refs=tuple(folder if ref.family == "sys/folder" else ref for ref in source.refs),
    )
    ctx.store.put(copy)
    _copy_children(ctx, source.key, target)


def _copy_children(ctx: Context, source: Key, target: Key) -> None:
    for sub in ctx.spec(source.type).subs:
        for child in ctx.store.children(f"{source.type}/{sub}", source.as_parent):
            key = Key(child.key.type, target.as_parent, child.key.path)
            ctx.store.put(
                Obj(key=key, name=child.name, props=child.props, refs=child.refs,
                    generation=ctx.store.next_generation())
            )  # fmt: skip
            _copy_children(ctx, child.key, key)


def _drop_tree(ctx: Context, key: Key) -> None:
    for sub in ctx.spec(key.type).subs:
        for child in ctx.store.children(f"{key.type}/{sub}", key.as_parent):
            _drop_tree(ctx, child.key)
    ctx.store.remove(key)


class PolicyPartRules(TypeRules):
    """Rules, actions and conditions: editable while their policy is a draft."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        policy = ctx.store.get(draft.key.top)
        if policy is not None and not is_draft(policy) and not policy.props.get("_published"):
            raise errors.configuration_error(f"Policy {policy.key.path} is published and may not be modified")
        for name, family in (("pool", "ltm/pool"), ("node", "ltm/node"), ("virtual", "ltm/virtual")):
            if isinstance(props.get(name), str) and policy is not None:
                props[name] = qualify(ctx.store, family, policy.partition, "", props[name])

"""Local traffic policies: drafts are edited, published ones are used."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import entry_path, split_path
from icontrol_emulator.config.policies import checks
from icontrol_emulator.config.policies.parts import normalise_action, normalise_condition
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules.partition import drop_folder_if_empty, ensure_folder
from icontrol_emulator.config.schema import Context, TypeRules
from icontrol_emulator.errors import IControlError

POLICY = "ltm/policy"
DRAFTS = "Drafts"
ORDINAL_MAX = 2**31 - 1


def is_draft(obj: Obj) -> bool:
    return obj.sub_path.split("/")[-1] == DRAFTS


def _published_path(draft: Obj) -> str:
    above = draft.sub_path.rpartition("/")[0]
    return f"/{draft.partition}/{above}/{draft.name}" if above else f"/{draft.partition}/{draft.name}"


def _draft_path(published: Obj) -> str:
    above = f"{published.sub_path}/" if published.sub_path else ""
    return f"/{published.partition}/{above}{DRAFTS}/{published.name}"


def _not_directly(policy: Obj) -> IControlError:
    """Error text as quoted in F5Networks/f5-common-python issue 668."""
    text = f"Cannot create/modify published policy '{policy.key.path}' directly, try specifying a draft folder like "
    return errors.mcpd(400, "01071abb", f"{text}'{_draft_path(policy)}'.")


class PolicyRules(TypeRules):
    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        """`Drafts/X`, as F5Networks/terraform-provider-bigip names drafts, is X in the folder Drafts."""
        folder, slash, name = str(body.get("name", "")).rpartition("/")
        if slash and folder and not folder.startswith("/"):
            above = str(body.get("subPath") or "").strip("/")
            body["name"], body["subPath"] = name, f"{above}/{folder}" if above else folder

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        wants_draft = props.pop("createDraft", None) in (True, "true")
        for name in ("status", "publishCopy", "publishedCopy"):
            props.pop(name, None)
        legacy = props.pop("legacy", None) in (True, "true")
        props["_modified"] = datetime.fromtimestamp(ctx.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for name in ("controls", "requires"):
            if isinstance(props.get(name), str):
                props[name] = props[name].split()
        if wants_draft and old is not None:
            props["_modified"] = old.props.get("_modified", props["_modified"])
            _create_draft(ctx, old)
        elif old is None:
            self._create(ctx, draft, props, legacy=legacy)
        elif not is_draft(old) and not old.props.get("_legacy"):
            raise _not_directly(old)
        if is_draft(draft):
            ensure_folder(ctx, f"/{draft.partition}/{draft.sub_path}")

    def _create(self, ctx: Context, draft: Obj, props: dict[str, Any], *, legacy: bool) -> None:
        if is_draft(draft):
            path = _published_path(draft)
            if ctx.store.get(Key(POLICY, "", path)) is not None:
                # as F5Networks/f5-common-python issue 1098 quotes it
                text = f'Published policy "{path}" exists, use create-draft to create a draft copy .'
                raise errors.configuration_error(text)
        elif not legacy:
            raise _not_directly(draft)
        else:
            props["_legacy"] = True

    def check(self, ctx: Context, obj: Obj) -> None:
        checks.check_rules(ctx, obj)
        for key in list(ctx.store.users(Target(POLICY, obj.key.path))):
            user = ctx.store.get(key.top)
            if user is not None:
                ctx.spec(user.key.type).rules.check(ctx, user)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        """Error text as quoted in F5Networks/f5-openstack-lbaasv2-driver issue 415."""
        return errors.mcpd(400, "01070635", f"The policy ({obj.key.path}) is referenced by one or more virtuals.")

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        if is_draft(obj):
            drop_folder_if_empty(ctx, f"/{obj.partition}/{obj.sub_path}")

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        shown["status"] = "legacy" if obj.props.get("_legacy") else "draft" if is_draft(obj) else "published"
        shown["lastModified"] = obj.props.get("_modified", "")
        shown["references"] = {}
        controls, requires = checks.described(ctx, obj)
        shown |= {name: words for name, words in (("controls", controls), ("requires", requires)) if words}


def _create_draft(ctx: Context, published: Obj) -> None:
    path = _draft_path(published)
    if ctx.store.get(Key(POLICY, "", path)) is not None:
        raise errors.already_exists("policy", path, published.partition)
    _copy(ctx, published, path)


def publish(ctx: Context, path: str) -> None:
    """Replace the published policy of the same name by the draft. Call inside a unit of work."""
    draft = ctx.store.get(Key(POLICY, "", path if path.startswith("/") else f"/Common/{path}"))
    if draft is None:
        raise errors.not_found("policy", path)
    if not is_draft(draft):
        raise errors.configuration_error(f"Policy {path} is not a draft")
    _copy(ctx, draft, _published_path(draft))
    ctx.delete(draft.key)


def _copy(ctx: Context, source: Obj, path: str) -> None:
    parts = split_path(path)
    target = Key(POLICY, "", path)
    # a policy that is in use is replaced where it is: it is not gone for a moment
    _drop_children(ctx, target)
    if parts.sub_path:
        ensure_folder(ctx, parts.folder)
    folder = Target("sys/folder", parts.folder)
    copy = Obj(
        key=target,
        name=parts.name,
        partition=parts.partition,
        sub_path=parts.sub_path,
        props={name: value for name, value in source.props.items() if name != "_legacy"},
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


def _drop_children(ctx: Context, key: Key) -> None:
    for sub in ctx.spec(key.type).subs:
        for child in ctx.store.children(f"{key.type}/{sub}", key.as_parent):
            _drop_children(ctx, child.key)
            ctx.store.remove(child.key)


class PolicyPartRules(TypeRules):
    """Rules, actions and conditions: editable while their policy is a draft, or always if it is a legacy one."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        policy = self._editable(ctx, draft)
        ordinal = props.get("ordinal", 0)
        if not isinstance(ordinal, int) or isinstance(ordinal, bool) or not 0 <= ordinal <= ORDINAL_MAX:
            raise errors.invalid_value("ordinal", ordinal)
        if draft.key.type == checks.CONDITIONS:
            normalise_condition(props, old.props if old is not None else None)
        elif draft.key.type == checks.ACTIONS:
            normalise_action(props, old.props if old is not None else None)
        for name, family in (("pool", "ltm/pool"), ("node", "ltm/node"), ("virtual", "ltm/virtual")):
            if isinstance(props.get(name), str) and policy is not None:
                props[name] = qualify(ctx.store, family, policy.partition, "", props[name])

    def _editable(self, ctx: Context, part: Obj) -> Obj | None:
        policy = ctx.store.get(part.key.top)
        if policy is not None and not is_draft(policy) and not policy.props.get("_legacy"):
            raise _not_directly(policy)
        return policy

    def deletable(self, ctx: Context, obj: Obj) -> None:
        self._editable(ctx, obj)


def check_attached(ctx: Context, virtual: Obj, policies: list[str], kinds: list[str]) -> None:
    """Raise an error if a virtual server cannot carry its policies; `kinds` are those of its profiles."""
    for path in policies:
        policy = ctx.store.get(Key(POLICY, "", path))
        if policy is None:
            continue
        if is_draft(policy):
            raise errors.configuration_error(f"Virtual server {virtual.key.path} may not use the draft policy {path}")
        for wanted in checks.needs(ctx, policy):
            if wanted and not _has_one(ctx, virtual, wanted, kinds):
                text = f"Virtual server {virtual.key.path} requires a profile of type {' or '.join(wanted)} for ltm "
                raise errors.mcpd(400, "010716d9", f"{text}policy {path}.")


def _has_one(ctx: Context, virtual: Obj, wanted: tuple[str, ...], kinds: list[str]) -> bool:
    if "ssl" in wanted and _persists_by_ssl(ctx, virtual.props.get("persist") or ()):
        return True
    return bool(set(wanted) & set(kinds))


def _persists_by_ssl(ctx: Context, entries: list[Mapping[str, Any]] | tuple[()]) -> bool:
    found = (ctx.store.find(Target("persistence", entry_path(entry))) for entry in entries)
    return any(each is not None and each.key.type == "ltm/persistence/ssl" for each in found)

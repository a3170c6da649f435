"""Small rules of single types: monitors, SNAT, VLANs, users."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.db_variables import accepted
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import is_address, split_path, strip_domain
from icontrol_emulator.config.schema import Context, TypeRules
from icontrol_emulator.config.secrets import hide
from icontrol_emulator.errors import IControlError


def check_users(ctx: Context, family: str, obj: Obj) -> None:
    """Validate the users of a changed object again."""
    for key in list(ctx.store.users(Target(family, obj.key.path))):
        user = ctx.store.get(key)
        if user is not None:
            ctx.spec(key.type).rules.check(ctx, user)


class BuiltInRules(TypeRules):
    """Types with built-in objects, which cannot be deleted."""

    def deletable(self, ctx: Context, obj: Obj) -> None:
        if obj.props.get("_system"):
            word = ctx.spec(obj.key.type).word
            raise errors.mcpd(400, "01070635", f"The system {word} ({obj.key.path}) may not be deleted.")


class HttpProfileRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        hide(props, "encryptCookieSecret")


class SnatPoolRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        members = props.get("members") or []
        if not members:
            raise errors.configuration_error(f"SNAT pool {draft.key.path} must have at least one member")
        for path in members:
            name = split_path(path).name  # a translation that comes into being with its pool is named for its address
            if is_address(name) and ctx.store.get(Key("ltm/snat-translation", "", path)) is None:
                ctx.create("ltm/snat-translation", None, {"name": path, "address": name})

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        text = f"Snatpool {obj.key.path} is still referenced by a virtual server."
        return errors.mcpd(400, "01070320", text)


class SnatRules(TypeRules):
    """`origins` are networks, which may be given as text, and are shown sorted, with their lengths."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        given = props.get("origins")
        listed = given.split() if isinstance(given, str) else given or []
        names = [str(each.get("name")) if isinstance(each, Mapping) else str(each) for each in listed]
        if not names:
            text = "one of the following must be specified:\nadd, delete, modify, replace-all-with"
            raise errors.IControlError(400, text, errors.INVALID_VALUE_ERROR)
        props["origins"] = [{"name": name} for name in sorted(map(_network_of, names))]


def _network_of(text: str) -> str:
    """`10.0.0.1%5` as `10.0.0.1%5/32`."""
    host, _, length = text.partition("/")
    bare = strip_domain(host)
    try:
        network = ipaddress.ip_network(f"{bare}/{length}" if length else bare, strict=False)
    except ValueError as error:
        raise errors.invalid_value("origins", text) from error
    return f"{network.network_address}{host[len(bare) :]}/{network.prefixlen}"


class AddressNamedRules(TypeRules):
    """Objects named after their address unless a name is given."""

    def __init__(self, field: str = "address", unique: str = "") -> None:
        self._field = field
        self._unique = unique

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        """A replacement without an address keeps it; f5-sdk's ARP entries are written back so."""
        props.setdefault(self._field, draft.name if old is None else old.props[self._field])

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target(f"#{self._unique}", str(props[self._field]))] if self._unique else []


def _is_trunk(ctx: Context, name: str) -> bool:
    return ctx.store.get(Key("net/trunk", "", name)) is not None


class VlanInterfaceRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if ctx.store.get(Key("net/interface", "", draft.name)) is None and not _is_trunk(ctx, draft.name):
            raise errors.not_found("interface", draft.name)  # text from memory
        if "tagMode" in props and props["tagMode"] != "none" and "untagged" in props:
            raise errors.configuration_error("tag-mode may not be specified with untagged interface")


class UserRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        password = props.pop("password", None)
        if password is not None:
            props["_password"] = str(password)
        props.setdefault("encryptedPassword", "$6$emulated$")
        props.setdefault("description", draft.name)

    def deletable(self, ctx: Context, obj: Obj) -> None:
        if obj.name == "admin":
            raise errors.mcpd(400, "01070825", "Access Denied: the system user admin may not be deleted.")


class DbRules(TypeRules):
    """Variables accept the values of their `valueRange` only."""

    def check(self, ctx: Context, obj: Obj) -> None:
        props = ctx.props(obj)
        if not accepted(str(props["valueRange"]), str(props["value"])):
            raise errors.invalid_value("value", props["value"])


class PublisherRules(BuiltInRules):
    """Destinations of log publishers may be given by name; they are shown as name and partition."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        given = props.get("destinations") or []
        named = [item if isinstance(item, Mapping) else {"name": str(item)} for item in given]
        parts = [(split_path(str(item["name"])), item) for item in named]
        props["destinations"] = [
            {"name": path.name, "partition": item.get("partition") or path.partition} for path, item in parts
        ]

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target("log-destination", f"/{each['partition']}/{each['name']}") for each in props["destinations"]]


class FixedRules(TypeRules):
    """Objects of the device itself: they cannot be created or deleted."""

    def deletable(self, ctx: Context, obj: Obj) -> None:
        raise errors.configuration_error(f"{obj.key.path} may not be deleted")

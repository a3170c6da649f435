"""Route domains: which exist, which VLANs and tunnels they have, and which addresses need them.

An address names its domain as `%N`; a bare one is in the default domain of its partition. A VLAN or tunnel is in
exactly one domain; one that no domain lists is in the default domain of its partition. Texts of errors are from memory
where they are not quoted by clients.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.rules.misc import BuiltInRules
from icontrol_emulator.config.schema import Context
from icontrol_emulator.errors import IControlError

DOMAIN = "net/route-domain"
FAMILY = "#route-domain"
JOINED = "_domain"
VLANS = ("net/vlan", "net/tunnels/tunnel")
DOMAIN_ID_MAX = 65534
_ADDRESSES = {
    "ltm/virtual": ("destination", "source"), "ltm/virtual-address": ("address",), "ltm/node": ("address",),
    "ltm/pool/members": ("address",), "ltm/snat-translation": ("address",), "net/self": ("address",),
    "net/route": ("network", "gw"), "net/arp": ("ipAddress",), "net/ndp": ("ipAddress",),
    "auth/partition": ("defaultRouteDomain",),
}  # fmt: skip
_SUFFIX = re.compile(r"%(\d{1,9})")


def needed(type_path: str, props: Mapping[str, Any]) -> Iterator[Target]:
    """The domains that the addresses of an object of this type name."""
    for name in _ADDRESSES.get(type_path, ()):
        value = props.get(name)
        if isinstance(value, int) and value:
            yield Target(FAMILY, str(value))
        found = _SUFFIX.search(value) if isinstance(value, str) else None
        if found is not None and found[1] != "0":
            yield Target(FAMILY, found[1])


def domain_of(ctx: Context, partition: str, address: str) -> str:
    """The id of an address' domain."""
    found = _SUFFIX.search(address)
    return found[1] if found else default_of(ctx, partition)


def default_of(ctx: Context, partition: str) -> str:
    owner = ctx.store.get(Key("auth/partition", "", partition))
    return str(ctx.props(owner)["defaultRouteDomain"]) if owner else "0"


def with_id(ctx: Context, number: str) -> Obj | None:
    key = next(iter(ctx.store.claimants(Target(FAMILY, number))), None)
    return ctx.store.get(key) if key is not None else None


def members(ctx: Context, domain: Obj) -> list[str]:
    """The VLANs and tunnels in a domain: those that it lists, and those that no domain lists and that default to it.

    The latter are not stored with the domain: adding a VLAN, which is local to a device, does not change the domain.
    """
    listed = list(domain.props.get("vlans", ()))
    number = str(domain.props["id"])
    return listed + [vlan.key.path for vlan in _unlisted(ctx) if _at_first(ctx, vlan) == number]


def contains(ctx: Context, domain: Obj, path: str) -> bool:
    if path in domain.props.get("vlans", ()):
        return True
    vlan = ctx.store.find(Target("vlan", path))
    listed = any(key.type == DOMAIN for key in ctx.store.users(Target("vlan", path)))
    return vlan is not None and not listed and _at_first(ctx, vlan) == str(domain.props["id"])


def _at_first(ctx: Context, vlan: Obj) -> str:
    """The domain that a VLAN joined when it was made, or 0 if that is gone."""
    number = str(vlan.props.get(JOINED, "0"))
    return number if with_id(ctx, number) is not None else "0"


def _unlisted(ctx: Context) -> Iterator[Obj]:
    for type_path in VLANS:
        for vlan in ctx.store.top(type_path):
            if not any(key.type == DOMAIN for key in ctx.store.users(Target("vlan", vlan.key.path))):
                yield vlan


def leave_all(ctx: Context, vlan: Obj) -> None:
    for key in [key for key in ctx.store.users(Target("vlan", vlan.key.path)) if key.type == DOMAIN]:
        _take(ctx, key, [vlan.key.path])


def _take(ctx: Context, key: Key, paths: list[str]) -> None:
    domain = ctx.store.get(key)
    had = list(domain.props.get("vlans", ())) if domain else []
    kept = [path for path in had if path not in paths]
    if kept != had:
        ctx.modify(key, {"vlans": kept})


class DomainRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if "id" not in props:
            props["id"] = int(draft.name) if draft.name.isdigit() else self._free(ctx)
        if not str(props["id"]).isdigit() or int(props["id"]) > DOMAIN_ID_MAX:
            raise errors.invalid_value("id", props["id"])
        props["id"] = int(props["id"])

    def _free(self, ctx: Context) -> int:
        used = {int(domain.props["id"]) for domain in ctx.store.top(DOMAIN)}
        return next(number for number in range(1, DOMAIN_ID_MAX) if number not in used)

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target(FAMILY, str(props["id"]))]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        return errors.configuration_error(f"Route domain id {unique.path} is already used by {other.key.path}")

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        own = list(obj.props.get("vlans", ()))
        for path in own:
            for key in [key for key in ctx.store.users(Target("vlan", path)) if key.type == DOMAIN]:
                if key != obj.key:
                    _take(ctx, key, [path])

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        found = members(ctx, obj)
        if found:
            shown["vlans"] = found

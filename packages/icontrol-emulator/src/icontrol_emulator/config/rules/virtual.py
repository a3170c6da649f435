"""Virtual servers: destinations, the virtual addresses created and deleted with them, and compatibility of profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import (
    COMMON,
    WILDCARDS,
    Endpoint,
    canonical,
    entry_path,
    is_address,
    is_v6,
    join_endpoint,
    numeric,
    split_endpoint,
    split_path,
    strip_domain,
    worded,
)
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.rules.irules import check_rules
from icontrol_emulator.config.rules.partition import effective
from icontrol_emulator.config.rules.policy import check_attached
from icontrol_emulator.config.rules.virtual_tls import check_tls
from icontrol_emulator.config.rules.virtual_transport import TRANSPORTS, Attached, check_transport
from icontrol_emulator.config.schema import Context, TypeRules
from icontrol_emulator.config.store import Store
from icontrol_emulator.errors import IControlError

ADDRESS = "ltm/virtual-address"
PROFILES = "ltm/virtual/profiles"
POLICIES = "ltm/virtual/policies"
ONE_SIDE = {"ltm/profile/client-ssl": "clientside", "ltm/profile/server-ssl": "serverside"}
NEEDS_HTTP = frozenset({"ltm/profile/http-compression", "ltm/profile/web-acceleration", "ltm/profile/http2"})

PROTOCOLS = {"0": "any", "1": "icmp", "6": "tcp", "17": "udp", "58": "ipv6-icmp", "132": "sctp"}
"""IP protocols by number, as clients may name them."""


def destination(obj: Obj) -> Endpoint | None:
    """Path of the virtual address and the port."""
    return _place(obj.props)


def _place(props: Mapping[str, Any]) -> Endpoint | None:
    text = props.get("destination")
    if not isinstance(text, str):
        return None
    parts = split_path(text)
    endpoint = split_endpoint(parts.name)
    return None if endpoint is None else Endpoint(f"{parts.folder}/{endpoint.host}", endpoint.port)


def full_destination(ctx: Context, draft: Obj, text: str) -> str:
    """The destination by its virtual address's name, whether `text` has that name or the IP address."""
    parts = split_path(text) if text.startswith("/") else None
    endpoint = split_endpoint(parts.name if parts else text)
    if endpoint is None:
        raise errors.invalid_value("destination", text)
    folder = parts.folder if parts else f"/{draft.partition}"
    path = f"{folder}/{endpoint.host}"
    if _address(ctx, path) is None:
        host = numeric(endpoint.host)
        if not is_address(host):
            raise errors.mcpd(400, "01070734", f"Configuration error: Invalid destination address ({text})")
        known = _numbered(ctx, split_path(path).partition, host)
        path = f"{folder}/{host}" if known is None else known.key.path
    parts = split_path(path)
    return f"{parts.folder}/{join_endpoint(parts.name, endpoint.port)}"


def _numbered(ctx: Context, partition: str, address: str) -> Obj | None:
    """The partition's virtual address with this IP address, whatever its name."""
    found = (ctx.store.get(key) for key in ctx.store.claimants(_number(address)))
    return next((obj for obj in found if obj is not None and obj.partition == partition), None)


def _number(address: str) -> Target:
    return Target("#virtual-address", canonical(address))


def is_virtual_address(ctx: Context, partition: str, address: str) -> bool:
    """Whether the device answers itself for an address as an object in the partition has it. A loopback address, which
    virtual servers and members may share here, is a host with servers of its own."""
    host, domain = canonical(strip_domain(address)), domains.domain_of(ctx, partition, address)
    if not is_address(host) or ip_address(host).is_loopback:
        return False
    keys = (key for text in (host, f"{host}%{domain}") for key in ctx.store.claimants(_number(text)))
    found = (ctx.store.get(key) for key in keys)
    return any(
        each is not None and domains.domain_of(ctx, each.partition, str(each.props["address"])) == domain
        for each in found
    )


def _host(ctx: Context, place: str) -> str:
    """The IP address of a virtual address's path, which may not exist yet."""
    known = _address(ctx, place)
    return split_path(place).name if known is None else str(known.props["address"])


def host_mask(host: str) -> str:
    """The mask of a single address, or of the wildcard address."""
    word = strip_domain(worded(host))
    if word in WILDCARDS:
        return word
    return "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" if is_v6(host) else "255.255.255.255"


def _address(ctx: Context, path: str) -> Obj | None:
    return ctx.store.get(Key(ADDRESS, "", path))


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


CHOSEN = "_chosen"
"""Mark of the FastL4 profile that a virtual server without profiles got."""


class VirtualRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if "destination" in props:
            props["destination"] = full_destination(ctx, draft, props["destination"])
            self._network_defaults(ctx, props)
        if str(props.get("ipProtocol", "")) in PROTOCOLS:
            props["ipProtocol"] = PROTOCOLS[str(props["ipProtocol"])]
        snat = props.get("sourceAddressTranslation")
        if isinstance(snat, dict) and snat.get("type") != "snat":
            props["sourceAddressTranslation"] = {k: v for k, v in snat.items() if k != "pool"}
        if "vlansEnabled" in props and not props.get("vlans"):
            props.pop("vlans", None)
        if "persist" in props:
            props["persist"] = [self._persist(ctx, draft, entry) for entry in _entries(props["persist"])]
        props.setdefault("_index", ctx.next_number("vsIndex"))
        props.setdefault("_created", _stamp(ctx.now()))
        props["_modified"] = _stamp(ctx.now())

    def _network_defaults(self, ctx: Context, props: dict[str, Any]) -> None:
        place = _place(props)
        host = _host(ctx, place.host) if place else ""
        six = is_v6(host)
        if props.get("_six") not in (None, six):
            props.pop("mask", None)
            props.pop("source", None)
        props["_six"] = six
        props.setdefault("mask", host_mask(host))
        props.setdefault("source", "::/0" if six else "0.0.0.0/0")

    def _persist(self, ctx: Context, draft: Obj, entry: dict[str, Any]) -> dict[str, Any]:
        named = str(entry.get("name", ""))
        if not named.startswith("/") and entry.get("partition"):
            named = entry_path({**entry, "name": named})
        path = split_path(qualify(ctx.store, "persistence", draft.partition, draft.sub_path, named))
        default = entry.get("tmDefault", "yes")
        folder = {"subPath": path.sub_path} if path.sub_path else {}
        return {"name": path.name, "partition": path.partition, **folder, "tmDefault": default}

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        place = _place(props)
        if place is None:
            return []
        vlans = ",".join(sorted(props.get("vlans") or ()))
        number = f"{canonical(_host(ctx, place.host))} {place.port}"
        return [
            Target("#destination", f"{number} {props.get('ipProtocol')} {props.get('source')} {vlans}"),
        ]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        text = (
            f"Virtual Server {obj.key.path} illegally shares destination address, source address, "
            f"service port, ip-protocol, and vlan with Virtual Server {other.key.path}."
        )
        return errors.mcpd(400, "01070333", text)

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        place = _place(props)
        found = [] if place is None else [Target(ADDRESS, place.host)]
        entries = props.get("persist") or []
        return [*found, *(Target("persistence", entry_path(entry)) for entry in entries)]

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        place = destination(obj)
        if place is not None and _address(ctx, place.host) is None:
            parts = split_path(place.host)
            ctx.create(
                ADDRESS,
                None,
                {
                    "name": place.host,
                    "address": parts.name,
                    "mask": obj.props.get("mask", "255.255.255.255"),
                },
            )
        if old is not None:
            _forget_address(ctx, old)
        if old is None or "profiles" in named or obj.props.get("ipProtocol") in (None, "any"):
            ctx.settle_later(obj.key)

    def settle(self, ctx: Context, obj: Obj) -> None:
        """Attach a transport profile if there is none: fastL4 to a virtual server without profiles, else tcp or udp."""
        if ctx.store.get(obj.key) is None:
            return
        attached = _without_replaced(ctx, ctx.store.children(PROFILES, obj.key.path))
        paths = [child.key.path for child in attached]
        kinds = {_profile_kind(ctx, path) for path in paths}
        protocol = obj.props.get("ipProtocol")
        if not kinds & set(TRANSPORTS) and "" not in kinds:
            name = "fastL4" if not paths else str(protocol) if protocol in ("udp", "sctp") else "tcp"
            made = ctx.create(PROFILES, obj.key, {"name": f"/Common/{name}"})
            if not paths:
                ctx.store.put(replace(made, props={**made.props, CHOSEN: True}))
            kinds.add(name)
        wanted = next(
            (word for word in ("tcp", "udp", "sctp") if word in kinds), "tcp" if "fasthttp" in kinds else None
        )
        if protocol in (None, "any") and wanted is not None:
            ctx.modify(obj.key, {"ipProtocol": wanted})

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        _forget_address(ctx, obj)

    def check(self, ctx: Context, obj: Obj) -> None:
        attached = ctx.store.children(PROFILES, obj.key.path)
        profiles = [child.key.path for child in attached]
        kinds = [_profile_kind(ctx, path) for path in profiles]
        tls = "client-ssl" in kinds or "server-ssl" in kinds
        if ("http" in kinds or tls) and ("fastl4" in kinds or "udp" in kinds):
            text = f"Found disallowed profile on {obj.key.path}: Not Any Of (FastL4 Profile, FastHTTP Profile)"
            raise errors.configuration_error(text)
        needy = {kind for kind in kinds if f"ltm/profile/{kind}" in NEEDS_HTTP}
        cookies = any(_is_cookie(ctx, target) for target in obj.refs)
        if (needy or cookies) and "http" not in kinds and "fasthttp" not in kinds:
            raise errors.configuration_error("Required profile profile_http not present")
        sides = [str(child.props.get("context", "all")) for child in attached]
        check_transport(obj, [Attached(kind, side) for kind, side in zip(kinds, sides, strict=True)])
        check_rules(ctx, obj, kinds)
        policies = [child.key.path for child in ctx.store.children(POLICIES, obj.key.path)]
        check_attached(ctx, obj, policies, kinds)
        check_tls(ctx, obj, profiles)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        place = destination(obj)
        if place is not None and place.port == 0 and is_v6(split_path(place.host).name):
            shown["destination"] = f"{place.host}.any"
        shown["creationTime"] = obj.props.get("_created", "")
        shown["lastModifiedTime"] = obj.props.get("_modified", "")
        shown["vsIndex"] = obj.props.get("_index", 0)


def _without_replaced(ctx: Context, attached: list[Obj]) -> list[Obj]:
    """The profiles that stay: the one that the device chose goes when another one comes, as F5's functional tests of
    f5-common-python (test_virtual.py) do it.
    """
    chosen = [child for child in attached if child.props.get(CHOSEN)]
    if len(chosen) == len(attached):
        return attached
    for child in chosen:
        ctx.delete(child.key)
    return [child for child in attached if child not in chosen]


def _entries(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, str):
        return [{"name": value}]
    return [{"name": item} if isinstance(item, str) else dict(item) for item in value]


def _forget_address(ctx: Context, virtual: Obj) -> None:
    place = destination(virtual)
    if place is not None:
        ctx.settle_later(Key(ADDRESS, "", place.host))


def _profile_kind(ctx: Context, path: str) -> str:
    """Last segment of the profile's type, empty if it does not exist (yet)."""
    profile = ctx.store.find(Target("profile", path))
    return profile.key.type.rpartition("/")[2] if profile else ""


def _is_cookie(ctx: Context, target: Target) -> bool:
    found = ctx.store.find(target) if target.family == "persistence" else None
    return found is not None and found.key.type == "ltm/persistence/cookie"


class AddressRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        props["address"] = numeric(props.get("address", draft.name))
        if not is_address(props["address"]):
            raise errors.mcpd(400, "01070734", f"Configuration error: Invalid address ({props['address']})")
        props.setdefault("mask", host_mask(props["address"]))

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [_number(props["address"])]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        text = f"Invalid Virtual Address, the IP address {obj.props['address']} already exists."
        return errors.mcpd(400, "0107176c", text)

    def settle(self, ctx: Context, obj: Obj) -> None:
        current = ctx.store.get(obj.key)
        if current is None or ctx.props(current).get("autoDelete") != "true":
            return
        if not list(ctx.store.users(Target(ADDRESS, obj.key.path))):
            ctx.delete(obj.key)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        shown["address"] = worded(shown["address"])
        shown["trafficGroup"] = traffic_group_of(ctx.store, obj)


def traffic_group_of(store: Store, address: Obj) -> str:
    """A virtual address' traffic group: its own, or its folder's."""
    own = address.props.get("trafficGroup")
    folder = address.key.path.rpartition("/")[0]
    return str(own or effective(store, folder, "trafficGroup", "inheritedTrafficGroup"))


class AttachedRules(TypeRules):
    """Profiles and policies attached to a virtual server: named after the object they refer to."""

    def __init__(self, family: str) -> None:
        self._family = family

    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        named = str(body.get("name", ""))
        owner = parent.partition if parent else COMMON
        if not named.startswith("/"):
            given = f"/{body['partition']}/{named}" if body.get("partition") else ""
            found = given and ctx.store.find(Target(self._family, given))
            body["name"] = given if found else qualify(ctx.store, self._family, owner, "", named)
            body.pop("partition", None)

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if old is not None:
            props.pop(CHOSEN, None)
        found = ctx.store.find(Target(self._family, draft.key.path))
        only = ONE_SIDE.get(found.key.type) if self._family == "profile" and found is not None else None
        if only is None:
            return
        if props.get("context", "all") not in ("all", only):
            raise errors.configuration_error(f"Profile {draft.key.path} may only be used in context {only}")
        props["context"] = only

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        if old is None and self._family == "profile" and obj.key.owner is not None:
            ctx.settle_later(obj.key.owner)

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target(self._family, obj.key.path)]

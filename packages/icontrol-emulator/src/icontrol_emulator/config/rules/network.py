"""Rules of self addresses, routes, VLANs and tunnels."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import strip_domain
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.rules.misc import AddressNamedRules, BuiltInRules
from icontrol_emulator.config.schema import Context, TypeRules
from icontrol_emulator.errors import IControlError

SELF = "net/self"
VLAN_TAG_MAX = 4094
_HARDWARE_ADDRESS = re.compile(r"([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}")
_DEFAULTS = {"0.0.0.0": "default", "::": "default-inet6"}  # noqa: S104 - a destination
_TARGETS = ("gw", "pool", "tmInterface", "blackhole")
_Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


def interface_of(address: str) -> _Interface | None:
    """`10.0.0.1%5/24` as an address with its network; None for other text."""
    host, _, length = address.partition("/")
    try:
        return ipaddress.ip_interface(f"{strip_domain(host)}/{length}" if length else strip_domain(host))
    except ValueError:
        return None


def _add_forwarding(kind: str, ctx: Context, obj: Obj) -> None:
    """Add the forwarding table of a VLAN or tunnel."""
    key = Key(f"net/fdb/{kind}", "", obj.key.path)
    if ctx.store.get(key) is None:
        ctx.create(key.type, None, {"name": obj.key.path})


def _drop_forwarding(kind: str, ctx: Context, obj: Obj) -> None:
    key = Key(f"net/fdb/{kind}", "", obj.key.path)
    if ctx.store.get(key) is not None:
        ctx.delete(key)
    domains.leave_all(ctx, obj)


class VlanRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        # f5-openstack-agent sends 0 for untagged VLANs, of which a device may have several
        if not props.get("tag"):
            tag = VLAN_TAG_MAX
            while list(ctx.store.claimants(Target("#vlan-tag", str(tag)))):
                tag -= 1
            props["tag"] = tag
        props.setdefault(domains.JOINED, domains.default_of(ctx, draft.partition))
        props.setdefault("_ifIndex", 80 + 16 * ctx.next_number("ifIndex"))

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target("#vlan-tag", str(props["tag"]))]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        text = f"The vlan tag {unique.path} of {obj.key.path} is already used by {other.key.path}"
        return errors.configuration_error(text)

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        _add_forwarding("vlan", ctx, obj)

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        _drop_forwarding("vlan", ctx, obj)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        word = "self IP" if user.key.type == "net/self" else ctx.spec(user.key.top.type).word
        text = f"The VLAN ({obj.key.path}) cannot be deleted because it is in use by a {word} ({user.key.path})."
        return errors.mcpd(400, "01070265", text)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        shown["ifIndex"] = obj.props.get("_ifIndex", 0)


class TunnelRules(BuiltInRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        props.setdefault(domains.JOINED, domains.default_of(ctx, draft.partition))

    def after_put(self, ctx: Context, obj: Obj, old: Obj | None, named: frozenset[str]) -> None:
        _add_forwarding("tunnel", ctx, obj)

    def after_remove(self, ctx: Context, obj: Obj) -> None:
        _drop_forwarding("tunnel", ctx, obj)


class ForwardingRules(TypeRules):
    """A record of a forwarding table: where frames for a hardware address go."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        if not _HARDWARE_ADDRESS.fullmatch(draft.name):
            raise errors.invalid_value("name", draft.name)
        ends = props.get("endpoints", [])
        for end in [props.get("endpoint"), *(ends if isinstance(ends, list) else [ends])]:
            if end is not None and ("/" in str(end) or interface_of(str(end)) is None):
                raise errors.invalid_value("endpoint", end)


class NeighbourRules(AddressNamedRules):
    """A host's hardware address: of IPv4 for ARP, of IPv6 for neighbour discovery."""

    def __init__(self, version: int) -> None:
        super().__init__("ipAddress")
        self._version = version

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        address = str(props["ipAddress"])
        found = None if "/" in address else interface_of(address)
        if found is None or found.version != self._version:
            raise errors.invalid_value("ipAddress", address)


class SelfRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        address = str(props.get("address", ""))
        if interface_of(address) is None or "/" not in address:
            raise errors.invalid_value("address", address)

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        host = str(props["address"]).partition("/")[0]
        number = domains.domain_of(ctx, obj.partition, host)
        return [Target("#self-address", f"{strip_domain(host)}%{number}")]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        text = f"Invalid Self IP, the IP address {unique.path} already exists in {other.key.path}"
        return errors.configuration_error(text)

    def check(self, ctx: Context, obj: Obj) -> None:
        """The phrase about the VLAN is what f5-openstack-agent recognises."""
        vlan = str(obj.props.get("vlan", ""))
        domain = domains.with_id(ctx, domains.domain_of(ctx, obj.partition, str(obj.props["address"])))
        if domain is None or domains.contains(ctx, domain, vlan):
            return
        raise errors.configuration_error(
            f"The VLAN ({vlan}) of self IP ({obj.key.path}) must be one of the vlans in the associated route domain "
            f"({domain.key.path})."
        )


class RouteRules(TypeRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        """A device shows `0.0.0.0%5/0`, which f5-openstack-agent sends, as tmsh writes it: `default%5`."""
        host, slash, length = str(props["network"]).partition("/")
        address, percent, number = host.partition("%")
        if slash and length in ("0", address) and address in _DEFAULTS:
            props["network"] = f"{_DEFAULTS[address]}{percent}{number}"

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        network = str(props["network"])
        number = domains.domain_of(ctx, obj.partition, network if "%" in network else str(props.get("gw", "")))
        return [Target("#route", f"{strip_domain(network.replace('/', '_'))}%{number}")]

    def check(self, ctx: Context, obj: Obj) -> None:
        given = [name for name in _TARGETS if obj.props.get(name)]
        if len(given) != 1:
            names = ", ".join(_TARGETS)
            raise errors.configuration_error(f"Static route {obj.key.path} needs exactly one of {names}")
        if given == ["gw"] and not self._connected(ctx, obj):
            text = f"Static route gateway {obj.props['gw']} is not directly connected via an interface."
            raise errors.mcpd(400, "01070330", text)

    def _connected(self, ctx: Context, obj: Obj) -> bool:
        gateway = interface_of(str(obj.props["gw"]))
        if gateway is None:
            raise errors.invalid_value("gw", obj.props["gw"])
        wanted = domains.domain_of(ctx, obj.partition, str(obj.props["gw"]))
        return any(gateway.ip in network for network in self._networks(ctx, wanted))

    def _networks(self, ctx: Context, domain: str) -> Iterator[ipaddress.IPv4Network | ipaddress.IPv6Network]:
        for own in ctx.store.top(SELF):
            address = str(own.props["address"])
            found = interface_of(address)
            if found is not None and domains.domain_of(ctx, own.partition, address) == domain:
                yield found.network

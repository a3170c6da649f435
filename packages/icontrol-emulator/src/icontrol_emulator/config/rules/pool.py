"""Pools, their members and the nodes behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import (
    SERVICE_NAMES,
    Endpoint,
    canonical,
    is_address,
    join_endpoint,
    split_endpoint,
    strip_domain,
)
from icontrol_emulator.config.references import qualify
from icontrol_emulator.config.rules import domains
from icontrol_emulator.config.rules.monitor import check_has_port
from icontrol_emulator.config.schema import Context, TypeRules, names
from icontrol_emulator.errors import IControlError

MEMBERS = "ltm/pool/members"
NODE = "ltm/node"
MONITOR_FAMILY = "monitor"
_GRAMMAR = frozenset({"and", "min", "of", "{", "}"})


def monitor_paths(rule: str) -> list[str]:
    """The monitors in a monitor rule such as `min 1 of { /Common/a /Common/b }`."""
    return [word for word in rule.split() if word not in _GRAMMAR and not word.isdigit() and word[0] == "/"]


def monitors_needed(rule: str) -> int:
    """The number of the rule's monitors that must succeed."""
    words = rule.split()
    if words[:1] == ["min"] and len(words) > 1 and words[1].isdigit():
        return int(words[1])
    return len(monitor_paths(rule))


def _qualify_rule(ctx: Context, obj: Obj, rule: str) -> str:
    words = rule.replace("{", " { ").replace("}", " } ").split()
    partition = (ctx.store.get(obj.key.top) or obj).partition
    shown = [
        word
        if word in _GRAMMAR or word.isdigit()
        else qualify(ctx.store, MONITOR_FAMILY, partition, obj.sub_path, word)
        for word in words
    ]
    if shown[:1] == ["min"] and "{" not in shown:
        shown = [*shown[:3], "{", *shown[3:], "}"]
    return " ".join(shown)


NEEDS_LIMITS = "weighted-least-connections"


def _check_limits(ctx: Context, pool: Obj, members: list[Obj]) -> None:
    """A method that weighs by connection limits needs one on each member or node. The text is from memory."""
    mode = str(ctx.props(pool)["loadBalancingMode"])
    if not mode.startswith(NEEDS_LIMITS):
        return
    for member in members:
        owner: Obj | None = member_node(ctx, member) if mode.endswith("node") else member
        if owner is not None and not int(owner.props.get("connectionLimit", 0)):
            text = f"Pool {pool.key.path} load balancing mode {mode} requires a connection limit on {owner.key.path}"
            raise errors.configuration_error(text)


class MonitoredRules(TypeRules):
    """Shared by pools, members and nodes: a monitor rule."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        rule = props.get("monitor")
        if isinstance(rule, str) and rule.strip() not in ("default", "/Common/none", "none", ""):
            props["monitor"] = _qualify_rule(ctx, draft, rule)
        elif rule is not None and (rule.strip() != "default" or draft.key.type == "ltm/pool"):
            props.pop("monitor")

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [Target(MONITOR_FAMILY, path) for path in monitor_paths(props.get("monitor") or "")]


SHOWN_STATES = names("up down checking unchecked user-up user-down fqdn-checking fqdn-down fqdn-up fqdn-up-no-addr")
SHOWN_SESSIONS = names("user-enabled user-disabled monitor-enabled monitor-disabled")


class PoolRules(MonitoredRules):
    def check(self, ctx: Context, obj: Obj) -> None:
        members = ctx.store.children(MEMBERS, obj.key.path)
        _check_limits(ctx, obj, members)
        for member in members:
            _check_ports(ctx, obj, member)


def _check_ports(ctx: Context, pool: Obj, member: Obj) -> None:
    """The monitors that apply to a member find their port there."""
    own = member.props.get("monitor")
    rule = pool.props.get("monitor") if own in (None, "default") else own
    for path in monitor_paths(str(rule or "")):
        check_has_port(ctx, path, member_endpoint(member).port)


def _store_user_state(props: dict[str, Any]) -> None:
    """Store the state that the operator set; the shown state also depends on monitors.

    What a device shows it takes back, but only what users may set has an effect.
    """
    for name, known in (("state", SHOWN_STATES), ("session", SHOWN_SESSIONS)):
        if props.get(name, "") not in known | {""}:
            raise errors.invalid_value(name, props[name])
    limit = str(props.get("rateLimit", "disabled"))
    if limit != "disabled" and not limit.isdigit():
        raise errors.invalid_value("rateLimit", limit)
    state = props.pop("state", None)
    if state in ("user-up", "user-down"):
        props["_state"] = state
    session = props.pop("session", None)
    if session in ("user-enabled", "user-disabled"):
        props["_session"] = session


def is_forced_down(obj: Obj) -> bool:
    return obj.props.get("_state") == "user-down"


def is_disabled(obj: Obj) -> bool:
    return obj.props.get("_session") == "user-disabled"


def _show_state(obj: Obj, shown: dict[str, Any], monitored: str | None) -> None:
    shown["session"] = "user-enabled" if monitored is None else "monitor-enabled"
    shown["state"] = "unchecked" if monitored is None else monitored
    if monitored == "disabled":
        shown |= {"session": "monitor-disabled", "state": "up"}
    if is_disabled(obj):
        shown["session"] = "user-disabled"
    if is_forced_down(obj):
        shown["state"] = "user-down"


class NodeRules(MonitoredRules):
    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        _store_user_state(props)
        fqdn = props.get("fqdn")
        if isinstance(fqdn, Mapping) and "name" in fqdn:
            props["fqdn"] = {**{k: v for k, v in fqdn.items() if k != "name"}, "tmName": fqdn["name"]}
        if "address" not in props:
            has_name = "tmName" in (props.get("fqdn") or {})
            props["address"] = "any6" if has_name else draft.name
        if props["address"] != "any6" and not is_address(props["address"]):
            raise errors.mcpd(400, "01070734", f"Configuration error: Invalid address ({props['address']})")

    def uniques(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        """An address is one node of its route domain, whatever the partition."""
        address = str(props.get("address", ""))
        if address in ("", "any6"):
            return []
        domain = domains.domain_of(ctx, obj.partition, address)
        return [Target("#node-address", f"{domain} {canonical(strip_domain(address))}")]

    def clash(self, ctx: Context, obj: Obj, other: Obj, unique: Target) -> IControlError:
        """Error text as quoted in F5Networks/f5-ansible issue 823 and f5-openstack-lbaasv2-driver issue 235. That it is
        the same for a node without a member is a guess.
        """
        text = (
            f"Pool member node ({obj.key.path}) and existing node ({other.key.path}) cannot use the same IP Address"
            f" ({obj.props['address']})."
        )
        return errors.mcpd(400, "0107003a", text)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        text = f"Node address '{obj.key.path}' is referenced by a member of pool '{user.key.parent}'."
        return errors.mcpd(400, "01070110", text)

    def check(self, ctx: Context, obj: Obj) -> None:
        for path in monitor_paths(str(obj.props.get("monitor") or "")):
            check_has_port(ctx, path, 0)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        _show_state(obj, shown, ctx.status.node_state(obj))


def member_endpoint(obj: Obj) -> Endpoint:
    """Node name and port of a member."""
    endpoint = split_endpoint(obj.name)
    return endpoint if endpoint is not None else Endpoint(obj.name, 0)


def member_node(ctx: Context, obj: Obj) -> Obj | None:
    return ctx.store.get(Key(NODE, "", _node_path(obj)))


def _node_path(obj: Obj) -> str:
    middle = f"{obj.sub_path}/" if obj.sub_path else ""
    return f"/{obj.partition}/{middle}{member_endpoint(obj).host}"


class MemberRules(MonitoredRules):
    def name(self, ctx: Context, parent: Obj | None, body: dict[str, Any]) -> None:
        folder, slash, last = str(body.get("name", "")).rpartition("/")
        endpoint = split_endpoint(last)
        if endpoint is None:
            text = f"The port is missing or invalid in pool member name ({last})"
            raise errors.mcpd(400, "01070734", f"Configuration error: {text}")
        body["name"] = f"{folder}{slash}{join_endpoint(*endpoint)}"

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        _store_user_state(props)
        if old is None:
            self._provide_node(ctx, draft, props)
        node = member_node(ctx, draft)
        if node is not None:
            props["address"] = node.props["address"]

    def _provide_node(self, ctx: Context, draft: Obj, props: dict[str, Any]) -> None:
        host, port = member_endpoint(draft)
        folder = _node_path(draft).rpartition("/")[0]
        if ctx.store.get(Key("sys/folder", "", folder)) is None:
            service = SERVICE_NAMES.get(port, str(port))
            member = f"{draft.key.parent} {folder}/{host} {service}"
            raise errors.configuration_error(f"Can't associate Pool Member ({member}) folder does not exist")
        if member_node(ctx, draft) is not None:
            return
        body: dict[str, Any] = {"name": host, "partition": draft.partition, "subPath": draft.sub_path}
        if "address" in props:
            body["address"] = props["address"]
        elif "fqdn" in props and "tmName" in props["fqdn"]:
            body["fqdn"] = props["fqdn"]
        elif not is_address(host):
            raise errors.not_found("Node", f"{folder}/{host}")
        ctx.create(NODE, None, body)

    def extra_refs(self, ctx: Context, obj: Obj, props: Mapping[str, Any]) -> list[Target]:
        return [*super().extra_refs(ctx, obj, props), Target(NODE, _node_path(obj))]

    def check(self, ctx: Context, obj: Obj) -> None:
        pool = ctx.store.get(obj.key.owner) if obj.key.owner is not None else None
        if pool is not None:
            _check_limits(ctx, pool, [obj])
            _check_ports(ctx, pool, obj)

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        _show_state(obj, shown, ctx.status.monitor_state(obj))

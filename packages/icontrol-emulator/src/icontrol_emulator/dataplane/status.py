"""The state of members and nodes: results of monitors, overridden by states set from outside.

Starts and stops the probes of a configuration, following its changes. Without a probe board nothing is probed, and
everything with a monitor counts as up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj, Target
from icontrol_emulator.config.names import is_address, split_endpoint, strip_domain
from icontrol_emulator.config.rules.files import CERT, CRL, KEY
from icontrol_emulator.config.rules.pool import (
    MEMBERS,
    NODE,
    is_disabled,
    is_forced_down,
    member_endpoint,
    member_node,
    monitor_paths,
    monitors_needed,
)
from icontrol_emulator.config.store import ChangeSet
from icontrol_emulator.dataplane.networks import ONE_NETWORK, Network, Networks
from icontrol_emulator.dataplane.probes import CHECKING, UNCHECKED, ProbeBoard
from icontrol_emulator.dataplane.probing import DISABLED, DOWN, UP, Probe
from icontrol_emulator.dataplane.tls.plan import TlsPlan, server_side

POOL = "ltm/pool"
FAMILIES = {"ltm/monitor/": "monitor", "ltm/profile/server-ssl": "profile", CERT: CERT, KEY: KEY, CRL: CRL}
"""Prefix of a type that probes depend on -> the family by which other objects refer to it."""


class MemberStatus:
    def __init__(self, board: ProbeBoard | None, monitor_scale: float) -> None:
        self._board = board
        self._scale = monitor_scale
        self._engine: Engine | None = None
        self._networks: Networks = ONE_NETWORK
        self._probes: dict[Key, list[Probe]] = {}
        self._overrides: dict[tuple[str, str], str] = {}
        self._users: dict[Probe, set[Key]] = {}
        self.on_down: Callable[[Key], None] = lambda member: None
        """Called with each member that has gone down."""
        if board is not None:
            board.went_down.append(self._went_down)

    def attach(self, engine: Engine, networks: Networks = ONE_NETWORK) -> None:
        self._engine, self._networks = engine, networks

    # -- queries

    def monitor_state(self, member: Obj) -> str | None:
        override = self._overrides.get((member.key.parent, member.key.path))
        if override is not None:
            return override
        node = self._node_of(member)
        if node is not None and self.node_state(node) == "down":
            return "down"
        return self._state(member.key, self.rule_of(member))

    def node_state(self, node: Obj) -> str | None:
        return self._state(node.key, self._own_rule(node))

    def usable(self, member: Obj) -> bool:
        """May carry connections, including persistent ones: a device sends connections to a member whose monitor has no
        result yet (sapcc/octavia-f5-provider-driver issues 206 and 238, F5Networks/k8s-bigip-ctlr issue 901).
        """
        node = self._node_of(member)
        if is_forced_down(member) or (node is not None and is_forced_down(node)):
            return False
        return self.monitor_state(member) in (None, UP, DISABLED, UNCHECKED, CHECKING)

    def open_to_new(self, member: Obj) -> bool:
        """May be selected for new clients."""
        node = self._node_of(member)
        if is_disabled(member) or (node is not None and (is_disabled(node) or self.node_state(node) == DISABLED)):
            return False
        return self.usable(member) and self.monitor_state(member) != DISABLED

    def reason(self, member: Obj) -> str:
        for probe in self._probes.get(member.key, ()):
            if self._board is not None and self._board.state(probe) == "down":
                return self._board.reason(probe)
        return ""

    def override(self, pool: str, member: str, state: str | None) -> None:
        if state is None:
            self._overrides.pop((pool, member), None)
        else:
            self._overrides[pool, member] = state
        if state == DOWN:
            self.on_down(Key(MEMBERS, pool, member))

    def rule_of(self, member: Obj) -> str | None:
        """The monitor rule that applies to a member: its own or its pool's."""
        own = self._own_rule(member)
        if own is not None or self._engine is None or member.key.owner is None:
            return own
        pool = self._engine.store.get(member.key.owner)
        return pool.props.get("monitor") if pool else None

    def _own_rule(self, obj: Obj) -> str | None:
        rule = obj.props.get("monitor")
        return None if rule in (None, "default") else rule

    def _node_of(self, member: Obj) -> Obj | None:
        return member_node(self._engine, member) if self._engine is not None else None

    def _state(self, key: Key, rule: str | None) -> str | None:
        if not rule:
            return None
        if self._board is None:
            return "up"
        states = [self._board.state(probe) for probe in self._probes.get(key, ())]
        needed = min(monitors_needed(rule), len(states) or 1)
        good = states.count(UP) + states.count(DISABLED)
        if good >= needed:
            return DISABLED if DISABLED in states else UP
        if CHECKING in states or not states:
            return CHECKING
        return UNCHECKED if good + states.count(UNCHECKED) >= needed else DOWN

    # -- following the configuration

    def follow(self, changes: ChangeSet) -> None:
        engine, board = self._engine, self._board
        if board is None or engine is None:
            return
        for key in dict.fromkeys(each for changed in changes.before for each in _affected(engine, changed, 0)):
            self._refresh(engine, board, key)

    def _refresh(self, engine: Engine, board: ProbeBoard, key: Key) -> None:
        obj = engine.store.get(key)
        wanted = self._wanted(engine, obj) if obj is not None else []
        before = self._probes.get(key, [])
        for probe in wanted:
            board.acquire(probe)
            self._users.setdefault(probe, set()).add(key)
        for probe in before:
            board.release(probe)
            if probe not in wanted:
                self._users[probe].discard(key)
                if not self._users[probe]:
                    del self._users[probe]
        if obj is not None and obj.props.get("_state") == "user-up":
            for probe in wanted:
                board.resume(probe)
        if wanted:
            self._probes[key] = wanted
        else:
            self._probes.pop(key, None)
        if obj is None:
            self._overrides.pop((key.parent, key.path), None)

    def _went_down(self, probe: Probe) -> None:
        engine = self._engine
        if engine is None:
            return
        for key in list(self._users.get(probe, ())):
            members = [key] if key.type == MEMBERS else list(engine.store.users(Target(NODE, key.path)))
            for each in members:
                member = engine.store.get(each)
                if member is not None and member.key.type == MEMBERS and self.monitor_state(member) == DOWN:
                    self.on_down(each)

    def _wanted(self, engine: Engine, obj: Obj) -> list[Probe]:
        rule = self.rule_of(obj) if obj.key.type == MEMBERS else self._own_rule(obj)
        address = str(obj.props.get("address", ""))
        host = strip_domain(address)
        if not rule or not is_address(host):
            return []
        port = member_endpoint(obj).port if obj.key.type == MEMBERS else 0
        try:
            network = self._networks.of(obj.partition, address)
        except OSError:
            return []
        probes = (self._probe(engine, path, host, port, network) for path in monitor_paths(rule))
        return [probe for probe in probes if probe is not None]

    def _probe(self, engine: Engine, path: str, host: str, port: int, network: Network) -> Probe | None:
        monitor = engine.store.find(Target("monitor", path))
        if monitor is None:
            return None
        props = engine.props(monitor)
        elsewhere = split_endpoint(str(props.get("destination", "*:*")))
        if elsewhere is not None:
            host = host if elsewhere.host == "*" else strip_domain(elsewhere.host)
            port = elsewhere.port or port
        return Probe(
            monitor=path, kind=monitor.key.type.rpartition("/")[2], host=host, port=port,
            network=network,
            interval=float(props.get("interval", 5)) * self._scale,
            timeout=float(props.get("timeout", 16)) * self._scale,
            up_interval=float(props.get("upInterval", 0)) * self._scale,
            time_until_up=float(props.get("timeUntilUp", 0)) * self._scale,
            manual_resume=props.get("manualResume") == "enabled", recv_disable=str(props.get("recvDisable") or ""),
            send=str(props.get("send") or ""), recv=str(props.get("recv") or ""),
            reverse=props.get("reverse") == "enabled", tls=_tls(engine, props),
        )  # fmt: skip


def _tls(engine: Engine, props: Mapping[str, Any]) -> TlsPlan | None:
    """The TLS settings of a monitor's server-ssl profile."""
    profile = engine.store.find(Target("profile", str(props.get("sslProfile") or "none")))
    return server_side(engine, engine.props(profile)) if profile is not None else None


def _affected(engine: Engine, key: Key, depth: int) -> Iterable[Key]:
    """Members and nodes whose probes may change with `key`."""
    store = engine.store
    if key.type in (MEMBERS, NODE):
        yield key
    if key.type == NODE:
        yield from store.users(Target(NODE, key.path))
    elif key.type == POOL:
        yield from (child.key for child in store.children(MEMBERS, key.path))
    elif depth < 10:
        family = next((family for start, family in FAMILIES.items() if key.type.startswith(start)), None)
        for user in list(store.users(Target(family, key.path))) if family is not None else ():
            yield from _affected(engine, user, depth + 1)

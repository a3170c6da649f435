"""Selection of the pool member for a new connection."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from icontrol_emulator.config.engine import Engine
from icontrol_emulator.config.model import Key, Obj
from icontrol_emulator.config.names import strip_domain
from icontrol_emulator.config.rules.pool import MEMBERS, NEEDS_LIMITS, member_endpoint, member_node
from icontrol_emulator.dataplane.counters import CounterBook
from icontrol_emulator.dataplane.limits import RateLimits
from icontrol_emulator.dataplane.persist import Found
from icontrol_emulator.dataplane.status import MemberStatus

SHARES_MAX = 10_000
BY_LOAD = ("least-", "fastest-", "observed-", "predictive-")
"""Methods that choose the least loaded member. The last three measure response times and trends on a device; here the
number of connections stands for them."""


def member_path(member: Obj) -> str:
    """The name under which a member's connections are counted."""
    return f"{member.key.parent} {member.key.path}"


def activated(free: Sequence[Obj], needed: int) -> list[Obj]:
    """The members of the active priority groups: from the highest down until `needed` members are available.

    A member counts in its group until it is known to be down, even if it refuses connections.
    """
    if needed <= 0:
        return list(free)
    chosen: list[Obj] = []
    for _, group in groupby(sorted(free, key=_group, reverse=True), key=_group):
        chosen += group
        if len(chosen) >= needed:
            break
    return chosen


def _group(member: Obj) -> int:
    return int(member.props.get("priorityGroup", 0))


def is_full(obj: Obj, current: int) -> bool:
    """Whether so many connections are as many as the object's limit allows (0: no limit)."""
    limit = int(obj.props.get("connectionLimit", 0))
    return 0 < limit <= current


def _rank(text: str, member: Obj) -> bytes:
    return hashlib.sha256(f"{text} {member.key.path}".encode()).digest()


def _rated(obj: Obj) -> str:
    return f"{obj.key.type} {member_path(obj)}"


def _rate_limit(obj: Obj) -> str:
    return str(obj.props.get("rateLimit", "disabled"))


class Balancer:
    def __init__(self, engine: Engine, status: MemberStatus, counters: CounterBook, rates: RateLimits) -> None:
        self._engine = engine
        self._status = status
        self._counters = counters
        self._rates = rates
        self._shares: dict[str, dict[Key, float]] = {}

    def choose(
        self, pool_path: str, tried: Collection[Key] = (), preferred: Found | None = None, hashed: str = ""
    ) -> Obj | None:
        """A member for a new connection: the preferred one while it is usable.

        Without it, the pool's method decides, or the hash of `hashed`, so that equal texts get the same member.
        """
        pool = self._engine.store.get(Key("ltm/pool", "", pool_path))
        if pool is None:
            return None
        if preferred is not None and preferred.member not in tried:
            kept = self._engine.store.get(preferred.member)
            if kept is not None and self._status.usable(kept) and (preferred.over_limit or self._has_room(kept)):
                return kept
        props = self._engine.props(pool)
        active = activated([each for each in self.members(pool_path) if self._free(each)], props["minActiveMembers"])
        members = [member for member in active if member.key not in tried]
        if not members:
            return None
        if hashed:
            return max(members, key=lambda member: _rank(hashed, member))
        return self._pick(pool_path, str(props["loadBalancingMode"]), members)

    def usable(self, pool_path: str) -> int:
        """The number of members that take new connections."""
        return sum(self._free(member) for member in self.members(pool_path))

    def is_full(self, pool_path: str) -> bool:
        """Whether members would take new connections if their limits allowed more, and none has room."""
        found = [member for member in self.members(pool_path) if self._status.open_to_new(member)]
        return bool(found) and not any(map(self._has_room, found))

    def members(self, pool_path: str) -> list[Obj]:
        return self._engine.store.children(MEMBERS, pool_path)

    def _free(self, member: Obj) -> bool:
        return self._has_room(member) and self._status.open_to_new(member)

    def _has_room(self, member: Obj) -> bool:
        """Whether the limits of the member and its node allow another connection."""
        if is_full(member, self._counters.peek("member", member_path(member)).current) or not self._in_time(member):
            return False
        node = member_node(self._engine, member)
        if node is None:
            return True
        return not is_full(node, self._counters.peek("node", node.key.path).current) and self._in_time(node)

    def _in_time(self, obj: Obj) -> bool:
        return self._rates.has_room(_rated(obj), _rate_limit(obj))

    def count(self, member: Obj) -> None:
        """Count a new connection towards the rate limits of the member and its node."""
        for obj in (member, member_node(self._engine, member)):
            if obj is not None:
                self._rates.count(_rated(obj), _rate_limit(obj))

    def _pick(self, pool_path: str, mode: str, members: list[Obj]) -> Obj:
        if mode.startswith(BY_LOAD) or "least-connections" in mode:
            loads = {member.key: self._load(member, mode) for member in members}
            least = min(loads.values())
            members = [member for member in members if loads[member.key] == least]
            weights = dict.fromkeys((member.key for member in members), 1.0)
        else:
            weights = {member.key: self._weight(member, mode) for member in members}
        return self._take_turns(pool_path, members, weights)

    def _take_turns(self, pool_path: str, members: list[Obj], weights: Mapping[Key, float]) -> Obj:
        """Smooth weighted round robin: each member's credit grows by its weight; the member with the most credit is
        chosen and pays the total weight."""
        if len(self._shares) >= SHARES_MAX:
            self._shares.clear()
        before = self._shares.get(pool_path, {})
        shares = {member.key: before.get(member.key, 0.0) + weights[member.key] for member in members}
        chosen = max(members, key=lambda member: shares[member.key])
        shares[chosen.key] -= sum(weights.values())
        self._shares[pool_path] = {**before, **shares}
        return chosen

    def _measured(self, member: Obj, mode: str) -> Obj:
        """The object that a method measures: the member or its node."""
        node = member_node(self._engine, member) if mode.endswith("node") else None
        return member if node is None else node

    def _weight(self, member: Obj, mode: str) -> float:
        """The share of connections: by `ratio`, by `dynamicRatio`, or of each the same."""
        if mode.startswith("dynamic-ratio"):
            return float(self._measured(member, mode).props.get("dynamicRatio", 1))
        return float(self._measured(member, mode).props.get("ratio", 1)) if mode.startswith("ratio") else 1.0

    def _load(self, member: Obj, mode: str) -> float:
        """Connections, of methods with weights in relation to the `ratio` or the `connectionLimit`."""
        measured = self._measured(member, mode)
        kind = "member" if measured.key.type == MEMBERS else "node"
        count = self._counters.peek(kind, member_path(member) if kind == "member" else measured.key.path).current
        if mode.startswith(NEEDS_LIMITS):
            return count / float(measured.props.get("connectionLimit", 0) or 1)
        return count / self._weight(member, mode)

    def node_path(self, member: Obj) -> str:
        node = member_node(self._engine, member)
        return node.key.path if node is not None else ""


def address_of(member: Obj) -> tuple[str, int]:
    return strip_domain(str(member.props["address"])), member_endpoint(member).port

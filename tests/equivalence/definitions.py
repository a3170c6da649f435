"""Service definitions as trees: parts are found by their ids, added, changed and removed; and what is wrong with one.

Addresses are those of :mod:`.site`: ``10.1.…`` of VIPs, ``10.2.…`` of members.
"""

import functools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from msgspec.structs import asdict, replace

from evenkeel.api.usecases import l7_rules, rules, tls_rules
from evenkeel.core.devices.capabilities import Capabilities, definition_problems, listener_pool_problems
from evenkeel.core.devices.service import (
    NO_VIP,
    ServiceCertificate,
    ServiceDefinition,
    ServiceL7Policy,
    ServiceL7Rule,
    ServiceListener,
    ServiceMember,
    ServiceMonitor,
    ServicePool,
)
from evenkeel.core.kit.errors import EvenKeelError, Invalid
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.attributes import fields_of
from evenkeel.core.resources.model import (
    L7_PROTOCOLS,
    L7_TARGETS,
    TLS_PROTOCOL,
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    Member,
    Pool,
    Vip,
)
from tests.certificates import by_sha256, referring
from tests.devices.l7_behaviour import OTHERS, PATHS
from tests.devices.tls_behaviour import NAMED
from tests.equivalence import values

PARTS: dict[type[Any], tuple[str, ...]] = {
    ServiceDefinition: ("listeners", "pools"),
    ServiceListener: ("l7policies",),
    ServiceL7Policy: ("rules",),
    ServicePool: ("members", "monitor"),
}
"""Class -> fields with parts that have ids of their own."""
KIND_OF: dict[type[Any], str] = {
    ServiceListener: "listener",
    ServicePool: "pool",
    ServiceMember: "member",
    ServiceMonitor: "monitor",
    ServiceL7Policy: "policy",
    ServiceL7Rule: "rule",
}
_ROWS: dict[type[Any], type[Any]] = {
    ServiceListener: Listener,
    ServicePool: Pool,
    ServiceMember: Member,
    ServiceMonitor: HealthMonitor,
    ServiceL7Policy: L7Policy,
    ServiceL7Rule: L7Rule,
}
PORTS = {"HTTP": (80, 81), "TCP": (82, 83), "HTTPS": (84,), "TERMINATED_HTTPS": (443, 444), "PROMETHEUS": (85,)}
"""Protocol of a listener -> its ports."""
POOL_PLACES = {1: (1, 2, 3), 2: (4, 5, 6)}
"""Number of a pool -> the places of its members' websites: who answers tells which pool it was."""
TLS_RULES = (
    ServiceL7Rule(id="", type="SSL_CONN_HAS_CERT", compare_type="EQUAL_TO", value="True"),
    ServiceL7Rule(id="", type="SSL_VERIFY_RESULT", compare_type="EQUAL_TO", value="0"),
    ServiceL7Rule(id="", type="SSL_DN_FIELD", compare_type="EQUAL_TO", value="client", key="CN"),
)
RULES = (*(case[0] for case in (*PATHS, *OTHERS)), *TLS_RULES)
"""Rules with values that requests of :mod:`.requests` match, and others do not."""
ADDITIONAL_VIP = "10.1.1.{number}"
POLICIES_MAX, RULES_MAX, LISTENERS_MAX = 3, 2, 3


# -- trees


def parts(one: Any) -> Iterator[tuple[str, Any]]:
    """Every part below an object, with its parent's id."""
    own = getattr(one, "id", "")
    for field in PARTS.get(type(one), ()):
        found = getattr(one, field)
        for part in found if isinstance(found, tuple) else (() if found is None else (found,)):
            yield own, part
            yield from parts(part)


def find(tree: Any, part_id: str) -> Any:
    """The part with this id; None if there is none."""
    return next((part for _, part in parts(tree) if part.id == part_id), None)


def edited(one: Any, part_id: str, edit: Callable[[Any], Any]) -> Any:
    """The tree with one of its parts edited; ``edit`` returns None to remove it."""
    changes: dict[str, Any] = {}
    for field in PARTS.get(type(one), ()):
        found = getattr(one, field)
        if isinstance(found, tuple):
            after = [edit(each) if each.id == part_id else edited(each, part_id, edit) for each in found]
            changes[field] = tuple(each for each in after if each is not None)
        elif found is not None:
            changes[field] = edit(found) if found.id == part_id else edited(found, part_id, edit)
    return replace(one, **changes) if changes else one


def added(tree: ServiceDefinition, parent_id: str, part: Any) -> ServiceDefinition:
    """The tree with one more part; of the whole tree, if ``parent_id`` is empty."""

    def with_it(parent: Any) -> Any:
        field = _field_for(type(parent), part)
        held = getattr(parent, field)
        return replace(parent, **{field: (*held, part) if isinstance(held, tuple) else part})

    made: ServiceDefinition = with_it(tree) if not parent_id else edited(tree, parent_id, with_it)
    return made


def _field_for(parent: type[Any], part: Any) -> str:
    fields = {
        ServiceListener: "listeners",
        ServicePool: "pools",
        ServiceL7Policy: "l7policies",
        ServiceL7Rule: "rules",
        ServiceMember: "members",
        ServiceMonitor: "monitor",
    }
    assert fields[type(part)] in PARTS[parent]
    return fields[type(part)]


CONTENTS = by_sha256(NAMED)
"""What references name, as devices are given it."""


@functools.cache
def _certificates() -> tuple[ServiceCertificate, ...]:
    nothing = ServiceDefinition(load_balancer_id=LoadBalancerId(""), project_id=ProjectId(""), revision=1, vip=NO_VIP)
    return referring(nothing, NAMED).certificates


def certified(tree: ServiceDefinition) -> ServiceDefinition:
    """The tree with what its references name."""
    return replace(tree, certificates=_certificates())


def deleted(tree: ServiceDefinition) -> ServiceDefinition:
    """The definition of a load balancer that is wanted no more."""
    return replace(tree, deleted=True, listeners=(), pools=())


# -- what is wrong with one


def problem(tree: ServiceDefinition, table: Capabilities, render: Callable[[ServiceDefinition], str]) -> str:
    """Why the API or the driver would refuse the tree; empty: neither does. ``render``: what the driver says."""
    found = next(definition_problems(table, tree), "") or _pair_problem(tree, table)
    if found:
        return found
    try:
        _check_by_the_apis_rules(tree)
    except EvenKeelError as error:
        return str(error)
    return render(certified(tree))


def _pair_problem(tree: ServiceDefinition, table: Capabilities) -> str:
    pools = {one.id: one for one in tree.pools}
    for listener in tree.listeners:
        for name in (listener.default_pool_id, *(each.redirect_pool_id for each in listener.l7policies)):
            if name is None:
                continue
            if name not in pools:
                return f"no pool {name}"
            pool = pools[name]
            for found in listener_pool_problems(table, listener.protocol, pool.protocol, pool.session_persistence):
                return found
    return ""


def _refuse_idle_attributes(one: ServiceMonitor | ServiceListener) -> None:
    """Refuse attributes that objects of this kind do not use. Seeds that are on record were drawn without them."""
    if isinstance(one, ServiceMonitor):
        idle = () if one.type in rules.HTTP_MONITORS else ("http_version", "domain_name")
    else:
        idle = () if one.protocol == TLS_PROTOCOL else tuple(tls_rules.SETTINGS)
    if used := [name for name in idle if getattr(one, name)]:
        raise Invalid(f"{one.id} does not use {', '.join(used)}")


def _check_by_the_apis_rules(tree: ServiceDefinition) -> None:
    rules.check_listener_ports([_row(one) for one in tree.listeners])
    for pool in tree.pools:
        rules.check_pool_rules(_row(pool))
        rules.check_members(_row(one) for one in pool.members)
        if pool.monitor is not None:
            rules.check_monitor_fits_pool(pool.protocol, pool.monitor.type)
            _refuse_idle_attributes(pool.monitor)
            rules.check_monitor(_row(pool.monitor))
    for listener in tree.listeners:
        _refuse_idle_attributes(listener)
        rules.check_listener(_row(listener), listener.insert_headers)
        if listener.l7policies:
            l7_rules.check_l7_listener(listener.protocol)
        for policy in listener.l7policies:
            l7_rules.check_l7policy(_row(policy))
            for rule in policy.rules:
                l7_rules.check_l7rule(_row(rule))


def _row(part: Any) -> Any:
    """The stored object, as far as it matters to rules."""
    row = _ROWS[type(part)]
    required = _required(row)
    given = {name: value for name, value in asdict(part).items() if name in row.__struct_fields__}
    given.update((name, "x") for name in required if name not in given)
    return row(**given)


@functools.cache
def _required(row: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, field in fields_of(row).items() if field.required)


# -- new ones


class Maker:
    """Makes parts with attributes at random. ``table``: of the device type."""

    def __init__(self, rng: Random, table: Capabilities) -> None:
        self._rng = rng
        self._table = table
        self._number = 0

    def name(self, kind: str) -> str:
        """An id that no other part has had."""
        self._number += 1
        return f"{kind}-{self._number}"

    def load_balancer(self, number: int, project: str) -> ServiceDefinition:
        """One with a listener, a pool, members and mostly a monitor; it may have problems."""
        pool = self.pool(number, 1)
        more = (ADDITIONAL_VIP.format(number=number),) if self._rng.random() < 0.2 else ()
        vip, *others = (
            Vip(address=address, subnet_id="s", network_id="n", port_id="p") for address in (f"10.1.0.{number}", *more)
        )
        tree = ServiceDefinition(
            load_balancer_id=LoadBalancerId(f"lb-{number}"),
            project_id=ProjectId(project),
            revision=1,
            vip=vip,
            pools=(pool,),
            additional_vips=tuple(others),
        )
        return added(tree, "", self.listener(tree))

    def listener(self, tree: ServiceDefinition) -> ServiceListener:
        """One more listener of the tree, mostly with a default pool."""
        rng = self._rng
        protocol = rng.choice([name for name in PORTS if name in self._table.protocol_pairs])
        behind = [one for one in tree.pools if one.protocol in self._table.protocol_pairs[protocol]]
        made = ServiceListener(
            id=self.name("listener"),
            protocol=protocol,
            protocol_port=rng.choice(PORTS[protocol]),
            default_pool_id=rng.choice(behind).id if behind else None,
            timeout_member_connect=200,
        )
        if protocol == "TERMINATED_HTTPS":
            made = replace(made, default_tls_container_ref="www", tls_versions=("TLSv1.2", "TLSv1.3"))
        made = self._varied(made, tree)
        policies = rng.choice((0, 0, 1, 2)) if protocol in L7_PROTOCOLS else 0
        return replace(made, l7policies=tuple(self.policy(tree, made) for _ in range(policies)))

    def pool(self, load_balancer: int, number: int) -> ServicePool:
        """One whose members' websites are those of this number."""
        rng = self._rng
        protocols = self._table.pool_protocols
        made = ServicePool(
            id=f"pool-{load_balancer}-{number}",
            # what most listeners can use, in half of all cases
            protocol=rng.choice(("HTTP", *protocols)) if rng.random() < 0.5 else "HTTP",
            lb_algorithm="ROUND_ROBIN",
        )
        made = self._varied(made, None)
        made = replace(
            made, members=tuple(self.member(made, place) for place in POOL_PLACES[number][: rng.randint(1, 3)])
        )
        return replace(made, monitor=self.monitor() if rng.random() < 0.7 else None)

    def member(self, pool: ServicePool, place: int) -> ServiceMember:
        """A member at this place."""
        made = ServiceMember(id=self.name("member"), address=f"10.2.0.{place}", protocol_port=8080)
        return self._varied(made, None)

    def monitor(self) -> ServiceMonitor:
        """A monitor of any type that the device has."""
        kind = self._rng.choice(self._table.health_monitor_types)
        over_http = {"http_method": "GET", "url_path": "/check", "expected_codes": "200"}
        made = ServiceMonitor(
            id=self.name("monitor"),
            type=kind,
            delay=1,
            timeout=1,
            max_retries=1,
            max_retries_down=1,
            **(over_http if kind in values.HTTP_MONITORS else {}),
        )
        return self._varied(made, None)

    def policy(self, tree: ServiceDefinition, listener: ServiceListener) -> ServiceL7Policy:
        """A policy with one rule."""
        made = ServiceL7Policy(id=self.name("policy"), action="REJECT", rules=(self.rule(),))
        return self._varied(replace(made, **self._action(tree)), tree)

    def rule(self) -> ServiceL7Rule:
        """A rule with values that some requests match."""
        kind = self._rng.choice(self._table.l7rule_types)
        known = [one for one in RULES if one.type == kind]
        return replace(self._rng.choice(known), id=self.name("rule"))

    def _varied(self, made: Any, tree: ServiceDefinition | None) -> Any:
        """The object with some of its attributes drawn."""
        names = values.attributes(KIND_OF[type(made)])
        for name in (name for name in names if self._rng.random() < 0.2):
            made = replace(made, **self.drawn(made, name, tree))
        return made

    # -- values

    def drawn(self, part: Any, name: str, tree: ServiceDefinition | None) -> dict[str, Any]:
        """New values of an attribute, and of those that go with it."""
        kind = KIND_OF[type(part)]
        if kind == "rule":
            other = self.rule()
            return {**asdict(other), "id": part.id} if name != "admin_state_up" else {name: self._rng.random() < 0.5}
        if (kind, name) == ("listener", "insert_headers"):
            return {name: values.headers(self._rng, part.protocol) if part.protocol in L7_PROTOCOLS else {}}
        if name in ("default_pool_id", "redirect_pool_id"):
            return {name: self._pool_id(tree)}
        if (kind, name) == ("member", "monitor_address"):
            place = part.address.rpartition(".")[2]
            return {name: self._rng.choice((None, values.CHECK_ADDRESSES.format(place=place)))}
        if (kind, name) == ("policy", "action"):
            return self._action(tree)
        each = ((other, values.values_of(kind, other)) for other in values.together(kind, name))
        return {other: self._rng.choice(found) for other, found in each if found}

    def _pool_id(self, tree: ServiceDefinition | None) -> str | None:
        return self._rng.choice((None, *(one.id for one in tree.pools))) if tree else None

    def _action(self, tree: ServiceDefinition | None) -> dict[str, Any]:
        action = self._rng.choice(self._table.l7policy_actions)
        drawn = dict.fromkeys(L7_TARGETS.values()) | {"redirect_http_code": None}
        target = L7_TARGETS.get(action)
        if target == "redirect_pool_id":
            drawn[target] = self._rng.choice(tree.pools).id if tree and tree.pools else None
        elif target is not None:
            drawn[target] = self._rng.choice(values.VALUES["policy", target])
            drawn["redirect_http_code"] = self._rng.choice(values.VALUES["policy", "redirect_http_code"])
        return {"action": action, **drawn}

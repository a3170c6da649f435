"""Load balancers that the kernel forwards, which ride along with histories: their edits are added to changes of the
others. One is for datagrams; the other for connections, which HAProxy forwards instead in some of its lives.

Each has random numbers of its own, so that the rest of a seed's history is the same with and without it. HAProxys have
their members too, to check them; what the kernel holds for them is compared as a ruleset, and connections are made.
"""

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

import msgspec

from evenkeel.core.devices.service import (
    ServiceDefinition,
    ServiceListener,
    ServiceMember,
    ServiceMonitor,
    ServicePool,
)
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.model import DataPath, SessionPersistence, Vip
from tests.equivalence.site import Site
from tests.haproxyd.layer4.lab import obstacle
from tests.haproxyd.layer4.libnftables import Libnftables, NftablesFailed

PLACES = (1, 2, 3)
ALIVE = (True,) * 5 + (False,)
BOUND = (None, SessionPersistence(type="SOURCE_IP"))
HTTP = {"http_method": "GET", "url_path": "/check", "expected_codes": "200"}
Values = Mapping[str, Mapping[str, tuple[Any, ...]]]


class Riding(NamedTuple):
    """What is drawn for one rider. ``name``: of its random numbers; ``number``: of the load balancer."""

    name: str
    number: int
    ports: tuple[int, ...]
    protocols: tuple[str, ...]
    data_paths: tuple[DataPath, ...]
    flows_max: tuple[int, ...]
    bound: tuple[SessionPersistence | None, ...]
    monitors: tuple[dict[str, Any], ...]

    @property
    def load_balancer_id(self) -> str:
        return f"lb-{self.number}"

    @property
    def pool_id(self) -> str:
        return f"pool-{self.number}-1"

    def values(self) -> Values:
        """Kind and attribute -> its values."""
        return {
            "listener": {
                "admin_state_up": ALIVE,
                "allowed_cidrs": ((), ("127.0.0.0/8",), ("10.0.0.0/8", "10.1.0.0/16")),
                "connection_limit": self.flows_max,
                "default_pool_id": (None, self.pool_id, self.pool_id),
                "protocol_port": self.ports,
            },
            "pool": {
                "admin_state_up": ALIVE,
                "lb_algorithm": ("ROUND_ROBIN", "SOURCE_IP", "SOURCE_IP_PORT"),
                "session_persistence": self.bound,
            },
            "member": {
                "admin_state_up": ALIVE,
                "backup": (False, False, True),
                "weight": (0, 1, 1, 2, 3, 256),
            },
        }


_OVER_TCP: tuple[dict[str, Any], ...] = ({"type": "TCP", "delay": 1}, {"type": "HTTP", "delay": 1})
DATAGRAMS = Riding(
    name="datagrams",
    number=3,
    ports=(53, 54),
    protocols=("UDP",),
    data_paths=("proxy",),
    flows_max=(-1, 5, 100),
    bound=(*BOUND, SessionPersistence(type="SOURCE_IP", persistence_timeout=60, persistence_granularity="255.255.0.0")),
    monitors=({"type": "UDP-CONNECT", "delay": 3}, *_OVER_TCP),
)
CONNECTIONS = Riding(
    name="connections",
    number=4,
    ports=(90, 91),
    protocols=("TCP", "HTTPS"),
    data_paths=("kernel", "kernel", "proxy"),
    # the kernel counts a connection until a while after its end
    flows_max=(-1, 2000, 3000),
    bound=BOUND,
    monitors=_OVER_TCP,
)
RIDINGS = (DATAGRAMS, CONNECTIONS)


class Rider:
    """Draws a load balancer and its changes. ``problem``: why a definition would be refused."""

    def __init__(self, riding: Riding, seed: str, problem: Callable[[ServiceDefinition], str]) -> None:
        self._riding = riding
        self._values = riding.values()
        self._rng = Random(f"{seed} {riding.name}")
        self._problem = problem
        self._number = 0

    def first(self) -> ServiceDefinition | None:
        """The load balancer in the beginning; None in some histories."""
        return self._new() if self._rng.random() < 0.7 else None

    def after(self, tree: ServiceDefinition | None) -> ServiceDefinition | None:
        """The load balancer after a change; the same object if nothing is changed."""
        if tree is None:
            return self._new() if self._rng.random() < 0.3 else None
        draw = self._rng.random()
        if draw < 0.4:
            return tree
        if draw < 0.45:
            return None
        changed = self._changed(tree)
        return tree if self._problem(changed) else changed

    def _name(self, kind: str) -> str:
        self._number += 1
        return f"{kind}-{self._riding.number}-d{self._number}"

    def _one_of(self, values: tuple[Any, ...]) -> Any:
        """One of the values; none is drawn if there is no choice, because histories are on record."""
        return values[0] if len(values) == 1 else self._rng.choice(values)

    def _new(self) -> ServiceDefinition:
        riding = self._riding
        path = self._one_of(riding.data_paths)
        # HAProxy waits so long before it tries a member again that refused; the kernel tries none again
        times = {"timeout_member_connect": 200} if riding is CONNECTIONS and path == "proxy" else {}
        listeners = tuple(self._listener(port, **times) for port in riding.ports[: self._rng.randint(1, 2)])
        places = PLACES[: self._rng.randint(1, 3)]
        pool = ServicePool(
            id=riding.pool_id,
            protocol=self._one_of(riding.protocols),
            members=tuple(map(self._member, places)),
            monitor=self._monitor(),
            **self._drawn("pool"),
        )
        return ServiceDefinition(
            load_balancer_id=LoadBalancerId(riding.load_balancer_id),
            project_id=ProjectId("project"),
            revision=1,
            vip=Vip(address=f"10.1.0.{riding.number}", subnet_id="s", network_id="n", port_id="p"),
            listeners=listeners,
            pools=(pool,),
            data_path=path,
        )

    def _drawn(self, kind: str) -> dict[str, Any]:
        return {name: self._rng.choice(found) for name, found in self._values[kind].items()}

    def _listener(self, port: int, **values: Any) -> ServiceListener:
        values = {**self._drawn("listener"), "protocol_port": port, **values}
        return ServiceListener(id=self._name("listener"), protocol=self._one_of(self._riding.protocols), **values)

    def _member(self, place: int) -> ServiceMember:
        return ServiceMember(
            id=self._name("member"), address=f"10.2.0.{place}", protocol_port=8080, **self._drawn("member")
        )

    def _monitor(self) -> ServiceMonitor | None:
        if self._rng.random() < 0.4:
            return None
        kind = self._rng.choice(self._riding.monitors)
        over_http = HTTP if kind["type"] == "HTTP" else {}
        times = {"timeout": 1, "max_retries": 1, "max_retries_down": 1}
        return ServiceMonitor(id=self._name("monitor"), **{**kind, **times, **over_http})

    def _changed(self, tree: ServiceDefinition) -> ServiceDefinition:
        """The load balancer with one thing changed."""
        rng, pool = self._rng, tree.pools[0]
        kind = rng.choice(("listener", "pool", "member", "members", "monitor"))
        if kind == "listener":
            number = rng.randrange(len(tree.listeners))
            changed = self._one_changed("listener", tree.listeners[number])
            return msgspec.structs.replace(tree, listeners=_with(tree.listeners, number, changed))
        if kind == "pool":
            return msgspec.structs.replace(tree, pools=(self._one_changed("pool", pool),))
        if kind == "monitor":
            return msgspec.structs.replace(tree, pools=(msgspec.structs.replace(pool, monitor=self._monitor()),))
        return msgspec.structs.replace(tree, pools=(msgspec.structs.replace(pool, members=self._members(kind, pool)),))

    def _members(self, kind: str, pool: ServicePool) -> tuple[ServiceMember, ...]:
        taken = {member.address for member in pool.members}
        free = [place for place in PLACES if f"10.2.0.{place}" not in taken]
        if kind == "member" and pool.members:
            number = self._rng.randrange(len(pool.members))
            return _with(pool.members, number, self._one_changed("member", pool.members[number]))
        if free and self._rng.random() < 0.6:
            return (*pool.members, self._member(self._rng.choice(free)))
        return pool.members[1:]

    def _one_changed(self, kind: str, part: Any) -> Any:
        name = self._rng.choice(sorted(self._values[kind]))
        return msgspec.structs.replace(part, **{name: self._rng.choice(self._values[kind][name])})


def _with(items: tuple[Any, ...], number: int, item: Any) -> tuple[Any, ...]:
    return (*items[:number], item, *items[number + 1 :])


# -- what the kernel holds

_BLOCK = re.compile(r"^\t(chain|set|map|counter) (\S+) \{\n(.*?)^\t\}$", re.DOTALL | re.MULTILINE)
_VIPS = tuple(f"10.1.0.{riding.number} " for riding in RIDINGS)
_ELEMENTS = re.compile(r"elements = \{(.*?)\}", re.DOTALL)


def possible() -> str:
    """Why there cannot be such load balancers here; empty: there can."""
    return obstacle()


def rules(table: str, partition: str, site: Site) -> dict[str, str]:
    """The kernel's objects of a partition by name, with the addresses of definitions; none without a table."""
    try:
        text = Libnftables().run(f"list table inet {table}")
    except NftablesFailed:
        return {}
    text = site.named(text.replace(f"-{partition}/", "-PARTITION/"))
    found: dict[str, str] = {}
    for kind, name, body in _BLOCK.findall(text):
        if kind in ("set", "map"):
            # shared maps have other partitions' elements, too; those of bound clients come with traffic
            every = [one.strip() for each in _ELEMENTS.findall(body) for one in each.split(",")]
            mine = [one for one in every if one.startswith(_VIPS) or "/" in one.partition(" : ")[0]]
            # one that is empty is there if the table is, and a table stays once it was needed
            if mine or "PARTITION" in name:
                found[f"{kind} {name}"] = ", ".join(sorted(mine))
        elif kind == "counter":
            if not name.startswith("is-") and "PARTITION" in name:
                found[f"{kind} {name}"] = ""
        elif "PARTITION" in name:
            found[f"{kind} {name}"] = " | ".join(line.strip() for line in body.splitlines())
    return found

"""Clients of Octavia for :mod:`tests.octavia.storm`: random operations, and what they leave as Octavia accepted it."""

import random
import time
import urllib.error
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.octavia.world import World

TENANTS_PROVIDERS = ("evenkeel", "evenkeel-noop")
"""Providers that tenants take in turn."""
OPERATION_SECONDS = 600.0
"""Within this time an operation is accepted, whatever is killed."""
Ask = Callable[[str], Any]
"""Decoded answer to a GET of a path."""
Members = dict[str, int]
"""Weight by address."""


@dataclass
class Pool:
    """A pool, its members and the type of its monitor."""

    id: str
    members: Members = field(default_factory=dict)
    monitor: str | None = None


@dataclass
class Tenant:
    """One client with a load balancer of its own, and all of it that Octavia has accepted. Objects are known by name:
    a request whose answer was lost may have been accepted.
    """

    world: World
    number: int
    seed: str
    id: str = ""
    name: str = ""
    listeners: dict[str, str] = field(default_factory=dict)
    """Id by name."""
    policies: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Name of the listener and id, by name."""
    pools: dict[str, Pool] = field(default_factory=dict)
    refused: int = 0
    done: dict[str, int] = field(default_factory=dict)
    """Number of accepted operations by kind."""
    _names: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(f"{self.seed} {self.number}")

    @property
    def provider(self) -> str:
        """Provider of the tenant's load balancer."""
        return TENANTS_PROVIDERS[self.number % len(TENANTS_PROVIDERS)]

    def work(self, operations: int) -> None:
        """Run so many operations that Octavia accepts, one after the other."""
        for _ in range(operations):
            self.operate()

    def operate(self) -> None:
        """Run one operation until Octavia has accepted it; the first creates the load balancer."""
        step = self._random.choice(self._possible()) if self.id else self._create
        step()
        self.done[step.__name__.strip("_")] = self.done.get(step.__name__.strip("_"), 0) + 1

    def _possible(self) -> list[Callable[[], None]]:
        steps = [self._rename, self._fail_over, self._add_pool]
        if len(self.listeners) < 3:
            steps += [self._add_listener] * 2
        if self.listeners:
            steps += [self._add_policy, self._remove_listener]
        if self.policies:
            steps.append(self._remove_policy)
        if self.pools:
            steps += [self._add_member, self._add_member, self._replace_members, self._remove_pool]
            steps.append(self._add_or_remove_monitor)
        if self._names > 12:
            steps.append(self._recreate)
        return steps

    # -- operations

    def _create(self) -> None:
        """Create a load balancer with everything below it in one request."""
        self.name = self._new_name("lb")
        listener, pool, member = self._new_name("listener"), self._new_name("pool"), self._new_member()
        monitor = {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
        default = {
            "name": pool,
            "protocol": "HTTP",
            "lb_algorithm": "ROUND_ROBIN",
            "healthmonitor": monitor,
            "members": [{"address": member, "protocol_port": 80}],
        }
        port = self._port(listener)
        body = {
            "name": self.name,
            "provider": self.provider,
            "vip_subnet_id": self.world.subnet_id,
            "listeners": [{"name": listener, "protocol": "HTTP", "protocol_port": port, "default_pool": default}],
        }
        self.id = self._made(
            "/loadbalancers", self.name, lambda: {"loadbalancer": {**body, "vip_address": self.world.address()}}
        )
        found = self._until(lambda: self._get(f"/listeners?name={listener}")["listeners"])
        self.listeners = {listener: found[0]["id"]}
        self.policies = {}
        self.pools = {pool: Pool(found[0]["default_pool_id"], {member: 1}, "TCP")}

    def _recreate(self) -> None:
        """Delete the load balancer with everything below it, and create another one."""
        self._gone(f"/loadbalancers/{self.id}", "?cascade=true")
        self._create()

    def _rename(self) -> None:
        self.name = self._new_name("lb")
        self._changed(f"/loadbalancers/{self.id}", {"loadbalancer": {"name": self.name}})

    def _fail_over(self) -> None:
        self._changed(f"/loadbalancers/{self.id}/failover", None)

    def _add_listener(self) -> None:
        name = self._new_name("listener")
        body = {"name": name, "loadbalancer_id": self.id, "protocol": "HTTP", "protocol_port": self._port(name)}
        if self.pools:
            body["default_pool_id"] = self._random.choice([*self.pools.values()]).id
        self.listeners[name] = self._made("/listeners", name, lambda: {"listener": body})

    def _remove_listener(self) -> None:
        name = self._random.choice([*self.listeners])
        self._gone(f"/listeners/{self.listeners.pop(name)}")
        self.policies = {each: policy for each, policy in self.policies.items() if policy[0] != name}

    def _add_policy(self) -> None:
        """Create an L7 policy and its rule; Octavia 19 answers 500 to a policy that brings its rules."""
        name, listener = self._new_name("policy"), self._random.choice([*self.listeners])
        body = {"name": name, "listener_id": self.listeners[listener], "action": "REJECT"}
        id = self._made("/l7policies", name, lambda: {"l7policy": body})
        rule = {"type": "PATH", "compare_type": "EQUAL_TO", "value": f"/{name}"}
        self._made(f"/l7policies/{id}/rules", rule["value"], lambda: {"rule": rule}, known_by="value")
        self.policies[name] = listener, id

    def _remove_policy(self) -> None:
        name = self._random.choice([*self.policies])
        self._gone(f"/l7policies/{self.policies.pop(name)[1]}")

    def _add_pool(self) -> None:
        name = self._new_name("pool")
        body = {"name": name, "loadbalancer_id": self.id, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
        self.pools[name] = Pool(self._made("/pools", name, lambda: {"pool": body}))

    def _remove_pool(self) -> None:
        name = self._random.choice([*self.pools])
        self._gone(f"/pools/{self.pools.pop(name).id}")

    def _add_member(self) -> None:
        pool, address = self._random.choice([*self.pools.values()]), self._new_member()
        path = f"/pools/{pool.id}/members"
        body = {"name": address, "address": address, "protocol_port": 80}
        self._made(path, address, lambda: {"member": body})
        pool.members[address] = 1

    def _replace_members(self) -> None:
        """Add, change and remove members in one request."""
        pool = self._random.choice([*self.pools.values()])
        kept = self._random.sample([*pool.members], len(pool.members) // 2)
        members = {**dict.fromkeys(kept, 5), self._new_member(): 2}
        rows = [{"address": address, "protocol_port": 80, "weight": weight} for address, weight in members.items()]
        self._changed(f"/pools/{pool.id}/members", {"members": rows})
        pool.members = members

    def _add_or_remove_monitor(self) -> None:
        pool = self._random.choice([*self.pools.values()])
        if pool.monitor is not None:
            row = self._until(lambda: self._get(f"/pools/{pool.id}")["pool"])
            self._gone(f"/healthmonitors/{row['healthmonitor_id']}")
            pool.monitor = None
            return
        name = self._new_name("monitor")
        body = {"name": name, "pool_id": pool.id, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}
        self._made("/healthmonitors", name, lambda: {"healthmonitor": body})
        pool.monitor = "HTTP"

    # -- requests

    def _new_name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}-{self.number}-{self._names}"

    def _new_member(self) -> str:
        self._names += 1
        return f"198.51.{100 + self.number}.{self._names % 250 + 1}"

    @staticmethod
    def _port(listener: str) -> int:
        return 20_000 + int(listener.rpartition("-")[2])

    def _made(self, path: str, name: str, body: Callable[[], Any], *, known_by: str = "name") -> str:
        """Id of a new object."""

        def attempt() -> str | None:
            kind = path.rpartition("/")[2]
            if found := self._get(f"{path}?{known_by}={name}")[kind]:
                return str(found[0]["id"])
            answer = self._sent("POST", path, body())
            return None if answer is None else str(next(iter(answer.values()))["id"])

        return self._until(attempt)

    def _changed(self, path: str, body: Any) -> None:
        """Change something; may be repeated."""
        self._until(lambda: self._sent("PUT", path, body) is not None)

    def _gone(self, path: str, query: str = "") -> None:
        """Delete something."""

        def attempt() -> bool:
            status, answer = self.world.octavia.request("GET", path)
            if status == 404:
                return True
            if status == 200 and next(iter(answer.values()))["provisioning_status"] == "PENDING_DELETE":
                return True
            return self._sent("DELETE", path + query, None) is not None

        self._until(attempt)

    def _get(self, path: str) -> Any:
        status, answer = self.world.octavia.request("GET", path)
        if status != 200:
            raise ValueError(f"{path}: {status} {answer}")
        return answer

    def _sent(self, method: str, path: str, body: Any) -> Mapping[str, Any] | None:
        """The answer; None if Octavia does not accept the request now."""
        status, answer = self.world.octavia.request(method, path, body)
        # 409: it is busy with the operation before; 5xx: what it needs is down. A listener or health monitor whose
        # transaction fails, for whatever reason, is answered with 400.
        is_down = status >= 500 or (status == 400 and "is not a valid option for" in answer["faultstring"])
        assert status < 300 or status == 409 or is_down, f"{method} {path}: {status} {answer}"
        return (answer or {}) if status < 300 else None

    def _until(self, attempt: Callable[[], Any]) -> Any:
        """What an attempt returns, repeated until that is true."""
        deadline = time.monotonic() + OPERATION_SECONDS
        problem = ""
        while time.monotonic() < deadline:
            try:
                if found := attempt():
                    return found
            except (urllib.error.URLError, OSError, ValueError) as error:
                problem = str(error)
            self.refused += 1
            time.sleep(0.3)
        raise AssertionError(f"tenant {self.number} was refused for too long: {problem}\n{self.world.logs()}")

    # -- comparisons

    def wanted(self) -> Any:
        """All that Octavia has accepted, in the form of :func:`shown`."""
        return {
            "name": self.name,
            "listeners": {name: self._port(name) for name in self.listeners},
            "policies": {name: f"/{name}" for name in self.policies},
            "pools": {name: (pool.members, pool.monitor) for name, pool in self.pools.items()},
            "not ACTIVE": [],
        }

    def differences_when_active(self) -> list[str]:
        """Wait until Octavia shows the load balancer as ACTIVE; return the :meth:`differences` that there are then."""

        def attempt() -> tuple[list[str]] | None:
            is_active = self._get(f"/loadbalancers/{self.id}")["loadbalancer"]["provisioning_status"] == "ACTIVE"
            return (self.differences(),) if is_active else None

        (found,) = self._until(attempt)
        return list(found)

    def differences(self) -> list[str]:
        """What Octavia, or the controllers, have otherwise than Octavia has accepted."""
        ours = self.world.cluster.client()
        places = {"Octavia": self._get, "controllers": lambda path: ours.get(f"/v2.0/lbaas{path}")}
        wanted = self.wanted()
        found = {where: shown(get, self.id) for where, get in places.items()}
        return [f"{where}: {has}, wanted: {wanted}" for where, has in found.items() if has != wanted]


def shown(get: Ask, id: str) -> Any:
    """A load balancer as an API shows it, in plain values by name."""
    root = get(f"/loadbalancers/{id}")["loadbalancer"]
    rows = [root]

    def all_of(kind: str, query: str) -> list[Any]:
        found: list[Any] = get(f"/{kind}?{query}")[kind.rpartition("/")[2]]
        rows.extend(found)
        return found

    listeners = all_of("listeners", f"loadbalancer_id={id}")
    policies = [row for each in listeners for row in all_of("l7policies", f"listener_id={each['id']}")]
    pools = {}
    for pool in all_of("pools", f"loadbalancer_id={id}"):
        members = {row["address"]: row["weight"] for row in all_of(f"pools/{pool['id']}/members", "")}
        monitors = [row["type"] for row in all_of("healthmonitors", f"pool_id={pool['id']}")]
        pools[pool["name"]] = members, next(iter(monitors), None)
    values = {row["name"]: all_of(f"l7policies/{row['id']}/rules", "")[0]["value"] for row in policies}
    return {
        "name": root["name"],
        "listeners": {row["name"]: row["protocol_port"] for row in listeners},
        "policies": values,
        "pools": pools,
        "not ACTIVE": [f"{row['id']} {row['provisioning_status']}" for row in rows if _waits(row)],
    }


def _waits(row: Mapping[str, Any]) -> bool:
    return row["provisioning_status"] != "ACTIVE"

"""Taking over amphorae: ended without warning at each step, repeated, and reversed."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from evenkeel_octavia.controllers import RequestRefused
from evenkeel_octavia.reports import MirroredStatus, ObjectStatus
from evenkeel_octavia.take_over import AmphoraTakeOver, TakenOverBalancer, TakeOverError
from evenkeel_octavia.trees import LoadBalancerTree, OctaviaSnapshot

LB, PORT, VIP, MORE = "lb-1", "vrrp-1", "203.0.113.5", "2001:db8::5"
OWN = {"ip_address": "198.51.100.7"}
PATIENCE = 0.3


class Killed(BaseException):
    """The process ends here: nothing of it runs any more."""


class World:
    """Octavia's database with our provider agent, Neutron and the controllers.

    ``kill_at``: number of the change after which, or negative before which, the process is killed.
    """

    def __init__(self) -> None:
        self.provider, self.status = "amphora", "ACTIVE"
        self.flavor = True
        self.busy = False
        self.pairs: list[Mapping[str, Any]] = [OWN, {"ip_address": VIP}, {"ip_address": "2001:DB8:0::5"}]
        self.security = True
        self.on_devices = False
        self.refuses = ""
        self.agent_runs = True
        self.device_away = False
        self.deleted_at = 0.0
        self.clock = 1.0
        self.changes, self.kill_at = 0, 0
        self.said: list[str] = []
        self.given_up: tuple[str, ...] = ()

    @contextlib.contextmanager
    def changing(self) -> Any:
        self.changes += 1
        if self.kill_at == -self.changes:
            raise Killed
        yield
        if self.kill_at == self.changes:
            raise Killed

    def agent(self) -> None:
        """What the provider agent does without this process."""
        if self.provider == "evenkeel" and self.status == "PENDING_UPDATE" and self.agent_runs:
            self.on_devices = not self.refuses
            self.status = "ERROR" if self.refuses else "ACTIVE"

    # as evenkeel_octavia.take_over.AmphoraDatabase

    def balancer(self, id: str) -> TakenOverBalancer | None:
        self.agent()
        return TakenOverBalancer(
            id=id,
            name="web",
            provider=self.provider,
            status=self.status,
            addresses=(VIP, MORE),
            amphorae={"a-1": PORT},
            has_flavor=self.flavor,
        )

    def trees(self, ids: Collection[str]) -> OctaviaSnapshot:
        self.clock += 1.0
        row = {"id": LB, "provisioning_status": self.status, "provider": self.provider, "enabled": True}
        row |= {"project_id": "p1", "name": "web", "description": None}
        flavor = {"loadbalancer_topology": "SINGLE"} if self.flavor else None
        return OctaviaSnapshot(seconds=self.clock, trees={LB: LoadBalancerTree(loadbalancer=row, flavor=flavor)})

    def change_provider(
        self, id: str, before: str, after: str, *, statuses: Collection[str], status: str, without_flavor: bool = False
    ) -> bool:
        with self.changing():
            if self.provider != before or self.status not in statuses:
                return False
            self.provider, self.status = after, status
            self.flavor = self.flavor and not without_flavor
        return True

    def set_busy(self, amphorae: Collection[str], busy: bool) -> None:
        with self.changing():
            self.busy = busy

    def give_up(self, amphorae: Collection[str]) -> None:
        with self.changing():
            self.given_up = tuple(amphorae)

    # as evenkeel_octavia.take_over.AmphoraPorts, without its name for reading

    def read_pairs(self, port_id: str) -> list[Mapping[str, Any]] | None:
        return list(self.pairs) if self.security else None

    def set_pairs(self, port_id: str, pairs: Sequence[Mapping[str, Any]]) -> None:
        with self.changing():
            self.pairs = list(pairs)

    # as evenkeel_octavia.mirror.Mirror

    def statuses(self, ids: Sequence[str]) -> dict[str, MirroredStatus]:
        if not self.on_devices:
            return {}
        own = ObjectStatus(provisioning="ACTIVE", operating="ONLINE")
        return {LB: MirroredStatus(digest="d", is_settled=True, objects={LB: own})}

    def snapshot_of(self, id: str) -> float | None:
        return 1.0 if self.on_devices else None

    def delete(self, id: str, environment: str, snapshot: float) -> None:
        with self.changing():
            self.on_devices = self.on_devices and self.device_away
            self.deleted_at = snapshot

    # what is asked

    def check(self, environment: str, body: Mapping[str, Any]) -> None:
        assert (environment, body["provider"]) == ("prod", "prod")
        if "flavor_data" in body:
            raise RequestRefused(400, "flavor_data: unknown key loadbalancer_topology")

    def work(self, **options: Any) -> AmphoraTakeOver:
        world: Any = self
        ports: Any = _Ports(self)
        given = {
            "without_flavor": True,
            "gone_seconds": PATIENCE,
            "provider": "evenkeel",
            "environment": "prod",
            **options,
        }
        return AmphoraTakeOver(world, ports, world, self.check, timeout_seconds=PATIENCE, say=self.said.append, **given)

    @property
    def state(self) -> tuple[str, str, bool, bool, bool]:
        """Provider, status, whether devices have it, whether the amphora speaks, whether it may be failed over."""
        return self.provider, self.status, self.on_devices, {"ip_address": VIP} in self.pairs, not self.busy


class _Ports:
    """Neutron of a world: ``pairs`` is a method there, and the state here."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.set_pairs = world.set_pairs

    def pairs(self, port_id: str) -> list[Mapping[str, Any]] | None:
        return self._world.read_pairs(port_id)


OVER = ("evenkeel", "ACTIVE", True, False, False)
BEFORE = ("amphora", "ACTIVE", False, True, True)
DEATHS = [each for number in range(1, 6) for each in (-number, number)]
"""Just before and just after each change that there may be."""


@pytest.fixture
def world() -> World:
    return World()


def test_load_balancer_becomes_ours_and_goes_back(world: World) -> None:
    assert "becomes one of provider evenkeel, without its flavor" in world.work().plan(LB)
    assert "speak again: a-1 (port vrrp-1)" in world.work().plan(LB, back=True)
    assert (world.state, world.changes) == (BEFORE, 0)
    assert world.work().take_over(LB) >= 0.0
    assert (world.state, world.pairs) == (OVER, [OWN])
    assert "already" in world.work().plan(LB)
    world.work().give_back(LB)
    assert world.state == BEFORE
    assert world.pairs == [OWN, {"ip_address": VIP}, {"ip_address": MORE}]
    assert world.deleted_at > 1.0


@pytest.mark.parametrize("at", DEATHS)
@pytest.mark.parametrize("way", ["take_over", "give_back"])
def test_killed_take_over_is_never_stuck_and_can_be_completed_or_reversed(world: World, at: int, way: str) -> None:
    world.kill_at = at
    with contextlib.suppress(Killed):
        world.work().take_over(LB)
    world.kill_at = 0
    world.agent()
    assert world.status == "ACTIVE"
    getattr(world.work(), way)(LB)
    assert world.state == (OVER if way == "take_over" else BEFORE)


@pytest.mark.parametrize("at", DEATHS)
@pytest.mark.parametrize("way", ["take_over", "give_back"])
def test_killed_way_back_is_never_stuck_and_can_be_completed_or_reversed(world: World, at: int, way: str) -> None:
    world.work().take_over(LB)
    world.kill_at = at + (world.changes if at > 0 else -world.changes)
    with contextlib.suppress(Killed):
        world.work().give_back(LB)
    world.kill_at = 0
    assert world.status == "ACTIVE"
    getattr(world.work(), way)(LB)
    assert world.state == (OVER if way == "take_over" else BEFORE)


@pytest.mark.parametrize(("refuses", "runs", "why"), [("no room", True, "refuse it"), ("", False, "does the provider")])
def test_take_over_is_reversed_if_our_devices_do_not_serve(world: World, refuses: str, runs: bool, why: str) -> None:
    world.refuses, world.agent_runs = refuses, runs
    with pytest.raises(TakeOverError, match=f"{why}.*everything is as before"):
        world.work().take_over(LB)
    assert world.state == BEFORE


def test_refused_take_over_changes_nothing(world: World) -> None:
    with pytest.raises(RequestRefused, match="unknown key loadbalancer_topology"):
        world.work(without_flavor=False).take_over(LB)
    world.security = False
    with pytest.raises(TakeOverError, match="port security is off at port vrrp-1 of amphora a-1"):
        world.work().take_over(LB)
    world.security, world.status = True, "PENDING_UPDATE"
    with pytest.raises(TakeOverError, match="is PENDING_UPDATE, not ACTIVE"):
        world.work().take_over(LB)
    world.status, world.provider = "ACTIVE", "ovn"
    with pytest.raises(TakeOverError, match="is of provider ovn"):
        world.work().give_back(LB)
    assert world.changes == 0


def test_amphorae_are_given_up_only_by_a_load_balancer_that_was_taken_over(world: World) -> None:
    with pytest.raises(TakeOverError, match="it is not taken over"):
        world.work().finish(LB)
    assert world.state == BEFORE
    world.work().take_over(LB)
    assert world.work().finish(LB) == ("a-1",) == world.given_up
    assert world.state == OVER


def test_amphorae_stay_silent_while_our_devices_have_it(world: World) -> None:
    world.work().take_over(LB)
    world.device_away = True
    with pytest.raises(TakeOverError, match="have not lost it"):
        world.work().give_back(LB)
    assert world.state[3] is False
    world.device_away = False
    world.work().give_back(LB)
    assert world.state == BEFORE

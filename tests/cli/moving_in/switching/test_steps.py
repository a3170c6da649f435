"""The steps of a switch-over, ended without warning at each of them, and repeated."""

import contextlib
from collections.abc import Mapping
from typing import Any

import pytest

from evenkeel.cli.client import ApiRefused
from evenkeel.cli.moving_in.switching.evenkeel_api import EvenKeelApi, EvenKeelLoadBalancer
from evenkeel.cli.moving_in.switching.source import AmphoraSource, SourceProblem
from evenkeel.cli.moving_in.switching.steps import LoadBalancerSwitch, SwitchFailed, SwitchSettings, finish_switch

LB, PORT, VIP_PORT, VIP, OTHER_VIP = "lb-1", "vrrp-1", "vip-1", "203.0.113.5", "2001:db8::5"
PATIENCE = 0.5


class Killed(BaseException):
    """The process ends here: nothing of it runs any more."""


class World:
    """Octavia, Neutron and our API behind one client. ``kill_at``: number of the change after which it is killed."""

    def __init__(self) -> None:
        self.held = True
        self.status = "ACTIVE"
        self.refuses = ""
        self.binding = ""
        self.source_there = True
        self.pairs: list[dict[str, Any]] = [{"ip_address": "198.51.100.7"}, {"ip_address": VIP}]
        self.pairs += [{"ip_address": "2001:DB8:0::5"}]
        self.security = True
        self.owner = "Octavia"
        self.port_deleted = False
        self.changes = 0
        self.kill_at = 0
        self.said: list[str] = []

    # as evenkeel.cli.client.Client

    def get(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        if path == f"/v2.0/lbaas/loadbalancers/{LB}":
            if not self.source_there:
                raise ApiRefused(404, "gone")
            return {"loadbalancer": {"provisioning_status": "ACTIVE"}}
        if path.endswith("/amphorae"):
            row = {"id": "a-1", "loadbalancer_id": LB, "status": "ALLOCATED", "vrrp_port_id": PORT}
            return {"amphorae": [row, row | {"id": "a-0", "status": "DELETED"}] if self.source_there else []}
        if path.endswith("/agent"):
            status = self.status
            self.status = "ERROR" if self.refuses and not self.held else "ACTIVE"
            reason = self.refuses or "waits"
            told = {"held": self.held, "provisioning_status": status, "status_reason": reason, "environment": "e"}
            return {"hosting": told}
        if path.endswith(PORT):
            port = {"id": PORT, "port_security_enabled": self.security, "allowed_address_pairs": self.pairs}
            return {"port": port}
        if self.port_deleted:
            raise ApiRefused(404, "gone")
        return {"port": {"id": VIP_PORT, "device_owner": self.owner, "binding:host_id": self.binding}}

    def put(self, path: str, body: Any = None) -> Any:
        self._changing()
        if path.endswith("/held"):
            self.status = "ACTIVE" if self.held == body["held"] else "PENDING_UPDATE"
            self.held = body["held"]
        elif path.endswith(PORT):
            self.pairs = list(body["port"]["allowed_address_pairs"])
        else:
            self.owner = body["port"]["device_owner"]
        self._changed()

    def delete(self, path: str, query: Mapping[str, Any] | None = None) -> None:
        self._changing()
        self.source_there = False
        self.port_deleted = self.owner == "Octavia"
        self._changed()

    def _changing(self) -> None:
        self.changes += 1
        if self.kill_at == -self.changes:
            raise Killed

    def _changed(self) -> None:
        if self.kill_at == self.changes:
            raise Killed

    @property
    def speaks(self) -> list[str]:
        return [each["ip_address"] for each in self.pairs]

    def switch(self, refresh: Any = None) -> LoadBalancerSwitch:
        client: Any = self
        settings = SwitchSettings(timeout_seconds=PATIENCE, probes=False)
        return LoadBalancerSwitch(
            EvenKeelApi(client),
            AmphoraSource(client, client),
            BALANCER,
            settings,
            say=self.said.append,
            refresh=refresh or (lambda _: 0),
        )

    def finish_switch(self) -> None:
        client: Any = self
        finish_switch(
            EvenKeelApi(client), AmphoraSource(client, client), BALANCER, timeout_seconds=PATIENCE, say=self.said.append
        )


BALANCER = EvenKeelLoadBalancer(id=LB, name="web", addresses=(VIP, OTHER_VIP), port_id=VIP_PORT, tcp_port=80)


@pytest.fixture
def world() -> World:
    return World()


DEATHS = [each for number in range(1, 4) for each in (-number, number)]
"""Just before and just after each change that there may be."""


def test_addresses_are_taken_from_the_pairs_and_put_back(world: World) -> None:
    refreshed: list[str] = []
    assert world.switch(refreshed.append).switch_over() is None
    assert (world.held, world.speaks, refreshed) == (False, ["198.51.100.7"], [LB])
    assert world.switch().switch_back() is None
    assert (world.held, world.speaks) == (True, ["198.51.100.7", VIP, OTHER_VIP])


@pytest.mark.parametrize("at", DEATHS)
def test_a_killed_switch_over_goes_on_when_it_is_repeated_or_goes_back(at: int) -> None:
    for way in ("switch_over", "switch_back"):
        world = World()
        world.kill_at = at
        with contextlib.suppress(Killed):
            world.switch().switch_over()
        world.kill_at = 0
        getattr(world.switch(), way)()
        assert (world.held, VIP in world.speaks) == ((False, False) if way == "switch_over" else (True, True))


@pytest.mark.parametrize("at", DEATHS)
def test_a_killed_way_back_goes_on_when_it_is_repeated(world: World, at: int) -> None:
    world.switch().switch_over()
    world.kill_at = at + (world.changes if at > 0 else -world.changes)
    with contextlib.suppress(Killed):
        world.switch().switch_back()
    world.kill_at = 0
    world.switch().switch_back()
    assert (world.held, VIP in world.speaks) == (True, True)


def test_switch_over_goes_back_by_itself_when_devices_refuse(world: World) -> None:
    world.refuses = "out of memory"
    with pytest.raises(SwitchFailed, match="our devices refuse it: out of memory; it went back to the amphora"):
        world.switch().switch_over()
    assert (world.held, VIP in world.speaks) == (True, True)


def test_amphora_does_not_speak_while_our_devices_or_the_port_are_not_free(world: World) -> None:
    world.switch().switch_over()
    world.binding = "host-1"
    with pytest.raises(SwitchFailed, match="still bound to our devices' host"):
        world.switch().switch_back()
    assert VIP not in world.speaks


def test_nothing_is_changed_without_port_security_or_amphorae(world: World) -> None:
    world.security = False
    with pytest.raises(SourceProblem, match="port security is off"):
        world.switch().switch_over()
    world.source_there = False
    with pytest.raises(SourceProblem, match="no amphora"):
        world.switch().switch_over()
    assert (world.held, world.changes) == (True, 0)


@pytest.mark.parametrize("at", DEATHS)
def test_a_finished_one_keeps_its_port_with_its_owner(at: int) -> None:
    world = World()
    with pytest.raises(SwitchFailed, match="it is not switched over"):
        world.finish_switch()
    world.switch().switch_over()
    world.kill_at = at + (world.changes if at > 0 else -world.changes)
    with contextlib.suppress(Killed):
        world.finish_switch()
    world.kill_at = 0
    world.finish_switch()
    assert (world.source_there, world.port_deleted, world.owner) == (False, False, "Octavia")

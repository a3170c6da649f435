"""One agent is active; another one takes over when its lease has ended, or was given up."""

from collections.abc import Iterator

import pytest

from evenkeel_octavia.controllers import ControllersClient
from evenkeel_octavia.leases import EnvironmentLeases
from evenkeel_octavia.mirror import ControllersMirror
from evenkeel_octavia.settings import ControllersEndpoint
from octavia_tests.fake_controller import FakeController, served


class Rivals:
    """Two hosts' leases of one environment, by a clock that moves only when told."""

    def __init__(self, url: str, controller: FakeController) -> None:
        self.controller = controller
        self.now = 100.0
        self.clients = [ControllersClient(ControllersEndpoint(urls=(url,))) for _ in range(2)]
        self.first, self.second = (self._leases(client, name) for client, name in zip(self.clients, "ab", strict=True))

    def _leases(self, client: ControllersClient, holder: str) -> EnvironmentLeases:
        mirror = ControllersMirror(client, seconds=2.0)
        return EnvironmentLeases(mirror, ["prod"], holder=holder, seconds=5.0, now=lambda: self.now)


@pytest.fixture
def rivals() -> Iterator[Rivals]:
    controller = FakeController()
    with served(controller) as url:
        made = Rivals(url, controller)
        yield made
        for client in made.clients:
            client.close()


def test_second_agent_stands_by_while_the_first_renews(rivals: Rivals) -> None:
    rivals.first.renew()
    rivals.second.renew()
    assert rivals.first.is_held("prod") and not rivals.second.is_held("prod")


def test_lease_ends_by_the_own_clock_without_a_controller(rivals: Rivals) -> None:
    rivals.first.renew()
    rivals.controller.refusals["PUT /lease"] = (503, "down")
    rivals.now += 4.9
    rivals.first.renew()
    assert rivals.first.is_held("prod")
    rivals.now += 0.2
    assert not rivals.first.is_held("prod")


def test_lease_that_is_given_up_is_taken_at_once(rivals: Rivals) -> None:
    rivals.first.renew()
    rivals.first.stop()
    rivals.second.renew()
    assert rivals.second.is_held("prod")


def test_lease_of_an_agent_that_is_gone_is_taken_when_it_has_ended(rivals: Rivals) -> None:
    rivals.first.renew()
    rivals.controller.lease_until = 0.0
    rivals.second.renew()
    assert rivals.second.is_held("prod")


def test_agent_whose_lease_ended_while_it_stood_still_logs_that_it_stands_by(
    rivals: Rivals, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="evenkeel_octavia.leases")
    rivals.first.renew()
    rivals.first.renew()
    rivals.now += 5.1
    rivals.controller.lease_until = 0.0
    rivals.second.renew()
    rivals.first.renew()
    assert caplog.messages == [
        "this agent is active for environment prod",
        "this agent is active for environment prod",
        "this agent is standing by for environment prod",
    ]

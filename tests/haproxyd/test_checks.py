"""What is taken of a load balancer before HAProxy sees it."""

from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.checks import problem_of
from evenkeel.haproxyd.settings import DaemonSettings

SETTINGS = DaemonSettings(name="host-1", state_dir=Path("/nowhere"), run_dir=Path("/nowhere"))


def balancer(**changes: object) -> wire.LoadBalancer:
    return wire.LoadBalancer(**{"id": "lb", "revision": 1, **changes})


def pinged_at(address: str) -> wire.LoadBalancer:
    server = wire.Server(name="s", address="192.0.2.1", port=80, ping_address=address)
    return balancer(backends=(wire.Backend(name="b", servers=(server,)),))


def test_a_note_has_a_limit() -> None:
    assert problem_of(balancer(note="n" * 65_536), SETTINGS) == ""
    assert (
        problem_of(balancer(note="n" * 65_537), SETTINGS) == "note: 65537 characters given; at most 65536 are allowed"
    )


@pytest.mark.parametrize("address", ["192.0.2.9", "2001:db8::9"])
def test_echoes_may_go_to_any_address(address: str) -> None:
    assert problem_of(pinged_at(address), SETTINGS) == ""


@pytest.mark.parametrize("address", ["", "x", "192.0.2.9:80", "fe80::1%eth0"])
def test_echoes_go_to_nothing_but_an_address(address: str) -> None:
    problem = problem_of(pinged_at(address), SETTINGS)
    assert "backend b: server s: ping_address: address is" in problem

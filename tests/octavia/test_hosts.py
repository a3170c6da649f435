"""An Octavia with two API hosts: one is lost, and one is frozen, while clients write.

A frozen host executes requests that it has already read when it thaws, whatever their clients did since then; that is
so with every provider. Therefore clients are at the other host before one is frozen. Reports that its driver-agent has
taken are such requests, too: it is frozen when there is none.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.hosts import Client, Hosts
from tests.octavia.tenants import Tenant
from tests.octavia.world import PROVIDERS, World, octavia_host
from tests.services.octavia import Octavia

pytestmark = IN_OCTAVIA
ENVIRONMENT = PROVIDERS["evenkeel"]
NUMBERS = (0, 2)
"""Tenants of the provider ``evenkeel``."""
LIMIT_SECONDS = 120.0
QUIET_SECONDS = 60.0
REPORT_SECONDS = 20.0
"""Time in which driver-agent makes a report on a busy machine."""


@pytest.fixture(scope="module")
def hosts(world: World) -> Iterator[Hosts]:
    """The world's host and a second one, with the same database."""
    second = octavia_host(world.octavia.venv, world.cluster, world.octavia.database)
    try:
        second.register_providers()
        second.start()
        yield Hosts((world.octavia, second))
    finally:
        second.close()


@contextlib.contextmanager
def clients(world: World, hosts: Hosts) -> Iterator[Sequence[Client]]:
    """Clients that write until the block ends; then nothing is lost, PENDING or different."""
    seed = str(time.time_ns())
    started = [Client(Tenant(world.through(hosts), number, seed)) for number in NUMBERS]
    for client in started:
        client.start()
    try:
        yield started
    finally:
        for client in started:
            client.end()
    wait_until(world, lambda: world.pending() == [], QUIET_SECONDS)
    for client in started:
        assert client.differences == [], seed
        assert client.tenant.differences() == [], seed
        world.ask("DELETE", f"/loadbalancers/{client.tenant.id}?cascade=true")
    for client in started:
        assert world.settled(client.tenant.id) == "DELETED", world.logs()


def wait_until(world: World, condition: Callable[[], bool], seconds: float = LIMIT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, world.logs()
        time.sleep(0.2)


def wait_for_operations(world: World, clients: Sequence[Client], count: int = 4) -> None:
    """Wait until clients have done so many operations more. A frozen host may have locked the rows of one of them."""
    wanted = sum(client.operations for client in clients) + count
    wait_until(world, lambda: sum(client.operations for client in clients) >= wanted)


def active_host(world: World, hosts: Hosts) -> Octavia:
    """The host whose provider agent has the lease."""
    wait_until(world, lambda: sum(host.is_active(ENVIRONMENT) for host in hosts.hosts) == 1)
    return next(host for host in hosts.hosts if host.is_active(ENVIRONMENT))


def freeze(world: World, host: Octavia) -> None:
    """Freeze the active host when its driver-agent has no report under way."""

    def is_frozen() -> bool:
        workers = host.agent_processes()["worker"]
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        with contextlib.suppress(AssertionError):
            wait_until(world, lambda: not host.report_processes(), REPORT_SECONDS)
            host.signal_all(signal.SIGSTOP)
            return True
        for worker in workers:  # it stands still in the middle of sending one
            os.kill(worker, signal.SIGCONT)
        return False

    wait_until(world, is_frozen)


def other_host(hosts: Hosts, one: Octavia) -> Octavia:
    return next(host for host in hosts.hosts if host is not one)


def test_nothing_is_lost_or_pending_when_the_host_of_the_active_agent_is_killed_whole(
    world: World, hosts: Hosts
) -> None:
    lost = active_host(world, hosts)
    other = other_host(hosts, lost)
    with clients(world, hosts) as writing:
        wait_for_operations(world, writing)
        lost.signal_all(signal.SIGKILL)
        with hosts.without(lost):
            wait_until(world, lambda: other.is_active(ENVIRONMENT))
            wait_for_operations(world, writing)
            lost.start()
        wait_for_operations(world, writing)


def test_host_that_thaws_reports_nothing_that_contradicts_the_agent_that_took_over(world: World, hosts: Hosts) -> None:
    frozen = active_host(world, hosts)
    other = other_host(hosts, frozen)
    with clients(world, hosts) as writing:
        wait_for_operations(world, writing)
        with hosts.without(frozen):
            freeze(world, frozen)
            try:
                wait_until(world.through(other), lambda: other.is_active(ENVIRONMENT))
                wait_for_operations(world, writing)
            finally:
                frozen.signal_all(signal.SIGCONT)
            wait_until(world, lambda: not frozen.is_active(ENVIRONMENT))
            wait_for_operations(world, writing)
        wait_for_operations(world, writing)

"""Three environments under one stock Octavia: the real command line, traffic, and agents that are killed."""

import asyncio
import itertools
import threading
from collections.abc import Iterator

import pytest

from tests.api.client_stories.step import COMMANDS, Story, run
from tests.octavia import commands
from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.front import front
from tests.octavia.sites import HOSTS, all_sites
from tests.octavia.world import PROVIDERS, World, page_at
from tests.waiting import until

pytestmark = IN_OCTAVIA
PORTS = itertools.count(18_100)
SERVED = ("evenkeel", "evenkeel-noop", "evenkeel-bigip")
CARRYING = ("evenkeel", "evenkeel-bigip")


@pytest.fixture(scope="module")
def sites(world: World) -> Iterator[World]:
    with all_sites(world):
        yield world


@pytest.fixture(scope="module")
def endpoint(sites: World) -> Iterator[str]:
    with front(sites.octavia.url, sites.cluster.controllers[0]) as url:
        yield url


def given(world: World, provider: str) -> dict[str, str]:
    """What command lines name."""
    web1, web2 = world.cluster.backend_ports[:2]
    place = {"subnet": world.subnet_id, "address": world.address(), "port": str(next(PORTS))}
    return {"provider": provider, **place, "web1": str(web1), "web2": str(web2)}


def tell(world: World, endpoint: str, story: Story, kept: dict[str, str]) -> None:
    for step in story:
        run(endpoint, step, kept)
        if "--wait" in step.options:
            # the client waits for the object alone, and Octavia writes its load balancer after it, in a transaction of
            # its own, for its own driver's objects too: until then the next command would be refused as immutable
            assert world.settled(kept["root"]) in ("ACTIVE", "DELETED"), step.line


def test_every_command_of_the_client_is_tried() -> None:
    stories = (commands.SITE, commands.READ, commands.CHANGE, commands.REMOVE, commands.ADMINISTRATION)
    assert set(COMMANDS) - {step.command for step in itertools.chain(*stories)} == set()


@pytest.mark.parametrize("provider", SERVED)
def test_every_command_of_tenants_does_what_it_says(sites: World, endpoint: str, provider: str) -> None:
    kept = given(sites, provider)
    tell(sites, endpoint, commands.SITE, kept)
    if provider in CARRYING:
        url = f"http://{kept['address']}:{kept['port']}"
        until(lambda: {page_at(f"{url}/").strip() for _ in range(4)} == {"backend-1", "backend-2"})
        assert page_at(f"{url}/no") == ""
    for story in (commands.READ, commands.CHANGE, commands.REMOVE):
        tell(sites, endpoint, story, kept)
    assert sites.mirrored(kept["root"]) is None


@pytest.mark.parametrize("provider", SERVED)
def test_every_command_of_administrators_does_what_it_says(sites: World, endpoint: str, provider: str) -> None:
    tell(sites, endpoint, commands.ADMINISTRATION, given(sites, provider))


class Visitor:
    """Asks for a page again and again until it is told to stop."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._visit, daemon=True)
        self.answered = self.failed = 0

    def __enter__(self) -> "Visitor":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _visit(self) -> None:
        while not self._ended.wait(0.02):
            if page_at(self._url):
                self.answered += 1
            else:
                self.failed += 1


@pytest.mark.parametrize("provider", SERVED)
def test_killed_agent_is_taken_over_and_no_request_fails(sites: World, endpoint: str, provider: str) -> None:
    kept = given(sites, provider)
    tell(sites, endpoint, commands.SITE, kept)
    url = f"http://{kept['address']}:{kept['port']}/"
    if provider in CARRYING:
        until(lambda: page_at(url) != "")
        with Visitor(url) as visitor:
            kill_each_agent(sites, provider, kept["root"])
        assert visitor.failed == 0 and visitor.answered > 0
    else:
        kill_each_agent(sites, provider, kept["root"])
    sites.ask("DELETE", f"/loadbalancers/{kept['root']}?cascade=true")
    assert sites.settled(kept["root"]) == "DELETED"


def kill_each_agent(world: World, provider: str, id: str) -> None:
    """One of them has the load balancer: only the other can apply what is changed while it is dead."""
    for host in HOSTS[PROVIDERS[provider]]:
        world.cluster.kill(f"agent-{host}")
        world.change(id, "PUT", f"/loadbalancers/{id}", {"loadbalancer": {"description": f"without {host}"}})
        asyncio.run(world.cluster.start_again(f"agent-{host}"))

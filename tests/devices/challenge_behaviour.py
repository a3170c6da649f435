"""What clients get to see of challenges of a certificate authority, whatever the device: the tests of each driver run
this unchanged.

A driver's tests subclass :class:`ChallengeBehaviour` and give a fixture ``site``: a device with a data plane.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceL7Policy
from tests.devices.enhanced_behaviour import header
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Clients, Server, Site, members
from tests.devices.services import listener, policy, pool, rule, service

TOKEN, CONTENT = "a-Token_1", "a-Token_1.thumb-Print_of_the_account"
PATH = f"/.well-known/acme-challenge/{TOKEN}"
CHALLENGES = {TOKEN: CONTENT, "another": "another.thumb"}
ALL_CAPABILITIES = rule(1, value="/")
MATCHING_REGEX = rule(1, compare_type="REGEX", value="/.*")


def away(one: Any) -> ServiceL7Policy:
    return policy(1, one, action="REDIRECT_TO_URL", redirect_url="https://other.test/")


COVERING = {
    "rejects": policy(1, ALL_CAPABILITIES),
    "redirects": away(ALL_CAPABILITIES),
    "redirects_by_regex": away(MATCHING_REGEX),
    "redirects_the_prefix": policy(1, ALL_CAPABILITIES, action="REDIRECT_PREFIX", redirect_prefix="https://other.test"),
}
"""L7 policies that cover every path, by what they do."""


class ChallengeClients(Clients):
    """An authority that validates, and a client, at one load balancer."""

    async def serve(self, server: Server, challenges: Mapping[str, str] = CHALLENGES, **changes: Any) -> None:
        """A listener that answers these challenges before the server."""
        await self.apply(
            service(
                listeners=(listener(**changes),),
                pools=(pool(members=members((server,)), monitor=None),),
                challenges=dict(challenges),
            )
        )

    async def serve_without_http(self, *ports: int, challenges: Mapping[str, str] = CHALLENGES) -> None:
        """Listeners of TCP on these ports only, without members."""
        await self.apply(
            service(
                listeners=tuple(
                    listener(number, protocol="TCP", protocol_port=port, default_pool_id=None)
                    for number, port in enumerate(ports, start=1)
                ),
                pools=(),
                challenges=dict(challenges),
            )
        )

    async def get(self, path: str) -> tuple[str, str, str]:
        """Status code, type and body of a response; empty if the connection was refused."""
        head, body = await ask(self.site.place(VIP, 80), path)
        types = header(head, "Content-Type")
        return (head.split(" ")[1] if head else ""), (types[0] if types else ""), body


ANSWERED = ("200", "application/octet-stream", CONTENT)


class ChallengeBehaviour:
    """Unchanged for every driver."""

    @pytest.fixture
    def clients(self, site: Site) -> ChallengeClients:
        return ChallengeClients(site)

    @pytest.fixture
    async def server(self) -> AsyncIterator[Server]:
        made = Server("member-1-1")
        await made.start()
        yield made
        await made.stop()

    async def test_challenges_alone_are_answered_and_only_while_there_are_any(
        self, clients: ChallengeClients, server: Server
    ) -> None:
        await clients.serve(server)
        assert await clients.get(PATH) == ANSWERED
        assert await clients.get(f"{PATH}?a=b") == ANSWERED
        for other in ("/", f"{PATH}1", PATH[:-1], PATH.rpartition("/")[0] + "/", f"/a{PATH}"):
            assert (await clients.get(other))[2] == "member-1-1", other
        await clients.serve(server, {})
        assert (await clients.get(PATH))[2] == "member-1-1"

    @pytest.mark.parametrize("covering", COVERING.values(), ids=list(COVERING))
    async def test_l7_policies_that_cover_the_path_do_not_see_challenges(
        self, clients: ChallengeClients, server: Server, covering: ServiceL7Policy
    ) -> None:
        await clients.serve(server, l7policies=(covering,))
        assert await clients.get(PATH) == ANSWERED
        assert (await clients.get(f"{PATH}1"))[0] in ("302", "403")
        await clients.serve(server, {}, l7policies=(covering,))
        assert (await clients.get(PATH))[0] in ("302", "403")

    async def test_load_balancer_without_a_listener_on_port_80_answers_challenges_and_nothing_else(
        self, clients: ChallengeClients
    ) -> None:
        await clients.serve_without_http(8443)
        assert await clients.get(PATH) == ANSWERED
        assert [(await clients.get(path))[0] for path in ("/", f"{PATH}1")] == ["404", "404"]
        found = await clients.site.observe()
        assert {one.id for one in found.statuses if one.kind == "listener"} == {"listener-1"}
        assert {one.listener_id for one in found.statistics} == {"listener-1"}
        await clients.serve_without_http(8443, challenges={})
        assert (await clients.get(PATH))[0] == ""

    async def test_port_80_of_a_tcp_listener_stays_its_own(self, clients: ChallengeClients) -> None:
        await clients.serve_without_http(80)
        assert (await clients.get(PATH))[0] == ""

    async def test_listener_that_comes_to_port_80_and_goes_takes_over_the_challenges(
        self, clients: ChallengeClients, server: Server
    ) -> None:
        await clients.serve_without_http()
        assert [await clients.get(PATH), (await clients.get("/"))[0]] == [ANSWERED, "404"]
        await clients.serve(server)
        assert [await clients.get(PATH), (await clients.get("/"))[2]] == [ANSWERED, "member-1-1"]
        await clients.serve_without_http()
        assert [await clients.get(PATH), (await clients.get("/"))[0]] == [ANSWERED, "404"]

"""Challenges of a certificate authority on emulated devices: what every device does, and what is a BIG-IP's own."""

from collections.abc import AsyncIterator

import pytest

from evenkeel.core.devices.service import ServiceL7Policy
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.devices.bigip.traffic import TrafficSite, traffic_site
from tests.devices.challenge_behaviour import (
    ANSWERED,
    CHALLENGES,
    CONTENT,
    PATH,
    ChallengeBehaviour,
    ChallengeClients,
    away,
)
from tests.devices.service_behaviour import Server
from tests.devices.services import batch, listener, rule, service

REDIRECTS = 'when HTTP_REQUEST {\n    HTTP::redirect "https://[HTTP::host][HTTP::uri]"\n}'


class TestBigIpChallenges(ChallengeBehaviour):
    @pytest.fixture
    async def site(self) -> AsyncIterator[TrafficSite]:
        async with traffic_site() as site:
            yield site

    async def test_an_operators_irule_that_redirects_everything_does_not_see_challenges(
        self, site: TrafficSite, clients: ChallengeClients, server: Server
    ) -> None:
        body = {"name": "redirects", "partition": "Common", "apiAnonymous": REDIRECTS}
        await site.rig.hands.call("POST", "ltm/rule", body)
        await clients.serve(server, operator_irules=("/Common/redirects",))
        assert await clients.get(PATH) == ANSWERED
        assert (await clients.get("/"))[0] == "302"


@pytest.mark.parametrize("policies", [(), (away(rule(1)),)], ids=["alone", "with_an_ltm_policy"])
async def test_every_device_of_a_pair_has_the_challenges_and_nothing_of_them_afterwards(
    pair: BigIpRig, policies: tuple[ServiceL7Policy, ...]
) -> None:
    owner = pair.owner()
    sites = [Hands(pair.emulator, name) for name in pair.emulator.devices]
    listeners = (listener(l7policies=policies),)
    await owner.apply(batch(service(listeners=listeners)))
    before = await sites[0].content()
    await owner.apply(batch(service(listeners=listeners, revision=2, challenges=CHALLENGES)))
    first, second = [await one.content() for one in sites]
    assert first == second
    group = first["ltm/data-group/internal dev_challenges_listener-1"]
    assert {PATH: CONTENT}.items() <= {one["name"]: one["data"] for one in group["records"]}.items()
    await owner.apply(batch(service(listeners=listeners, revision=3)))
    assert [await one.content() for one in sites] == [before, before]

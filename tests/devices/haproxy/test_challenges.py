"""Challenges of a certificate authority through real HAProxys."""

import pytest

from evenkeel.core.devices.service import ServiceListener
from tests.devices.challenge_behaviour import ANSWERED, CHALLENGES, PATH, ChallengeBehaviour, ChallengeClients
from tests.devices.haproxy.rig import HaproxyRig
from tests.devices.haproxy.test_traffic import HaproxySite
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import SIX, VIP
from tests.devices.services import batch, listener, service, vip


class TestHaproxyChallenges(ChallengeBehaviour):
    @pytest.fixture
    def site(self, rig: HaproxyRig) -> HaproxySite:
        return HaproxySite(rig)

    async def test_challenges_are_answered_at_vips_of_both_families(
        self, site: HaproxySite, clients: ChallengeClients
    ) -> None:
        await clients.apply(service(listeners=(), pools=(), additional_vips=(SIX,), challenges=CHALLENGES))
        for address in (VIP, SIX.address):
            assert (await ask(site.place(address, 80), PATH))[1] == ANSWERED[2]


@pytest.mark.parametrize("listeners", [(listener(),), ()], ids=["http_listener", "no_listener"])
async def test_both_hosts_of_a_pair_answer_challenges(pair: HaproxyRig, listeners: tuple[ServiceListener, ...]) -> None:
    owner = pair.owner()
    outcome = await owner.apply(batch(service(listeners=listeners, challenges=CHALLENGES)))
    assert not outcome.lagging and not [one.error for one in outcome.outcomes if one.error]
    for box in pair.boxes:
        head, body = await ask(box.moved(vip(1).address, 80), PATH)
        assert (head.split(" ")[1], body) == (ANSWERED[0], ANSWERED[2])


@pytest.mark.parametrize("listeners", [(listener(),), ()], ids=["http_listener", "no_listener"])
async def test_challenges_that_went_leave_nothing_and_are_there_again_as_at_first(
    rig: HaproxyRig, listeners: tuple[ServiceListener, ...]
) -> None:
    owner = rig.owner()
    seen = []
    for revision, challenges in enumerate(({}, CHALLENGES, {}, CHALLENGES), start=1):
        await owner.apply(batch(service(listeners=listeners, revision=revision, challenges=dict(challenges))))
        content = await rig.content()
        content["held lb-1"].pop("revision")
        seen.append(content)
    assert seen[0] == seen[2] and seen[1] == seen[3] and seen[0] != seen[1]

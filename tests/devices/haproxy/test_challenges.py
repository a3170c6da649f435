"""Challenges of a certificate authority through real HAProxys."""

from typing import Any

import pytest

from evenkeel.core.devices.service import ServiceListener
from evenkeel.core.resources.http_challenges import CHALLENGE_PATH
from tests.devices.challenge_behaviour import ANSWERED, CHALLENGES, PATH, ChallengeBehaviour, ChallengeClients
from tests.devices.haproxy.rig import Box, HaproxyRig
from tests.devices.haproxy.test_traffic import HaproxySite
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import SIX, VIP
from tests.devices.services import batch, listener, policy, rule, service, vip


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


async def worker(box: Box) -> str:
    """The process id of HAProxy's worker: another one after a reload."""
    return (await box.tell("show info")).partition("\nPid: ")[2].split()[0]


EVERYWHERE = policy(1, rule(1, value="/"), action="REDIRECT_TO_URL", redirect_url="https://other.test/")


@pytest.mark.parametrize(
    "listeners", [(listener(l7policies=(EVERYWHERE,)),), ()], ids=["redirecting_listener", "no_listener"]
)
async def test_after_the_first_order_challenges_come_and_go_without_a_reload(
    pair: HaproxyRig, listeners: tuple[ServiceListener, ...]
) -> None:
    owner = pair.owner()

    async def apply(revision: int, challenges: dict[str, str], **changes: Any) -> None:
        made = service(listeners=listeners, revision=revision, challenges=challenges, **changes)
        outcome = await owner.apply(batch(made))
        assert not outcome.lagging and not [one.error for one in outcome.outcomes if one.error]

    async def seen(token: str) -> list[str]:
        path = f"{CHALLENGE_PATH}{token}"
        return [(await ask(box.moved(vip(1).address, 80), path))[0].split(" ")[1] for box in pair.boxes]

    await apply(1, {"first": "first.print"}, prepared_for_challenges=True)
    workers = [await worker(box) for box in pair.boxes]
    for revision, token in ((2, "second"), (4, "third")):
        await apply(revision, {}, prepared_for_challenges=True)
        assert "200" not in await seen("first")
        await apply(revision + 1, {token: f"{token}.print"}, prepared_for_challenges=True)
        assert await seen(token) == ["200", "200"]
    assert "200" not in [*await seen("first"), *await seen("second")]
    assert [await worker(box) for box in pair.boxes] == workers


async def test_a_load_balancer_answers_no_challenge_of_another_one_of_its_project(rig: HaproxyRig) -> None:
    owner, at = rig.owner(), {number: rig.box.moved(vip(number).address, 80) for number in (1, 2)}
    services = [service(number, challenges={f"t{number}": f"t{number}.print"}) for number in (1, 2)]
    await owner.apply(batch(*services))
    answers = {
        (number, other): (await ask(place, f"{CHALLENGE_PATH}t{other}"))[1]
        for number, place in at.items()
        for other in (1, 2)
    }
    assert [answers[1, 1], answers[2, 2]] == ["t1.print", "t2.print"]
    assert not {"t1.print", "t2.print"} & {answers[1, 2], answers[2, 1]}


@pytest.mark.parametrize("listeners", [(listener(),), ()], ids=["http_listener", "no_listener"])
async def test_challenges_that_went_leave_nothing_and_are_there_again_as_at_first(
    rig: HaproxyRig, listeners: tuple[ServiceListener, ...]
) -> None:
    owner = rig.owner()
    seen = []
    for revision, challenges in enumerate(({}, CHALLENGES, {}, CHALLENGES), start=1):
        for prepared in (False, True, False):
            made = service(
                listeners=listeners,
                revision=revision,
                challenges=dict(challenges),
                prepared_for_challenges=prepared,
            )
            await owner.apply(batch(made))
        content = await rig.content()
        content["held lb-1"].pop("revision")
        seen.append(content)
    assert seen[0] == seen[2] and seen[1] == seen[3] and seen[0] != seen[1]

"""L7 policies on a device: made in one transaction, changed in place, put right, and removed in a second one."""

from typing import Any

from evenkeel.core.devices.service import ServiceDefinition, ServiceL7Policy
from tests.devices.bigip.rig import BigIpRig, at
from tests.devices.services import batch, listener, policy, pool, rule, service

POLICY, GROUP, RULE = "ltm/policy", "ltm/data-group/internal", "ltm/rule"
L7, CODE = "dev_l7_listener-1", "dev_rule_listener-1"


def to_pool(place: int, value: str, **changes: Any) -> ServiceL7Policy:
    return policy(place, rule(value=value), action="REDIRECT_TO_POOL", redirect_pool_id="pool-2", **changes)


def judged(*policies: ServiceL7Policy, revision: int = 1, pools: int = 2) -> ServiceDefinition:
    each = tuple(pool(number) for number in range(1, pools + 1))
    return service(revision=revision, pools=each, listeners=(listener(l7policies=policies),))


async def made(rig: BigIpRig) -> tuple[bool, bool, bool]:
    """Whether there are an LTM policy, a data group and an iRule."""
    return (
        L7 in await rig.hands.items(POLICY),
        L7 in await rig.hands.items(GROUP),
        CODE in await rig.hands.items(RULE),
    )


async def rules(rig: BigIpRig) -> list[tuple[str, str]]:
    """Name and what is compared, of each rule of the LTM policy by place."""
    found = (await rig.hands.items(POLICY))[L7]["rulesReference"]["items"]
    return [
        (item["name"], "".join(each["values"][0] for each in item["conditionsReference"].get("items", ())))
        for item in sorted(found, key=lambda item: item["ordinal"])
    ]


async def test_a_change_is_one_transaction_and_a_second_one_deletes_a_detached_policy(rig: BigIpRig) -> None:
    agent = rig.owner()
    steps: tuple[tuple[tuple[ServiceL7Policy, ...], tuple[bool, bool, bool], int], ...] = (
        ((to_pool(1, "/a"), to_pool(2, "/b")), (True, False, False), 1),
        ((to_pool(2, "/b"), to_pool(1, "/c")), (True, False, False), 1),
        ((to_pool(2, "/b"), policy(3)), (False, True, True), 2),
        ((policy(3), to_pool(2, "/d")), (False, True, True), 1),
        ((to_pool(2, "/d"),), (True, False, False), 1),
        ((), (False, False, False), 2),
    )
    for revision, (policies, expected, transactions) in enumerate(steps, start=1):
        before = len(rig.commits())
        outcome = await agent.apply(batch(judged(*policies, revision=revision), complete=True))
        assert not [one.error for one in outcome.outcomes if one.error]
        assert await made(rig) == expected
        assert len(rig.commits()) == before + transactions or revision == 1
        again = await rig.owner().apply(batch(judged(*policies, revision=revision), complete=True))
        assert again.writes == 0


async def test_order_is_kept_and_one_change_is_one_write(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(judged(to_pool(1, "/a"), to_pool(2, "/b"))))
    assert await rules(rig) == [("policy-1", "/a"), ("policy-2", "/b"), ("default", "")]
    outcome = await agent.apply(batch(judged(to_pool(2, "/b"), to_pool(1, "/a"), revision=2)))
    assert outcome.writes == 1
    assert await rules(rig) == [("policy-2", "/b"), ("policy-1", "/a"), ("default", "")]


async def test_manual_change_of_an_l7_policy_is_repaired(rig: BigIpRig) -> None:
    agent = rig.owner()
    by_policy = judged(to_pool(1, "/a"))
    await agent.apply(batch(by_policy))
    path = f"{at(POLICY, 'l7_listener-1')}/rules/policy-1/conditions/0"
    await rig.hands.call("PATCH", path, {"values": ["/x"]})
    outcome = await agent.apply(batch(by_policy, complete=True))
    assert outcome.writes == 1 and await rules(rig) == [("policy-1", "/a"), ("default", "")]
    assert f"LTM policy {L7} was changed (rules)" in str(outcome.repaired[0].found)

    by_rule = judged(policy(1), revision=2)
    await agent.apply(batch(by_rule))
    records = (await rig.hands.items(GROUP))[L7]["records"]
    await rig.hands.call("PATCH", at(GROUP, "l7_listener-1"), {"records": records[1:]})
    await rig.hands.call("PATCH", at("ltm/virtual", "listener-1"), {"rules": []})
    outcome = await agent.apply(batch(by_rule, complete=True))
    assert len(outcome.repaired[0].found) == 2
    assert (await rig.hands.items(GROUP))[L7]["records"] == records


async def test_a_pool_goes_with_the_policies_that_chose_it(rig: BigIpRig) -> None:
    agent = rig.owner()
    await agent.apply(batch(judged(to_pool(1, "/a"))))
    outcome = await agent.apply(batch(judged(revision=2, pools=1)))
    assert not [one.error for one in outcome.outcomes if one.error]
    assert await made(rig) == (False, False, False)
    assert "dev_pool-2" not in await rig.hands.items("ltm/pool")

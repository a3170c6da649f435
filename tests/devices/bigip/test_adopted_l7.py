"""L7 policies, iRules, persistence and profiles of F5's agent: gone with its adoption, so that pools can go."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.owner import Owner
from tests.devices.services import PROJECT, batch, gone, listener, policy, pool, rule, service, session_of

LISTENER, POOL, TARGET, POLICY, RULE, REGEX, OTHER, BALANCER = (
    f"{at:08x}-0000-4000-8000-000000000000" for at in range(1, 9)
)
VIRTUAL = f"dev_{LISTENER}"
L7_KINDS = (
    "ltm/policy",
    "ltm/rule",
    "ltm/persistence/universal",
    "ltm/persistence/source-addr",
    "ltm/profile/http",
    "ltm/profile/ftp",
    "net/bwc/policy",
    "ltm/pool",
)


class F5Listener:
    """A partition as F5's agent 9.10 leaves it: a listener whose policies redirect to a pool, one by an iRule."""

    def __init__(self, rig: BigIpRig) -> None:
        self.rig = rig

    @property
    def wanted(self) -> ServiceDefinition:
        to_pool = policy(1, rule(id=RULE), id=POLICY, action="REDIRECT_TO_POOL", redirect_pool_id=TARGET)
        regex = rule(id=REGEX, compare_type="REGEX", value="/a.*")
        by_rule = policy(2, regex, action="REDIRECT_TO_POOL", redirect_pool_id=TARGET)
        return service(
            listeners=(listener(id=LISTENER, default_pool_id=POOL, l7policies=(to_pool, by_rule)),),
            pools=(
                pool(id=POOL, monitor=None),
                pool(id=TARGET, monitor=None, members=1),
            ),
        )

    async def make(self, kind: str, name: str, **body: Any) -> None:
        await self.rig.hands.call("POST", kind, {"name": name, "partition": PARTITION, **body})

    async def build(self) -> None:
        await self.rig.hands.call("POST", "auth/partition", {"name": PARTITION})
        vip = self.wanted.vip
        assert vip is not None
        await self.make("ltm/virtual-address", "dev_lb-1", address=vip.address, autoDelete="false")
        for name in (POOL, TARGET):
            await self.make("ltm/pool", f"dev_{name}")
        target = f"/{PARTITION}/dev_{TARGET}"
        condition = {"name": "0", "httpUri": True, "path": True, "startsWith": True, "values": ["/private"]}
        action = {"name": "0", "forward": True, "pool": target}
        rules = [{"name": "to-pool", "ordinal": 1, "conditions": [condition], "actions": [action]}]
        shape = {"strategy": "first-match", "legacy": True, "requires": ["http"], "controls": ["forwarding"]}
        await self.make("ltm/policy", f"wrapper_policy_{LISTENER}", rules=rules, **shape)
        code = f'when HTTP_REQUEST {{ if {{ [HTTP::path] matches_regex "/a.*" }} {{ pool {target} }} }}'
        await self.make("ltm/rule", f"irule_{REGEX}", apiAnonymous=code)
        cookie = 'when HTTP_REQUEST { persist uie [HTTP::cookie "sid"] 3600 }'
        await self.make("ltm/rule", f"app_cookie_{VIRTUAL}", apiAnonymous=cookie)
        await self.make("ltm/persistence/universal", f"app_cookie_{VIRTUAL}", rule=f"/{PARTITION}/app_cookie_{VIRTUAL}")
        await self.make("ltm/persistence/source-addr", f"source_addr_{VIRTUAL}", timeout="1800")
        await self.make("ltm/profile/http", f"http_profile_{VIRTUAL}", insertXforwardedFor="enabled")
        await self.make("ltm/profile/ftp", f"ftp_profile_{LISTENER}", port=79)
        bandwidth = f"/{PARTITION}/bwc_policy_{BALANCER}"
        await self.make("net/bwc/policy", f"bwc_policy_{BALANCER}", maxRate=10_000_000)
        attach = f"when SERVER_CONNECTED {{ BWC::policy attach {bandwidth} }}"
        await self.make("ltm/rule", f"bwc_irule_{BALANCER}", apiAnonymous=attach)
        profiles = [
            {"name": f"http_profile_{VIRTUAL}", "partition": PARTITION},
            {"name": "oneconnect", "partition": "Common"},
            {"name": "tcp", "partition": "Common"},
        ]
        await self.make(
            "ltm/virtual",
            VIRTUAL,
            destination=f"/{PARTITION}/dev_lb-1:80",
            mask="255.255.255.255",
            ipProtocol="tcp",
            pool=f"/{PARTITION}/dev_{POOL}",
            profiles=profiles,
            policies=[{"name": f"wrapper_policy_{LISTENER}", "partition": PARTITION}],
            rules=[f"/{PARTITION}/irule_{REGEX}", f"/{PARTITION}/bwc_irule_{BALANCER}"],
            bwcPolicy=bandwidth,
            persist=[{"name": f"app_cookie_{VIRTUAL}", "partition": PARTITION}],
            sourceAddressTranslation={"type": "automap"},
            rateLimit="3000",
        )

    async def unmarked(self) -> list[str]:
        """Objects of :data:`L7_KINDS` without our mark."""
        found = []
        for kind in L7_KINDS:
            for name, item in (await self.rig.hands.items(kind)).items():
                if "evenkeel:" not in f"{item.get('description', '')}{item.get('apiAnonymous', '')}":
                    found.append(f"{kind} {name}")
        return sorted(found)


@pytest.fixture
async def scene() -> AsyncIterator[F5Listener]:
    async with bigip("bigip-1") as rig:
        made = F5Listener(rig)
        await made.build()
        yield made


async def apply(owner: Owner, *services: ServiceDefinition) -> int:
    outcome = await owner.apply(batch(*services, complete=True))
    assert not [one.error for one in outcome.outcomes if one.error]
    writes: int = outcome.writes
    return writes


async def test_all_that_an_adopted_listener_replaces_goes_in_two_transactions(scene: F5Listener) -> None:
    owner = scene.rig.owner()
    (plan,) = await owner.plan(batch(scene.wanted, complete=True))
    removed = {(step.type, step.name.rpartition("/")[2]) for step in plan.operations if step.verb == "delete"}
    assert removed == {
        ("ltm/policy", f"wrapper_policy_{LISTENER}"),
        ("ltm/rule", f"irule_{REGEX}"),
        ("ltm/rule", f"app_cookie_{VIRTUAL}"),
        ("ltm/persistence/universal", f"app_cookie_{VIRTUAL}"),
        ("ltm/persistence/source-addr", f"source_addr_{VIRTUAL}"),
        ("ltm/profile/http", f"http_profile_{VIRTUAL}"),
        ("ltm/profile/ftp", f"ftp_profile_{LISTENER}"),
        ("ltm/rule", f"bwc_irule_{BALANCER}"),
        ("net/bwc/policy", f"bwc_policy_{BALANCER}"),
    }
    assert not plan.left
    await owner.adopt(PROJECT)
    assert await apply(owner, scene.wanted) == 2  # the second deletes what the first has detached
    assert not await scene.unmarked()
    assert await apply(owner, scene.wanted) == 0


async def test_adopted_load_balancer_that_redirects_to_a_pool_is_deleted_and_nothing_is_left(
    scene: F5Listener,
) -> None:
    owner = scene.rig.owner()
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    outcome = await owner.apply(batch(gone(1)))
    assert not outcome.outcomes[0].error
    await apply(owner)
    assert not (await owner.retire(PROJECT, 1, session_of(1))).left
    partitions = (await scene.rig.hands.call("GET", "auth/partition"))["items"]
    assert PARTITION not in {item["name"] for item in partitions}


async def test_pool_that_goes_in_the_first_pass_is_not_held_by_a_policy_of_f5s(scene: F5Listener) -> None:
    owner = scene.rig.owner()
    await owner.adopt(PROJECT)
    (front,), (first, _) = scene.wanted.listeners, scene.wanted.pools
    without = replace(scene.wanted, listeners=(replace(front, l7policies=()),), pools=(first,))
    await apply(owner, without)
    assert await scene.unmarked() == [f"ltm/pool dev_{TARGET}"]  # no load balancer has it, so it is not ours


async def test_objects_that_another_virtual_server_or_profile_uses_stay(scene: F5Listener) -> None:
    child = {"defaultsFrom": f"/{PARTITION}/http_profile_{VIRTUAL}"}
    await scene.make("ltm/profile/http", "by-hand", **child)
    await scene.make("ltm/rule", "irule_by_hand", apiAnonymous="when HTTP_REQUEST { }")
    await scene.make("ltm/rule", f"irule_{OTHER}", apiAnonymous="when HTTP_REQUEST { }")
    await scene.make(
        "ltm/virtual",
        "by-hand",
        destination="10.9.9.9:80",
        mask="255.255.255.255",
        ipProtocol="tcp",
        profiles=[{"name": "http", "partition": "Common"}, {"name": "tcp", "partition": "Common"}],
        rules=[f"/{PARTITION}/irule_{OTHER}"],
    )
    owner = scene.rig.owner()
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    assert await scene.unmarked() == [
        "ltm/profile/http by-hand",
        f"ltm/profile/http http_profile_{VIRTUAL}",
        f"ltm/rule irule_{OTHER}",
        "ltm/rule irule_by_hand",
    ]
    assert await apply(owner, scene.wanted) == 0


async def test_rate_limit_of_f5s_is_shown_and_taken_off(scene: F5Listener) -> None:
    owner = scene.rig.owner()
    (plan,) = await owner.plan(batch(scene.wanted, complete=True))
    (virtual,) = [step for step in plan.operations if step.type == "ltm/virtual"]
    assert [(one.present, one.wanted) for one in virtual.attributes if one.name == "rateLimit"] == [
        ("3000", "disabled")
    ]
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    assert (await scene.rig.hands.items("ltm/virtual"))[VIRTUAL]["rateLimit"] == "disabled"
    # one that an operator sets afterwards stays
    await scene.rig.hands.call("PATCH", f"ltm/virtual/~{PARTITION}~{VIRTUAL}", {"rateLimit": "50"})
    assert await apply(owner, scene.wanted) == 0


async def test_load_balancer_that_only_the_device_has_is_named(scene: F5Listener) -> None:
    await scene.make("ltm/virtual-address", f"dev_{OTHER}", address="10.1.0.77", autoDelete="false")
    (plan,) = await scene.rig.owner().plan(batch(scene.wanted, complete=True))
    assert plan.left == (
        f"ltm/virtual-address /{PARTITION}/dev_{OTHER} (load balancer {OTHER} does not exist here:"
        " 'evenkeel import lbaas' imports it)",
    )


async def test_adoption_with_a_device_away_is_refused_and_completed_by_a_repetition() -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        hands = [Hands(rig.emulator, name) for name in rig.emulator.devices]
        for one in hands:
            await one.call("POST", "auth/partition", {"name": PARTITION})
        owner = rig.owner()
        rig.emulator.faults.add(Fault(kind="refuse", device="bigip-2"))
        with pytest.raises(DeviceUnavailable, match="only: repeat it when the device is back"):
            await owner.adopt(PROJECT)
        rig.emulator.faults.clear()
        await owner.check()
        await owner.adopt(PROJECT)
        for one in hands:
            partition = await one.call("GET", f"auth/partition/{PARTITION}")
            assert partition["description"] == "evenkeel:dev/1:partition"


async def test_changes_of_meaning_and_irules_of_operators_are_in_the_plan(scene: F5Listener) -> None:
    hands = scene.rig.hands
    path = f"ltm/virtual/~{PARTITION}~{VIRTUAL}"
    await hands.call("POST", "ltm/rule", {"name": "by-hand", "apiAnonymous": "when HTTP_REQUEST { }"})
    reject = {"name": "0", "forward": True, "reset": True}
    shape = {"strategy": "first-match", "legacy": True, "requires": ["http"], "controls": ["forwarding"]}
    rules = [{"name": "no", "ordinal": 1, "actions": [reject]}]
    await scene.make("ltm/policy", f"wrapper_policy_{OTHER}", rules=rules, **shape)
    changes = {
        "policies": [{"name": f"wrapper_policy_{OTHER}", "partition": PARTITION}],
        "persist": [{"name": f"source_addr_{VIRTUAL}", "partition": PARTITION}],
        "rules": ["/Common/by-hand", f"/{PARTITION}/irule_{REGEX}"],
    }
    await hands.call("PATCH", path, changes)
    owner = scene.rig.owner()
    (plan,) = await owner.plan(batch(scene.wanted, complete=True))
    (virtual,) = [step for step in plan.operations if step.type == "ltm/virtual"]
    assert virtual.note == (
        "persistence of source addresses lasted 1800 s; REJECT reset connections, and answers 403 now;"
        " iRules that are detached and were not made by F5's agent: /Common/by-hand"
    )
    await owner.adopt(PROJECT)
    await apply(owner, scene.wanted)
    await hands.call("PATCH", path, {"rules": ["/Common/by-hand"]})
    (plan,) = await owner.plan(batch(scene.wanted, complete=True))
    assert [step.note for step in plan.operations] == [""]

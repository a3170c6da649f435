"""Random definitions on a device: made, found again, changed into others and back, and repaired."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.bigip.certificates import bringing
from tests.devices.bigip.definitions import CONTENTS, tenants, tls_tenants
from tests.devices.bigip.rig import BigIpRig, bigip

few = settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # an example takes seconds
)
NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
Services = tuple[ServiceDefinition, ...]

EDITS: dict[str, dict[str, Any]] = {
    "ltm/virtual": {"connectionLimit": 77, "persist": [], "rules": [], "disabled": True},
    "ltm/virtual-address": {"enabled": "no", "description": "by hand"},
    "ltm/pool": {"loadBalancingMode": "ratio-session", "monitor": "", "members": [{"name": "10.7.7.7:7"}]},
    "ltm/monitor/http": {"interval": 2, "send": "HEAD /"},
    "ltm/monitor/tcp": {"timeout": 9, "recv": "changed"},
    "ltm/profile/tcp": {"idleTimeout": 1, "synMaxRetrans": 7},
    "ltm/profile/udp": {"idleTimeout": "1"},
    "ltm/persistence/source-addr": {"timeout": "9", "hashAlgorithm": "default", "mask": "255.0.0.0"},
    "ltm/persistence/universal": {"timeout": "9"},
    "ltm/data-group/internal": {"records": [{"name": "192.0.2.99/32"}]},
}
"""Type -> what somebody changes."""


def on_a_device(body: Any) -> None:
    """Run it with a new device."""

    async def run() -> None:
        async with bigip("bigip-1") as rig:
            await body(rig)

    asyncio.run(run())


async def applied(rig: BigIpRig, wanted: Services) -> int:
    """The commits that it took to bring everything to what is wanted."""
    owner = rig.owner()
    outcome = await owner.apply(bringing(*CONTENTS.values(), services=wanted, complete=True))
    assert not [one.error for one in outcome.outcomes if one.error]
    writes: int = outcome.writes
    return writes


@few
@given(one=tenants | tls_tenants, other=tls_tenants | tenants)
def test_one_changes_into_another_and_back_in_two_transactions_at_most(one: Services, other: Services) -> None:
    async def body(rig: BigIpRig) -> None:
        seen = []
        for wanted in (one, other, one):
            # the second deletes monitors and policies that the first has detached
            assert await applied(rig, wanted) <= 2
            assert await applied(rig, wanted) == 0
            content = await rig.content()
            # a file that was removed and made again has another time and number
            seen.append({key: None if key.startswith("sys/file/") else item for key, item in content.items()})
        assert seen[0] == seen[2]

    on_a_device(body)


@few
@given(wanted=tls_tenants | tenants, chosen=st.lists(st.sampled_from(sorted(EDITS)), unique=True, min_size=1))
def test_random_manual_changes_are_repaired(wanted: Services, chosen: list[str]) -> None:
    async def body(rig: BigIpRig) -> None:
        await applied(rig, wanted)
        before = await rig.content()
        for item in (item for service in wanted for item in render_load_balancer(service, NAMES).objects):
            if item.key.type in chosen:
                path = f"{item.key.type}/~dev_a3f1c2~{item.key.name}"
                await rig.hands.call("PATCH", path, edit(item))
        await applied(rig, wanted)
        assert await rig.content() == before
        assert await applied(rig, wanted) == 0

    on_a_device(body)


def edit(item: WantedObject) -> dict[str, Any]:
    """What somebody changes of an object, of what we set."""
    changes = {name: value for name, value in EDITS[item.key.type].items() if name in {*item.attributes, "members"}}
    if item.key.type == "ltm/virtual":
        changes["disabled"] = True
    if item.attributes.get("type") == "string":
        changes["records"] = [{"name": "other", "data": "x"}]
    return changes

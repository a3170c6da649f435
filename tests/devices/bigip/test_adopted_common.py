"""F5's objects in /Common on a pair: each device records and removes its own, in both ways of synchronisation."""

from collections.abc import Iterable

import pytest

from evenkeel.core.devices.service import ServiceDefinition
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, bigip
from tests.devices.bigip.sync.test_sync_mode import push
from tests.devices.services import PROJECT, batch, service

ACL, LISTENER = "00000001-1111-4000-8000-000000000000", "listener-1"
GROUP = f"acl_{ACL}"


async def build(rig: BigIpRig, wanted: ServiceDefinition, devices: Iterable[str]) -> None:
    """A listener of F5's agent on these devices, with an iRule that names a data group in /Common."""
    place = {"partition": PARTITION}
    rule = f"acl_irule_{ACL}"
    code = f"when CLIENT_ACCEPTED {{ if {{ [class match [IP::client_addr] eq {GROUP}] }} {{ drop }} }}"
    for name in devices:
        call = Hands(rig.emulator, name).call
        await call("POST", "auth/partition", {"name": PARTITION})
        for group in (GROUP, f"acl_{LISTENER}"):
            await call("POST", "ltm/data-group/internal", {"name": group, "type": "ip", "records": ["10.9.9.9/32"]})
        await call("POST", "ltm/rule", {**place, "name": rule, "apiAnonymous": code})
        address = {"name": "dev_lb-1", "address": wanted.vip.address, "autoDelete": "false"}
        await call("POST", "ltm/virtual-address", {**place, **address})
        virtual = {"name": f"dev_{LISTENER}", "destination": f"/{PARTITION}/dev_lb-1:80", "ipProtocol": "tcp"}
        profiles = [{"name": each, "partition": "Common"} for each in ("http", "tcp")]
        more = {"mask": "255.255.255.255", "profiles": profiles, "rules": [f"/{PARTITION}/{rule}"]}
        await call("POST", "ltm/virtual", {**place, **virtual, **more})


@pytest.mark.parametrize("sync_mode", ["replicate", "sync"])
async def test_each_device_of_a_pair_loses_what_its_adopted_listeners_used(sync_mode: str) -> None:
    async with bigip("bigip-1", "bigip-2", ha="pair", ha_type="pair") as rig:
        wanted = service(members=1)
        names = list(rig.emulator.devices)
        await build(rig, wanted, names if sync_mode == "replicate" else names[:1])
        if sync_mode == "sync":
            await push(rig)
        owner = rig.owner(sync_mode=sync_mode)
        await owner.check()
        await owner.adopt(PROJECT)
        outcome = await owner.apply(batch(wanted, complete=True))
        assert not outcome.outcomes[0].error and not outcome.lagging
        for name in rig.emulator.devices:
            hands = Hands(rig.emulator, name)
            groups = await hands.items("ltm/data-group/internal", "Common")
            assert GROUP not in groups and f"acl_{LISTENER}" in groups  # the latter is no name of F5's agent
            assert "evenkeel_replaced" not in await hands.items("ltm/data-group/internal")
        assert (await owner.apply(batch(wanted, complete=True))).writes == 0

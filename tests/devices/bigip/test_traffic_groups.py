"""Tenants are distributed among traffic groups."""

import hashlib
from collections import Counter

import pytest

from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.options import parse_options
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands, at
from tests.devices.services import PROJECT, batch, service

GROUPS = ("/Common/traffic-group-1", "/Common/tg-2", "/Common/tg-3")


def names(*groups: str) -> BigIpNames:
    return BigIpNames(environment="dev", prefix="dev", group=1, traffic_groups=groups)


def test_a_tenants_group_is_the_md5_of_its_id_modulo_their_number() -> None:
    chosen = Counter(names(*GROUPS).traffic_group(f"project-{number}") for number in range(300))
    assert set(chosen) == set(GROUPS) and min(chosen.values()) > 50
    digest = int(hashlib.md5(b"a3f1c2", usedforsecurity=False).hexdigest(), 16)
    assert names(*GROUPS).traffic_group("a3f1c2") == GROUPS[digest % 3]
    assert names().traffic_group("a3f1c2") == ""


async def test_virtual_addresses_get_it_and_keep_it(pair: BigIpRig) -> None:
    for name in GROUPS[1:]:
        await pair.hands.call("POST", "cm/traffic-group", {"name": name.rpartition("/")[2]})
    agent = pair.owner(traffic_groups=",".join(GROUPS))
    assert not any(state.problem for state in await agent.check())
    await agent.apply(batch(service(), complete=True))
    wanted = names(*GROUPS).traffic_group(PROJECT)
    for device in pair.emulator.devices:
        shown = await Hands(pair.emulator, device).items("ltm/virtual-address", PARTITION)
        assert shown["dev_lb-1"]["trafficGroup"] == wanted
    other = next(name for name in GROUPS if name != wanted)
    await pair.hands.call("PATCH", at("ltm/virtual-address", "lb-1"), {"trafficGroup": other})
    assert (await agent.apply(batch(service(), complete=True))).writes == 1
    shown = await pair.hands.items("ltm/virtual-address", PARTITION)
    assert shown["dev_lb-1"]["trafficGroup"] == wanted
    await pair.hands.call("POST", "cm/traffic-group", {"name": "tg-4"})  # not in the option: nobody moves
    assert (await agent.apply(batch(service(), complete=True))).writes == 0


async def test_groups_that_do_not_exist_are_reported(pair: BigIpRig) -> None:
    agent = pair.owner(traffic_groups="/Common/traffic-group-1,/Common/none,/Common/traffic-group-local-only")
    told = "has no floating traffic group /Common/none, /Common/traffic-group-local-only"
    assert all(told in state.problem for state in await agent.check())
    with pytest.raises(ValueError, match="traffic_groups"):
        given = {"icontrol_hostname": "a,b", "icontrol_password": "p", "traffic_groups": "tg;delete"}
        parse_options(given, environment="dev", group_number=1, host="h")

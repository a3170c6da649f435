"""A device that was cut off is found out soon, costs the others little, and is used again when it is back."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.ports import Device
from evenkeel.devices.bigip import open_group
from evenkeel.devices.bigip.icontrol.client import IControl
from evenkeel.devices.bigip.icontrol.responses import LoginLost
from evenkeel.devices.bigip.options import parse_options
from icontrol_emulator import Fault
from tests.devices.bigip.rig import BigIpRig, Hands
from tests.devices.bigip.wire import Wire, wire_to
from tests.devices.services import PROJECT, batch, service, session_of
from tests.virtual.loop import VirtualLoop
from tests.waiting import eventually

pytestmark = pytest.mark.virtual_time

LIMIT_SECONDS = 200.0
"""Far less than ``request_timeout`` here: whoever waits for that fails the test."""
PATIENT = {"connect_timeout": "4", "request_timeout": "600", "commit_timeout": "600"}


@pytest.fixture
async def wire(pair: BigIpRig) -> AsyncIterator[Wire]:
    async with wire_to(pair.emulator.devices["bigip-2"].url) as made:
        yield made


def first(pair: BigIpRig) -> str:
    return pair.emulator.devices["bigip-1"].url.removeprefix("https://")


def agent_over(pair: BigIpRig, second: str) -> Device:
    return pair.owner(icontrol_hostname=f"{first(pair)},{second}", **PATIENT)


async def test_a_device_that_falls_silent_does_not_hold_up_the_other_one(pair: BigIpRig, wire: Wire) -> None:
    agent = agent_over(pair, wire.address)
    await agent.apply(batch(service(), complete=True))
    wire.cut()
    async with asyncio.timeout(LIMIT_SECONDS):
        for members in (1, 2, 4):
            outcome = await agent.apply(batch(service(members=members)))
            assert outcome.lagging == (wire.address,) and not outcome.outcomes[0].error
        await agent.take_over("another", 1, session_of(1))
        seen = await agent.observe()
        states = await agent.check()
    for found in (seen.devices, states):
        assert {state.name: state.reachable for state in found} == {first(pair): True, wire.address: False}
    pools = await Hands(pair.emulator, "bigip-1").items("ltm/pool")
    assert len(pools["dev_pool-1"]["membersReference"]["items"]) == 4


async def test_a_device_that_was_cut_off_catches_up_when_it_is_back(pair: BigIpRig, wire: Wire) -> None:
    agent = agent_over(pair, wire.address)
    await agent.apply(batch(service(), complete=True))
    wire.cut()
    await agent.apply(batch(service(members=1)))
    wire.mend()

    async def in_step() -> bool:
        return not (await agent.apply(batch(service(members=1), complete=True))).lagging

    await eventually(in_step)
    one, two = Hands(pair.emulator, "bigip-1"), Hands(pair.emulator, "bigip-2")
    assert await one.content() == await two.content() != {}


async def test_an_address_that_swallows_connections_does_not_hold_up_the_other_device(pair: BigIpRig) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    deaf = loop.deaf_address()
    agent = agent_over(pair, deaf)
    async with asyncio.timeout(LIMIT_SECONDS):
        for members in (1, 2):
            outcome = await agent.apply(batch(service(members=members)))
            assert outcome.lagging == (deaf,) and outcome.writes


async def test_a_slow_device_is_waited_for_as_long_as_it_lives(pair: BigIpRig) -> None:
    agent = pair.owner(**PATIENT)
    await agent.apply(batch(service()))
    pair.emulator.faults.add(
        Fault(kind="hold", device="bigip-2", method="PATCH", path=r"/mgmt/tm/transaction/\d+$", count=1)
    )
    pair.emulator.reset_counts()
    slow = asyncio.create_task(agent.apply(batch(service(members=1))))
    # every look while it waits for the commit is one read
    await eventually(lambda: pair.emulator.request_counts["bigip-2"]["reads"] >= 3)
    assert not slow.done()  # settled: the device holds the commit
    pair.emulator.faults.release(None)
    assert not (await slow).lagging


async def test_all_devices_are_named_when_none_answers(pair: BigIpRig) -> None:
    pair.emulator.faults.add(Fault(kind="refuse"))
    agent = pair.owner(retry_time="0.1")
    with pytest.raises(DeviceUnavailable) as refusal:
        await agent.take_over(PROJECT, 1, session_of(1))
    for device in pair.emulator.devices.values():
        assert device.url.removeprefix("https://") in str(refusal.value)


# -- credentials and certificates


async def test_refused_credentials_are_tried_again_at_growing_intervals(rig: BigIpRig) -> None:
    (host,) = (device.url.removeprefix("https://") for device in rig.emulator.devices.values())
    options = parse_options(rig.options(icontrol_password="wrong"), environment="dev", group_number=1, host="host-1")
    seconds = 0.0
    device = IControl(host, options, now=lambda: seconds)
    tries = []
    try:
        while seconds < 121.0:  # asked every second
            before = rig.emulator.request_counts["bigip-1"]["logins"]
            with pytest.raises(LoginLost, match="refuses the credentials: user admin"):
                await device.get("/mgmt/tm/cm/device")
            if rig.emulator.request_counts["bigip-1"]["logins"] > before:
                tries.append(seconds)
            seconds += 1.0
    finally:
        await device.close()
    assert tries == [0.0, 2.0, 6.0, 14.0, 30.0, 60.0, 90.0, 120.0]


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_ca_file_that_cannot_be_used_is_a_wrong_option(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    options = {
        "icontrol_hostname": "192.0.2.1",
        "icontrol_username": "admin",
        "icontrol_password": "x",
        "f5_ha_type": "standalone",
        "ca_file": str(file),
    }
    with pytest.raises(ValueError, match=f"ca_file: {file}: ") as refusal:
        open_group(options, environment="dev", group_number=1, host="host-1")
    assert isinstance(refusal.value.__cause__, OSError | ssl.SSLError)

"""vCMP hosts: VLANs that a guest is given appear there, and are the guest's from then on."""

from collections.abc import AsyncIterator

import pytest

from icontrol_emulator import Emulator
from icontrol_emulator.config.model import Key
from icontrol_emulator.vcmp import VcmpHost
from tests.devices.bigip.rig import Hands
from tests.waiting import eventually


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with Emulator(devices=["host", "guest"], users={"admin": "admin"}, data_plane=False) as running:
        yield running


async def test_a_vlan_that_is_given_appears_in_common_and_may_be_moved_by_the_guest(emulator: Emulator) -> None:
    vcmp = VcmpHost(emulator.devices["host"])
    vcmp.deploy("g", emulator.devices["guest"])
    host, guest = Hands(emulator, "host"), Hands(emulator, "guest")
    shown = await host.call("GET", "vcmp/guest/g")
    assert (shown["hostname"], shown["managementIp"]) == ("guest.localdomain", "192.0.2.11/24")
    body = {"name": "v", "tag": 7, "interfaces": [{"name": "1.1", "tagged": True}]}
    await host.call("POST", "net/vlan", body)

    await host.call("PATCH", "vcmp/guest/g", {"vlans": ["/Common/v"]})

    vlan = (await guest.items("net/vlan", "Common"))["v"]
    assert vlan["tag"] == 7 and "items" not in vlan.get("interfacesReference", {})
    with pytest.raises(AssertionError, match="in use by a vCMP guest"):
        await host.call("DELETE", "net/vlan/~Common~v")
    await guest.call("POST", "auth/partition", {"name": "p"})
    await guest.call("DELETE", "net/vlan/~Common~v")
    await guest.call("POST", "net/vlan", {"name": "v", "partition": "p", "tag": 7})
    # what the guest has is its own
    await host.call("PATCH", "vcmp/guest/g", {"vlans": []})
    await host.call("DELETE", "net/vlan/~Common~v")
    assert list(await guest.items("net/vlan", "p")) == ["v"]


async def test_it_may_take_a_while(emulator: Emulator) -> None:
    vcmp = VcmpHost(emulator.devices["host"], delay_seconds=0.05)
    vcmp.deploy("g", emulator.devices["guest"])
    host = Hands(emulator, "host")
    await host.call("POST", "net/vlan", {"name": "v", "tag": 7})
    await host.call("PATCH", "vcmp/guest/g", {"vlans": ["/Common/v"]})
    store = emulator.devices["guest"].engine.store
    await eventually(lambda: store.get(Key("net/vlan", "", "/Common/v")) is not None)


async def test_a_device_that_is_no_host_refuses_guests(emulator: Emulator) -> None:
    with pytest.raises(AssertionError, match="must be licensed/provisioned for the URI vcmp"):
        await Hands(emulator, "guest").call("GET", "vcmp/guest")

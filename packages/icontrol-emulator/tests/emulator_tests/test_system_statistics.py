"""What the whole device counts, in the shapes recorded of real devices."""

from collections.abc import Awaitable, Callable
from typing import Any

from emulator_tests.client import Backend, Client, fetch
from emulator_tests.test_traffic import VIP, site
from tests.waiting import eventually

Start = Callable[..., Awaitable[Backend]]


async def traffic(device: Client) -> dict[str, int]:
    document = await device.get("sys/traffic")
    assert document["kind"] == "tm:sys:traffic:trafficstats"
    [(link, entry)] = document["entries"].items()
    assert link == "https://localhost/mgmt/tm/sys/traffic/0"
    return {name: value["value"] for name, value in entry["nestedStats"]["entries"].items()}


async def test_a_device_that_carried_nothing_says_so(device: Client) -> None:
    counted = await traffic(device)
    assert len(counted) == 69 and set(counted.values()) == {0}


async def test_traffic_of_clients_and_servers_is_counted(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a")], ["http"])
    await fetch(VIP, port)

    async def carried() -> bool:
        counted = await traffic(device)
        return counted["clientSideTraffic.totConns"] == 1 and counted["clientSideTraffic.curConns"] == 0

    await eventually(carried)
    counted = await traffic(device)
    for side in ("clientSide", "serverSide"):
        assert counted[f"{side}Traffic.bitsIn"] > 0 and counted[f"{side}Traffic.bitsOut"] > 0
        assert counted[f"{side}Traffic.totConns"] == 1
    assert counted["httpRequests"] == 1


async def test_counters_of_what_was_removed_stay_in_the_total(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a")], ["tcp"])
    await fetch(VIP, port)
    before = (await traffic(device))["clientSideTraffic.bitsIn"]
    await device.delete("ltm/virtual/~P~v")
    assert (await traffic(device))["clientSideTraffic.bitsIn"] == before > 0


async def test_client_ssl_profiles_count_their_connections(device: Client) -> None:
    document: dict[str, Any] = await device.get("ltm/profile/client-ssl/stats")
    assert document["kind"] == "tm:ltm:profile:client-ssl:client-sslcollectionstats"
    entry = document["entries"]["https://localhost/mgmt/tm/ltm/profile/client-ssl/~Common~clientssl/stats"]
    assert entry["nestedStats"]["kind"] == "tm:ltm:profile:client-ssl:client-sslstats"
    counted = entry["nestedStats"]["entries"]
    assert counted["common.totNativeConns"] == {"value": 0} == counted["common.totCompatConns"]
    assert counted["tmName"] == {"description": "/Common/clientssl"}


async def test_traffic_managers_share_what_the_device_counted(device: Client, backend: Start) -> None:
    port = await site(device, [await backend("a")], ["tcp"])
    await fetch(VIP, port)
    total = await traffic(device)
    shown = await device.get("sys/tmm-traffic")
    assert shown["kind"] == "tm:sys:tmm-traffic:tmm-trafficstats"
    first, second = (one["nestedStats"]["entries"] for one in shown["entries"].values())
    assert (first["tmmId"]["description"], second["tmmId"]["description"]) == ("0.0", "0.1")
    assert first.keys() == second.keys() and len(first) == 32
    name = "clientSideTraffic.totConns"
    assert first[name]["value"] + second[name]["value"] == total[name] > 0

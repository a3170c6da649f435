from __future__ import annotations

from collections import Counter

from as3_tests.declarations import (
    APPLICATION,
    DECLARE,
    LISTENER,
    POOL,
    TENANT,
    VIP,
    deployed,
    one,
    pool,
    service,
)
from emulator_tests.client import Client, fetch, free_port
from emulator_tests.virtual_site import Start


async def count(port: int, requests: int) -> Counter[str]:
    return Counter([(await fetch(VIP, port))[1] for _ in range(requests)])


async def test_http_service_carries_traffic_changes_and_goes(device: Client, backend: Start) -> None:
    first, second, port = await backend("a"), await backend("b"), free_port(VIP)
    listener = service("Service_HTTP", port)
    assert await deployed(device, one(**{LISTENER: listener, POOL: pool(first)})) == "success"
    assert await count(port, 4) == {"a": 4}
    assert await deployed(device, one(**{LISTENER: listener, POOL: pool(first)})) == "no change"
    assert await deployed(device, one(**{LISTENER: listener, POOL: pool(first, second)})) == "success"
    assert await count(port, 4) == {"a": 2, "b": 2}
    answer = await device.send("DELETE", f"{DECLARE}/{TENANT}")
    assert (answer.status, answer.document["results"][0]["message"]) == (200, "success")
    assert [each["name"] for each in (await device.get("auth/partition"))["items"]] == ["Common"]
    assert (await device.send("GET", DECLARE)).status == 204


async def test_objects_are_named_as_as3_names_them(device: Client, backend: Start) -> None:
    server, port = await backend("a"), free_port(VIP)
    await deployed(device, one(**{LISTENER: service("Service_HTTP", port), POOL: pool(server)}))
    virtual = await device.get(f"ltm/virtual/~{TENANT}~{APPLICATION}~{LISTENER}?expandSubcollections=true")
    assert virtual["destination"] == f"/{TENANT}/{VIP}:{port}"
    assert virtual["pool"] == f"/{TENANT}/{APPLICATION}/{POOL}"
    assert virtual["sourceAddressTranslation"] == {"type": "automap"}
    assert virtual["description"] == APPLICATION
    names = {each["fullPath"] for each in virtual["profilesReference"]["items"]}
    assert names == {"/Common/f5-tcp-progressive", "/Common/http"}
    [node] = (await device.get("ltm/node"))["items"]
    assert node["fullPath"] == f"/{TENANT}/{server.host}"

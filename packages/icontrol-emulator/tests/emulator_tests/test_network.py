"""Route domains and what is in them: VLANs, tunnels, self addresses, routes, and addresses of load balancing."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client

Refusal = tuple[str, dict[str, Any], str]


@pytest.fixture
async def network(device: Client) -> Client:
    """Domain 7 with VLAN `inside`, and VLAN `outside` with a self address in domain 0; all in partition P."""
    for name, tag in (("inside", 101), ("outside", 102)):
        await device.post("net/vlan", {"name": name, "partition": "P", "tag": tag})
    await device.post("net/route-domain", {"name": "rd", "partition": "P", "id": 7, "vlans": ["/P/inside"]})
    await device.post("net/self", {"name": "s", "partition": "P", "address": "10.0.0.2/24", "vlan": "/P/outside"})
    return device


async def vlans_of(device: Client, domain: str) -> list[str]:
    return (await device.get(f"net/route-domain/{domain}")).get("vlans", [])


async def test_a_vlan_is_in_one_domain_at_a_time(network: Client) -> None:
    assert await vlans_of(network, "~Common~0") == ["/P/outside", "/Common/http-tunnel", "/Common/socks-tunnel"]
    assert await vlans_of(network, "~P~rd") == ["/P/inside"]
    await network.patch("net/route-domain/~P~rd", {"vlans": []})
    assert "/P/inside" in await vlans_of(network, "~Common~0")
    await network.patch("net/route-domain/~P~rd", {"vlans": ["/P/inside"]})
    assert "/P/inside" not in await vlans_of(network, "~Common~0")
    await network.delete("net/vlan/~P~inside")
    assert await vlans_of(network, "~P~rd") == []


async def test_a_new_vlan_joins_the_default_domain_of_its_partition(network: Client) -> None:
    await network.patch("auth/partition/P", {"defaultRouteDomain": 7})
    await network.post("net/vlan", {"name": "later", "partition": "P", "tag": 103})
    await network.post("net/tunnels/tunnel", {"name": "t", "partition": "P", "localAddress": "10.0.0.2"})
    assert await vlans_of(network, "~P~rd") == ["/P/inside", "/P/later", "/P/t"]


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        ("ltm/node", {"name": "n", "address": "10.1.0.1%9"}, "The requested route domain (9) was not found."),
        ("ltm/virtual", {"name": "v", "destination": "10.1.0.1%9:80"}, "The requested route domain (9) was not found."),
        ("ltm/pool", {"name": "p", "members": ["10.1.0.1%9:80"]}, "The requested route domain (9) was not found."),
        ("auth/partition", {"name": "Q", "defaultRouteDomain": 9}, "The requested route domain (9) was not found."),
        ("net/self", {"name": "x", "address": "10.0.1.2%7/24", "vlan": "/P/outside"},
         "must be one of the vlans in the associated route domain"),
        ("net/self", {"name": "x", "address": "10.0.1.2/24", "vlan": "/P/inside"},
         "must be one of the vlans in the associated route domain"),
        ("net/self", {"name": "x", "address": "10.0.0.2/24", "vlan": "/P/outside"}, "already exists"),
        ("net/self", {"name": "x", "address": "10.0.0.2", "vlan": "/P/outside"}, "invalid property value"),
        ("net/route", {"name": "r", "network": "10.9.0.0/16", "gw": "10.5.0.1"},
         "Static route gateway 10.5.0.1 is not directly connected via an interface."),
        ("net/route", {"name": "r", "network": "10.9.0.0%7/16", "gw": "10.0.0.1%7"}, "is not directly connected"),
        ("net/route", {"name": "r", "network": "10.9.0.0/16"}, "needs exactly one of"),
        ("net/fdb/vlan/~P~inside/records", {"name": "host-1", "interface": "1.1"}, "invalid property value"),
        ("net/fdb/tunnel/~Common~http-tunnel/records", {"name": "02:00:00:00:00:01", "endpoint": "x"},
         "invalid property value"),
        ("net/arp", {"name": "a", "ipAddress": "2001:db8::1%7", "macAddress": "02:00:00:00:00:01"},
         "invalid property value"),
        ("net/ndp", {"name": "a", "ipAddress": "10.0.0.9%7", "macAddress": "02:00:00:00:00:01"},
         "invalid property value"),
        ("net/ndp", {"name": "a", "ipAddress": "2001:db8::1%9"}, "The requested route domain (9) was not found."),
        ("net/tunnels/gre", {"name": "g", "encapsulation": "transparent"}, "invalid property value"),
        ("net/tunnels/gre", {"name": "g", "floodingType": "multicast"}, "invalid property value"),
        ("net/tunnels/vxlan", {"name": "x", "floodingType": "broadcast"}, "invalid property value"),
        ("net/route-domain", {"name": "again", "id": 7}, "already used"),
        ("net/route-domain", {"name": "big", "id": 70000}, "invalid property value"),
    ],
)  # fmt: skip
async def test_refused(network: Client, path: str, body: dict[str, Any], text: str) -> None:
    answer = await network.send("POST", path, {"partition": "P", **body} if path != "auth/partition" else body)
    assert answer.status in (400, 404), answer
    assert text in answer.message


async def test_a_domain_in_use_stays(network: Client) -> None:
    await network.post("ltm/node", {"name": "n", "partition": "P", "address": "10.1.0.1%7"})
    answer = await network.send("DELETE", "net/route-domain/~P~rd")
    assert answer.status == 400
    assert "in use by a Node (/P/n)" in answer.message
    await network.delete("ltm/node/~P~n")
    await network.delete("net/route-domain/~P~rd")
    assert "/P/inside" in await vlans_of(network, "~Common~0")


async def test_a_domain_may_be_made_in_the_transaction_that_uses_it(network: Client) -> None:
    transaction = await network.open_transaction()
    node = {"name": "n", "partition": "P", "address": "10.1.0.1%9"}
    await network.post("ltm/node", node, transaction=transaction)
    await network.post("net/route-domain", {"name": "rd9", "partition": "P", "id": 9}, transaction=transaction)
    assert (await network.commit(transaction)).document["state"] == "COMPLETED"


async def test_routes_and_forwarding_tables(network: Client) -> None:
    await network.post("net/route", {"name": "r", "partition": "P", "network": "10.9.0.0/16", "gw": "10.0.0.1"})
    await network.post("net/tunnels/tunnel", {"name": "t", "partition": "P", "localAddress": "10.0.0.2"})
    table, one = "net/fdb/tunnel/~P~t", {"name": "02:00:00:00:00:01", "endpoint": "10.0.0.9"}
    shown = await network.patch(table, {"records": [one]})
    assert shown["recordsReference"]["isSubcollection"] is True and "records" not in shown
    (listed,) = (await network.get(f"{table}/records"))["items"]
    assert listed["kind"] == "tm:net:fdb:tunnel:records:recordsstate"
    assert listed["selfLink"] == f"https://localhost/mgmt/tm/{table}/records/{one['name']}?ver=16.1.2"
    assert (listed["fullPath"], listed["endpoint"]) == (one["name"], one["endpoint"])
    await network.post(f"{table}/records", {"name": "ff:ff:ff:ff:ff:ff", "endpoints": ["10.0.0.9", "10.0.0.8"]})
    await network.patch(f"{table}/records/{one['name']}", {"endpoint": "10.0.0.7"})
    (tables,) = [
        each["recordsReference"]["items"]
        for each in (await network.get("net/fdb/tunnel?expandSubcollections=true"))["items"]
        if each["name"] == "t"
    ]
    assert {each["name"]: each.get("endpoint") for each in tables} == {
        one["name"]: "10.0.0.7",
        "ff:ff:ff:ff:ff:ff": None,
    }
    await network.delete(f"{table}/records/{one['name']}")
    await network.patch(table, {"records": {}})
    assert "items" not in await network.get(f"{table}/records")
    await network.delete("net/tunnels/tunnel/~P~t")
    assert (await network.send("GET", "net/fdb/tunnel/~P~t")).status == 404
    assert "/P/t" not in await vlans_of(network, "~Common~0")


@pytest.mark.parametrize(
    ("sent", "gateway", "shown"),
    [
        ("0.0.0.0%7/0", "10.7.0.1%7", "default%7"),
        ("0.0.0.0%7/0.0.0.0", "10.7.0.1%7", "default%7"),
        ("::%7/0", "2001:db8::1%7", "default-inet6%7"),
        ("0.0.0.0/0", "10.0.0.1", "default"),
        ("10.9.0.0%7/16", "10.7.0.1%7", "10.9.0.0%7/16"),
    ],
)
async def test_a_default_route_is_shown_as_such(network: Client, sent: str, gateway: str, shown: str) -> None:
    for name, address in (("s7", "10.7.0.2%7/24"), ("s7-6", "2001:db8::2%7/64")):
        await network.post("net/self", {"name": name, "partition": "P", "address": address, "vlan": "/P/inside"})
    body = {"name": "r", "partition": "P", "network": sent, "gw": gateway}
    assert (await network.post("net/route", body))["network"] == shown
    again = await network.send("POST", "net/route", {**body, "name": "again", "network": shown})
    assert again.status in (400, 409)


async def test_untagged_vlans_get_tags_of_their_own(network: Client) -> None:
    """By f5-openstack-agent, which sends 0 for them."""
    tags = [
        (await network.post("net/vlan", {"name": name, "partition": "P", "tag": 0}))["tag"] for name in ("one", "two")
    ]
    assert len({*tags, 0}) == 3


async def test_tunnels_of_type_ppp(network: Client) -> None:
    made = await network.post("net/tunnels/tunnel", {"name": "nowhere", "partition": "P", "profile": "ppp"})
    assert made["profile"] == "/Common/ppp"

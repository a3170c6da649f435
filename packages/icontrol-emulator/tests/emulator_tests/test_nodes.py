"""Nodes: one for each address of a route domain, whatever the partition; members of one partition at another's node."""

from __future__ import annotations

from typing import Any

import pytest

from emulator_tests.client import Client
from emulator_tests.test_refusals import refused

ADDRESS = "10.1.0.9"
AT_SHARED = {"name": "web:80", "partition": "Common", "address": ADDRESS}


@pytest.fixture
async def site(device: Client) -> Client:
    """An empty pool in each of the partitions P and Q; Q has a route domain of its own beside the common one."""
    await device.post("auth/partition", {"name": "Q"})
    await device.post("net/route-domain", {"name": "7", "partition": "Q", "id": 7})
    for partition in ("P", "Q"):
        await device.post("ltm/pool", {"name": "p", "partition": partition})
    return device


async def nodes(site: Client) -> dict[str, str]:
    return {item["fullPath"]: item["address"] for item in (await site.get("ltm/node")).get("items", ())}


def clash(new: str, old: str) -> tuple[int, int, str]:
    text = f"Pool member node ({new}) and existing node ({old}) cannot use the same IP Address ({ADDRESS})."
    return 400, 3, f"0107003a:3: {text}"


async def test_of_two_partitions_the_second_is_refused_an_address(site: Client) -> None:
    await site.post("ltm/pool/~P~p/members", {"name": f"{ADDRESS}:80", "partition": "P"})
    body = {"name": f"{ADDRESS}:80", "partition": "Q"}
    expected = clash(f"/Q/{ADDRESS}", f"/P/{ADDRESS}")
    assert await refused(site, "POST", "ltm/pool/~Q~p/members", body) == expected
    assert await nodes(site) == {f"/P/{ADDRESS}": ADDRESS}


async def test_a_node_in_common_keeps_its_address(site: Client) -> None:
    """As F5's agent for OpenStack met it."""
    await site.post("ltm/node", {"name": "web", "address": ADDRESS})
    body = {"name": f"{ADDRESS}:80", "partition": "P"}
    assert await refused(site, "POST", "ltm/pool/~P~p/members", body) == clash(f"/P/{ADDRESS}", "/Common/web")


async def test_an_address_of_another_route_domain_is_another_one(site: Client) -> None:
    await site.post("ltm/pool/~P~p/members", {"name": f"{ADDRESS}:80", "partition": "P"})
    await site.post("ltm/pool/~Q~p/members", {"name": f"{ADDRESS}%7:80", "partition": "Q"})
    assert await nodes(site) == {f"/P/{ADDRESS}": ADDRESS, f"/Q/{ADDRESS}%7": f"{ADDRESS}%7"}


async def test_members_of_two_partitions_share_a_node_in_common(site: Client) -> None:
    """The first member makes the node, under the name and in the partition that the member names."""
    for partition in ("P", "Q"):
        await site.post(f"ltm/pool/~{partition}~p/members", AT_SHARED)
        member: dict[str, Any] = await site.get(f"ltm/pool/~{partition}~p/members/~Common~web:80")
        assert (member["fullPath"], member["address"]) == ("/Common/web:80", ADDRESS)
    assert await nodes(site) == {"/Common/web": ADDRESS}
    await site.delete("ltm/pool/~P~p/members/~Common~web:80")
    text = "01070110:3: Node address '/Common/web' is referenced by a member of pool '/Q/p'."
    assert await refused(site, "DELETE", "ltm/node/~Common~web") == (400, 3, text)
    await site.delete("ltm/pool/~Q~p")
    await site.delete("ltm/node/~Common~web")


async def test_a_transaction_moves_members_to_a_node_of_the_same_address(site: Client) -> None:
    await site.post("ltm/pool/~P~p/members", {"name": f"{ADDRESS}:80", "partition": "P"})
    number = (await site.post("transaction", {}))["transId"]
    for method, path, body in (
        ("DELETE", f"ltm/pool/~P~p/members/~P~{ADDRESS}:80", None),
        ("DELETE", f"ltm/node/~P~{ADDRESS}", None),
        ("POST", "ltm/pool/~P~p/members", AT_SHARED),
    ):
        assert (await site.send(method, path, body, transaction=number)).status == 200
    await site.patch(f"transaction/{number}", {"state": "VALIDATING"})
    assert await nodes(site) == {"/Common/web": ADDRESS}

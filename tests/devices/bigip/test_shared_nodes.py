"""Backends of several projects at one address, one node on a device: all are served, whoever comes or goes."""

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.device import PartitionBatch, PartitionOutcome
from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.errors import DeviceUnavailable
from icontrol_emulator import Fault
from tests.devices.bigip.rig import PARTITION, BigIpRig, Hands
from tests.devices.bigip.traffic import TrafficSite, traffic_site
from tests.devices.owner import Owner
from tests.devices.plain_http import ask
from tests.devices.service_behaviour import VIP, Server
from tests.devices.service_behaviour import members as members_of
from tests.devices.services import PROJECT, batch, gone, listener, member, pool, service, session_of
from tests.listening import StreamServer

OTHER = "b4e2d3"
ADDRESS = "10.2.1.1"
NODE = f"dev_{ADDRESS}"


def of(project_id: str, wanted: ServiceDefinition, **changes: Any) -> PartitionBatch:
    """A batch of one load balancer of a project."""
    return replace(batch(replace(wanted, project_id=project_id), **changes), project_id=project_id)


def second(**changes: Any) -> ServiceDefinition:
    """Of the other project: another VIP, and its own port of the first one's backends."""
    backends = tuple(member(1, place, id=f"m-{place}", protocol_port=8081) for place in (1, 2, 3))
    return service(2, pools=(pool(2, members=backends, **changes),))


def refused(outcome: PartitionOutcome) -> dict[str, str]:
    return {one.load_balancer_id: one.error for one in outcome.outcomes if one.error}


async def apply(owner: Owner, wanted: PartitionBatch) -> PartitionOutcome:
    outcome = await owner.apply(wanted)
    assert not refused(outcome)
    return outcome


async def nodes(hands: Hands, partition: str = "Common") -> set[str]:
    return set(await hands.items("ltm/node", partition))


async def members(hands: Hands, project_id: str, number: int) -> set[str]:
    pools = await hands.items("ltm/pool", f"dev_{project_id}")
    found = pools.get(f"dev_pool-{number}", {}).get("membersReference", {})
    return {each["fullPath"] for each in found.get("items", ())}


def at(port: int, *addresses: str) -> set[str]:
    return {f"/Common/dev_{address}:{port}" for address in addresses}


THREE = ("10.2.1.1", "10.2.1.2", "10.2.1.3")
OURS = {f"dev_{address}" for address in THREE}


@pytest.mark.parametrize("first_gone", [1, 2])
async def test_two_projects_share_backends_and_either_may_go(rig: BigIpRig, first_gone: int) -> None:
    first, other = rig.owner(), rig.owner()
    await apply(first, of(PROJECT, service()))
    await apply(other, of(OTHER, second()))
    assert await members(rig.hands, PROJECT, 1) == at(8080, *THREE)
    assert await members(rig.hands, OTHER, 2) == at(8081, *THREE)
    assert await nodes(rig.hands) == OURS
    steps = [(first, of(PROJECT, gone(1))), (other, of(OTHER, gone(2)))]
    for (owner, wanted), left in zip(steps if first_gone == 1 else reversed(steps), (OURS, set()), strict=True):
        await apply(owner, wanted)
        assert await nodes(rig.hands) == left
        assert not (await owner.retire(wanted.project_id, 1, session_of(1))).left


async def test_a_member_goes_and_the_other_projects_stays(rig: BigIpRig) -> None:
    first, other = rig.owner(), rig.owner()
    await apply(first, of(PROJECT, service()))
    await apply(other, of(OTHER, second()))
    await apply(first, of(PROJECT, service(members=1)))
    assert await nodes(rig.hands) == OURS
    assert await members(rig.hands, OTHER, 2) == at(8081, *THREE)
    few = replace(second().pools[0], members=second().pools[0].members[1:2])
    await apply(other, of(OTHER, replace(second(), pools=(few,))))
    assert await nodes(rig.hands) == {"dev_10.2.1.1", "dev_10.2.1.2"}
    assert not (await apply(first, of(PROJECT, service(members=1), complete=True))).writes


async def test_both_devices_of_a_pair_share_and_clean_up(pair: BigIpRig) -> None:
    first, other = pair.owner(), pair.owner()
    both = Hands(pair.emulator, "bigip-1"), Hands(pair.emulator, "bigip-2")
    await apply(first, of(PROJECT, service()))
    await apply(other, of(OTHER, second()))
    await apply(first, of(PROJECT, gone(1)))
    for hands in both:
        assert await members(hands, OTHER, 2) == at(8081, *THREE)
    await apply(other, of(OTHER, gone(2)))
    assert [await nodes(hands) for hands in both] == [set(), set()]


async def test_an_address_of_ipv6(rig: BigIpRig) -> None:
    six = pool(members=(member(address="2001:db8::1"),))
    await apply(rig.owner(), of(PROJECT, service(pools=(six,))))
    assert await members(rig.hands, PROJECT, 1) == {"/Common/dev_2001-db8--1:8080"}
    assert not (await apply(rig.owner(), of(PROJECT, service(pools=(six,)), epoch=2, complete=True))).writes
    await apply(rig.owner(), of(PROJECT, gone(1), epoch=3))
    assert not await nodes(rig.hands)


# -- an operator's node


OPERATORS = {"name": "web", "address": ADDRESS, "connectionLimit": 7, "description": "the operator's"}


@pytest.mark.parametrize("name", ["web", ADDRESS, "dev_10.2.1.2"])
async def test_an_operators_node_is_used_and_never_changed_or_removed(rig: BigIpRig, name: str) -> None:
    """One of a name that ours have for another address included."""
    await rig.hands.call("POST", "ltm/node", {**OPERATORS, "name": name})
    before = await rig.hands.items("ltm/node", "Common")
    owner = rig.owner()
    await apply(owner, of(PROJECT, service(members=1)))
    assert await members(rig.hands, PROJECT, 1) == {f"/Common/{name}:8080"}
    new = rig.owner()
    assert not (await apply(new, of(PROJECT, service(members=1), epoch=2, complete=True))).writes
    await apply(new, of(PROJECT, gone(1), epoch=2))
    assert await rig.hands.items("ltm/node", "Common") == before


async def test_an_operators_node_that_came_while_an_agent_served(rig: BigIpRig) -> None:
    owner = rig.owner()
    await apply(owner, of(PROJECT, service(members=1)))
    await rig.hands.call("POST", "ltm/node", {**OPERATORS, "address": "10.2.1.2"})
    before = (await rig.hands.items("ltm/node", "Common"))["web"]
    await apply(owner, of(PROJECT, service(members=3)))
    assert await members(rig.hands, PROJECT, 1) == {*at(8080, "10.2.1.1", "10.2.1.3"), "/Common/web:8080"}
    await apply(owner, of(PROJECT, service(members=2)))
    await apply(owner, of(PROJECT, gone(1)))
    assert await rig.hands.items("ltm/node", "Common") == {"web": before}


async def test_an_operators_member_keeps_our_node(rig: BigIpRig) -> None:
    owner = rig.owner()
    await apply(owner, of(PROJECT, service(members=1)))
    body = {"name": "theirs", "members": [{"name": f"{NODE}:81", "partition": "Common"}]}
    await rig.hands.call("POST", "ltm/pool", body)
    await apply(owner, of(PROJECT, gone(1)))
    assert await nodes(rig.hands) == {NODE}


# -- nodes of earlier versions and of F5's agent


async def earlier(rig: BigIpRig) -> Owner:
    """An agent with members at nodes in the project's partition."""
    owner = rig.owner(move_nodes="false")
    await owner.take_over(PROJECT, 1, session_of(1))
    for address in THREE:
        await rig.hands.call("POST", "ltm/node", {"name": address, "partition": PARTITION})
    await apply(owner, of(PROJECT, service()))
    await apply(owner, of(PROJECT, service(), complete=True))
    assert await members(rig.hands, PROJECT, 1) == {f"/{PARTITION}/{address}:8080" for address in THREE}
    return owner


async def test_members_of_an_earlier_version_stay_where_they_are_unless_they_are_moved(rig: BigIpRig) -> None:
    owner = await earlier(rig)
    assert ADDRESS in refused(await rig.owner().apply(of(OTHER, second())))["lb-2"]
    await apply(owner, of(PROJECT, gone(1)))
    assert not await nodes(rig.hands, PARTITION)


async def test_members_of_an_earlier_version_move_and_keep_what_they_are(rig: BigIpRig) -> None:
    await earlier(rig)
    before = (await rig.hands.items("ltm/pool"))["dev_pool-1"]["membersReference"]["items"]
    other = rig.owner()
    assert refused(await other.apply(of(OTHER, second())))
    new = rig.owner()
    plan = await new.plan(of(PROJECT, service(), epoch=2, complete=True))
    outcome = await apply(new, of(PROJECT, service(), epoch=2, complete=True))
    assert outcome.writes == 1
    assert await members(rig.hands, PROJECT, 1) == at(8080, *THREE)
    assert not await nodes(rig.hands, PARTITION)
    after = (await rig.hands.items("ltm/pool"))["dev_pool-1"]["membersReference"]["items"]
    changed = ("name", "partition", "fullPath")
    assert [without(each, changed) for each in after] == [without(each, changed) for each in before]
    (shown,) = plan
    assert {one.name for one in shown.operations if one.type == "ltm/node"} == {f"/{PARTITION}/{x}" for x in THREE}
    await apply(other, of(OTHER, second()))


def without(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in names}


@pytest.mark.parametrize(
    "change",
    [{"description": "mine"}, {"session": "user-disabled"}, {"state": "user-down"}, {"connectionLimit": 5}],
    ids=lambda change: next(iter(change)),
)
async def test_a_node_that_an_operator_changed_in_the_partition_stays(rig: BigIpRig, change: dict[str, Any]) -> None:
    await earlier(rig)
    await rig.hands.call("PATCH", f"ltm/node/~{PARTITION}~{ADDRESS}", change)
    await apply(rig.owner(), of(PROJECT, service(), epoch=2, complete=True))
    assert await nodes(rig.hands, PARTITION) == {ADDRESS}
    expected = {f"/{PARTITION}/{ADDRESS}:8080", *at(8080, *THREE[1:])}
    assert await members(rig.hands, PROJECT, 1) == expected


# -- the way back of an adoption


IN_PARTITION = {f"/{PARTITION}/{address}:8080" for address in THREE}


async def test_a_partition_that_is_given_back_has_its_own_nodes_again(rig: BigIpRig) -> None:
    owner, wanted = rig.owner(), of(PROJECT, service(), complete=True)
    await apply(owner, wanted)
    before = (await rig.hands.items("ltm/pool"))["dev_pool-1"]["membersReference"]["items"]
    (plan,) = await owner.give_back(wanted, apply=False)
    assert {one.name for one in plan.operations if one.type == "ltm/node"} == {f"/Common/{name}" for name in OURS}
    assert await members(rig.hands, PROJECT, 1) == at(8080, *THREE)
    assert await owner.give_back(wanted, apply=True) == (plan,)
    assert await members(rig.hands, PROJECT, 1) == IN_PARTITION
    assert await nodes(rig.hands, PARTITION) == set(THREE) and not await nodes(rig.hands)
    after = (await rig.hands.items("ltm/pool"))["dev_pool-1"]["membersReference"]["items"]
    changed = ("name", "partition", "fullPath")
    assert [without(each, changed) for each in after] == [without(each, changed) for each in before]


async def test_a_partition_that_is_given_back_leaves_nodes_that_others_use(rig: BigIpRig) -> None:
    owner, other, wanted = rig.owner(), rig.owner(), of(PROJECT, service(), complete=True)
    await apply(owner, wanted)
    few = replace(second().pools[0], members=second().pools[0].members[:1])
    await apply(other, of(OTHER, replace(second(), pools=(few,))))
    await owner.give_back(wanted, apply=True)
    left = f"/{PARTITION}/{ADDRESS}:8080"
    assert await members(rig.hands, PROJECT, 1) == {*IN_PARTITION - {left}, *at(8080, ADDRESS)}
    assert await members(rig.hands, OTHER, 2) == at(8081, ADDRESS)


SOME, ALL = 3, 1
"""Cut every third write, or each."""
CUTS = pytest.mark.parametrize(("kind", "first"), [("drop_before", 0), ("drop_after", 1)], ids=["before", "after"])
"""A crash before a write leaves what one after the write before it does: with every third write cut, the two leave two
thirds of all states."""


@CUTS
async def test_a_partition_is_given_back_whole_whatever_write_a_crash_cuts(
    rig: BigIpRig, kind: str, first: int
) -> None:
    await is_given_back_whatever_is_cut(rig, kind, first, SOME)


@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_more_partitions_are_given_back_whole_whatever_write_a_crash_cuts(rig: BigIpRig, kind: str) -> None:
    await is_given_back_whatever_is_cut(rig, kind, first=0, every=ALL)


async def is_given_back_whatever_is_cut(rig: BigIpRig, kind: str, first: int, every: int) -> None:
    epoch, number, cut = 1, first, True
    while cut:
        wanted = of(PROJECT, service(), epoch=epoch, complete=True)
        await apply(rig.owner(), wanted)
        mark = (await rig.hands.call("GET", f"auth/partition/{PARTITION}"))["description"]
        cut = await is_cut(rig, kind, number, rig.owner(retry_time="0").give_back(wanted, apply=True))
        assert await members(rig.hands, PROJECT, 1) <= IN_PARTITION | at(8080, *THREE)
        await rig.owner().give_back(wanted, apply=True)
        assert await members(rig.hands, PROJECT, 1) == IN_PARTITION
        assert not await nodes(rig.hands)
        await rig.hands.call("PATCH", f"auth/partition/{PARTITION}", {"description": mark})
        epoch, number = epoch + 1, number + every
    assert number > 5


# -- crashes and races


async def is_cut(rig: BigIpRig, kind: str, number: int, doing: Any) -> bool:
    """Whether the agent was cut off at its write of this number."""
    fault = rig.emulator.faults.add(Fault(kind=kind, method="POST|PATCH|DELETE", skip=number))
    try:
        await doing
    except DeviceUnavailable:
        return True
    finally:
        rig.emulator.faults.remove(fault)
    return False


@CUTS
async def test_other_project_stays_whatever_write_a_crash_cuts(rig: BigIpRig, kind: str, first: int) -> None:
    await other_project_stays_whatever_is_cut(rig, kind, first, SOME)


@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_more_projects_stay_whatever_write_a_crash_cuts(rig: BigIpRig, kind: str) -> None:
    await other_project_stays_whatever_is_cut(rig, kind, first=0, every=ALL)


async def other_project_stays_whatever_is_cut(rig: BigIpRig, kind: str, first: int, every: int) -> None:
    epoch, number, cut = 1, first, True
    while cut:
        await apply(rig.owner(), of(PROJECT, service(), epoch=epoch))
        await apply(rig.owner(), of(OTHER, second(), epoch=epoch))
        cut = await is_cut(rig, kind, number, rig.owner(retry_time="0").apply(of(PROJECT, gone(1), epoch=epoch + 1)))
        assert await members(rig.hands, OTHER, 2) == at(8081, *THREE)
        await apply(rig.owner(), of(OTHER, gone(2), epoch=epoch + 1))
        await apply(rig.owner(), of(PROJECT, gone(1), epoch=epoch + 2, complete=True))
        assert not await nodes(rig.hands)
        epoch, number = epoch + 3, number + every
    assert number > 5


@pytest.mark.parametrize("kind", ["drop_before", "drop_after"])
async def test_members_are_moved_in_the_end_whatever_write_a_crash_cuts(rig: BigIpRig, kind: str) -> None:
    owner = await earlier(rig)
    number, cut = 0, True
    old = {f"/{PARTITION}/{address}:8080" for address in THREE}
    while cut:
        doing = rig.owner(retry_time="0").apply(of(PROJECT, service(), epoch=2, complete=True))
        cut = await is_cut(rig, kind, number, doing)
        assert await members(rig.hands, PROJECT, 1) in (old, at(8080, *THREE))
        number += 1
    assert number > 5
    assert await members(rig.hands, PROJECT, 1) == at(8080, *THREE)
    assert not await nodes(rig.hands, PARTITION)
    await owner.close()


async def test_nodes_that_a_crash_left_are_removed_after_the_next_takeover(rig: BigIpRig) -> None:
    await apply(rig.owner(), of(PROJECT, service()))
    await rig.hands.call("POST", "ltm/node", {"name": "dev_10.2.1.9", "address": "10.2.1.9"})
    await rig.hands.call("POST", "ltm/node", {"name": "dev_10.2.1.8", "address": "10.2.1.7"})
    await apply(rig.owner(), of(PROJECT, service(), epoch=2, complete=True))
    assert await nodes(rig.hands) == OURS | {"dev_10.2.1.8"}


async def test_the_last_two_go_at_once(rig: BigIpRig) -> None:
    first, other = rig.owner(), rig.owner()
    for _ in range(3):
        await apply(first, of(PROJECT, service()))
        await apply(other, of(OTHER, second()))
        await asyncio.gather(apply(first, of(PROJECT, gone(1))), apply(other, of(OTHER, gone(2))))
        assert not await nodes(rig.hands)


async def test_one_goes_while_the_other_comes(rig: BigIpRig) -> None:
    first, other = rig.owner(), rig.owner()
    for _ in range(3):
        await apply(first, of(PROJECT, service()))
        await asyncio.gather(apply(first, of(PROJECT, gone(1))), apply(other, of(OTHER, second())))
        assert await members(rig.hands, OTHER, 2) == at(8081, *THREE)
        assert await nodes(rig.hands) == OURS
        await apply(other, of(OTHER, gone(2)))
        assert not await nodes(rig.hands)


# -- traffic


async def test_clients_of_either_project_are_served_when_the_others_is_deleted() -> None:
    server = Server("shared")
    await server.start()
    pools = (pool(members=members_of((server,)), monitor=None),)
    async with traffic_site() as first:
        sites = (first, TrafficSite(first.rig, OTHER))
        for site in sites:
            assert not refused(await site.apply(service(pools=pools)))
        assert [await body(site) for site in sites] == ["shared", "shared"]
        assert not refused(await first.apply(gone(1)))
        assert [await body(site) for site in sites] == ["", "shared"]
        assert not refused(await first.apply(service(pools=pools, revision=10)))
        assert not refused(await sites[1].apply(gone(1)))
        assert [await body(site) for site in sites] == ["shared", ""]
        assert await nodes(first.rig.hands) == {f"dev_{server.address}"}
        assert not refused(await first.apply(gone(1, revision=11)))
        assert await nodes(first.rig.hands) == set()
    await server.stop()


async def body(site: TrafficSite) -> str:
    return (await ask(site.place(VIP, 80), "/"))[1]


async def test_connections_go_on_while_members_move() -> None:
    """And new ones find a member at any time."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async def says(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], text: bytes) -> bytes:
        connection[1].write(text)
        return await connection[0].readexactly(len(text))

    server = await StreamServer.start(echo)
    backend = member(address="127.0.0.1", protocol_port=server.port)
    listeners = (listener(protocol="TCP"),)
    wanted = service(listeners=listeners, pools=(pool(protocol="TCP", members=(backend,), monitor=None),))
    async with traffic_site() as site:
        old = TrafficSite(site.rig, move_nodes="false")
        assert not refused(await old.apply(service(listeners=listeners, pools=())))
        await site.rig.hands.call("POST", "ltm/node", {"name": backend.address, "partition": PARTITION})
        assert not refused(await TrafficSite(site.rig, at=old, epoch=2, move_nodes="false").apply(wanted))
        assert await nodes(site.rig.hands, PARTITION) == {backend.address}
        before = await asyncio.open_connection(*old.place(VIP, 80))
        assert await says(before, b"before") == b"before"
        assert not refused(await TrafficSite(site.rig, at=old, epoch=3).apply(wanted))
        assert (await nodes(site.rig.hands, PARTITION), await nodes(site.rig.hands)) == (set(), {"dev_127.0.0.1"})
        assert await says(before, b"meanwhile") == b"meanwhile"
        after = await asyncio.open_connection(*old.place(VIP, 80))
        assert await says(after, b"after") == b"after"
        for _, writer in (before, after):
            writer.transport.abort()
    server.close()

"""The kernel's table with real datagrams."""

import asyncio
import shutil
import socket
import struct
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.elements import FlowTarget
from evenkeel.haproxyd.layer4.kernel import KernelTable
from evenkeel.haproxyd.layer4.ruleset import ServerKey, partition_content
from tests.haproxyd.layer4.configs import balancer, server
from tests.haproxyd.layer4.lab import (
    CLIENT,
    CLIENT6,
    CLIENTS,
    HOST,
    PORT,
    VIP,
    VIP6,
    Lab,
    Member,
    Stream,
    in_namespace,
    ip,
)
from tests.haproxyd.layer4.libnftables import Libnftables
from tests.waiting import eventually

FLOWS = 10_000


class Host:
    """A kernel's table on the lab's host."""

    def __init__(self, lab: Lab, namespace: str = "") -> None:
        self.namespace = namespace or lab.host
        self.table = KernelTable("evenkeel")
        in_namespace(self.namespace, self.table.open)
        assert in_namespace(self.namespace, lambda: self.table.adopt({}))

    def serve(
        self,
        *balancers: wire.LoadBalancerConfig,
        down: tuple[ServerKey, ...] = (),
        partition: str = "p",
        direct: bool = False,
    ) -> bool:
        content = partition_content(partition, balancers, frozenset(down), direct_return=direct)
        return in_namespace(self.namespace, lambda: self.table.apply(partition, content))

    def nft(self, words: str) -> str:
        return in_namespace(self.namespace, lambda: Libnftables().run(words))

    def restore(self) -> bool:
        return in_namespace(self.namespace, self.table.restore)

    def counters(self) -> dict[str, Any]:
        return in_namespace(self.namespace, self.table.read_counters)


@pytest.fixture
def host(lab: Lab) -> Iterator[Host]:
    made = Host(lab)
    try:
        yield made
    finally:
        made.table.close()


@pytest.fixture
async def members(lab: Lab) -> list[Member]:
    return [await lab.member(number) for number in (1, 2, 3)]


async def test_flows_are_dealt_by_weight(lab: Lab, host: Host, members: list[Member]) -> None:
    weights = {"m1": 1, "m2": 3, "m3": 6}
    host.serve(balancer(*(server(member, weight=weights[member.name]) for member in members)))
    seen = await lab.send_flows(FLOWS, members)
    assert seen.total() == FLOWS
    for name, weight in weights.items():
        assert abs(seen[name] / FLOWS - weight / 10) < 0.02, seen


async def test_a_removed_member_gets_nothing_and_other_flows_are_undisturbed(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    host.serve(balancer(*members))
    clients = [lab.open_client() for _ in range(30)]
    before = [await client.ask() for client in clients]
    assert set(before) == {"m1", "m2", "m3"}
    host.serve(balancer(*members[:2]))
    received = members[2].received
    after = [await client.ask() for client in clients]
    assert members[2].received == received
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != "m3" and old != new] == []
    assert set(after) == {"m1", "m2"}


ROUNDS = 500
"""Rounds of two changes each."""


async def test_a_member_that_comes_and_goes_a_thousand_times_costs_no_datagram_and_moves_only_its_own_flows(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    host.serve(balancer(*members))
    async with Stream(lab, flows=6).flowing() as stream:
        for _ in range(ROUNDS):
            await asyncio.to_thread(host.serve, balancer(*members[:2]))
            await stream.more(12)  # what was on its way has arrived
            received = members[2].received
            await stream.more(6)
            assert members[2].received == received  # settled: a round of answers came from others
            await asyncio.to_thread(host.serve, balancer(*members))
            await lab.ask()  # one more flow, which the member gets now and then
    assert stream.moves.keys() <= {("m3", "m1"), ("m3", "m2")}
    assert stream.answers.keys() <= {"m1", "m2", "m3"}  # settled: any other answer is a failure whenever it comes


@pytest.fixture
async def resolver(lab: Lab) -> AsyncIterator[Member]:
    """A dnsmasq that knows one name."""
    if shutil.which("dnsmasq") is None or shutil.which("dig") is None:
        pytest.skip("needs dnsmasq-base and bind9-dnsutils")
    member = await lab.member(7)
    member.stop()
    words = ["--no-daemon", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--pid-file=", "--user=root"]
    words += [f"--listen-address={member.address}", "--bind-interfaces", f"--port={member.port}"]
    command = ["ip", "netns", "exec", lab.servers, "dnsmasq", *words, "--address=/name.test/192.0.2.77"]
    running = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    yield member
    running.terminate()
    await running.wait()


async def test_dns_of_a_real_resolver_is_served(lab: Lab, host: Host, resolver: Member) -> None:
    host.serve(balancer(resolver))
    words = ("ip", "netns", "exec", lab.client, "dig", f"@{VIP}", "-p", str(PORT), "name.test", "+short", "+tries=30")
    asked = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    answer, _ = await asked.communicate()
    assert answer.decode().splitlines()[-1] == "192.0.2.77"


@pytest.mark.skipif(shutil.which("logger") is None, reason="needs util-linux' logger (Debian: bsdutils)")
async def test_syslog_messages_reach_a_member(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(*members))
    words = ("logger", "--server", VIP, "--port", str(PORT), "--udp", "--rfc5424", "a message")
    for _ in range(3):
        sent = await asyncio.create_subprocess_exec("ip", "netns", "exec", lab.client, *words)
        assert await sent.wait() == 0
    await eventually(lambda: sum(member.received for member in members) == 3)


async def test_a_member_of_weight_0_keeps_its_flows_and_gets_no_new_ones(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    host.serve(balancer(*members[:2]))
    clients = [lab.open_client() for _ in range(20)]
    before = [await client.ask() for client in clients]
    host.serve(balancer(server(members[0], weight=0), members[1]))
    assert [await client.ask() for client in clients] == before
    assert {await lab.ask() for _ in range(20)} == {"m2"}


async def test_clients_are_refused_where_no_member_is_up(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]))
    client = lab.open_client()
    assert await client.ask() == "m1"
    host.serve(balancer(members[0]), down=(("lb1_b", "m1"),))
    assert (await client.ask(), await lab.ask()) == ("refused", "refused")
    # the client's port is not pinned to what was refused
    host.serve(balancer(members[0]))
    assert await client.ask() == "m1"


async def test_a_listener_without_pool_and_one_that_is_gone_refuse(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0], listener={"backend": ""}))
    assert await lab.ask() == "refused"
    host.serve(balancer(members[0]))
    client = lab.open_client()
    assert await client.ask() == "m1"
    host.serve()
    assert await client.ask() == "refused"


async def test_backup_members_serve_while_no_other_does(lab: Lab, host: Host, members: list[Member]) -> None:
    config = balancer(members[0], *(server(member, backup=True) for member in members[1:]))
    host.serve(config)
    assert {await lab.ask() for _ in range(10)} == {"m1"}
    host.serve(config, down=(("lb1_b", "m1"),))
    assert {await lab.ask() for _ in range(30)} == {"m2", "m3"}


@pytest.mark.parametrize("choice", ["source", "source_port"])
async def test_hashed_clients_keep_their_member_when_another_one_leaves(
    lab: Lab, host: Host, members: list[Member], choice: str
) -> None:
    for number in range(3, 43):
        ip("-n", lab.client, "address", "add", f"10.90.0.{number}/24", "dev", "eth0")
    sources = [f"10.90.0.{number}" for number in range(3, 43)]

    async def answers() -> list[str]:
        return [await lab.ask(source=source) for source in sources]

    host.serve(balancer(*members, choice=choice))
    before = await answers()
    assert set(before) == {"m1", "m2", "m3"}
    if choice == "source_port":  # another port may lead to another member
        return
    assert await answers() == before
    host.serve(balancer(*members[:2], choice=choice))
    assert [(old, new) for old, new in zip(before, await answers(), strict=True) if old not in (new, "m3")] == []


async def test_a_switch_to_the_other_host_of_a_pair_keeps_hashed_clients_at_their_members(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    for number in range(3, 23):
        ip("-n", lab.client, "address", "add", f"10.90.0.{number}/24", "dev", "eth0")
    sources = [f"10.90.0.{number}" for number in range(3, 23)]
    standby = Host(lab, lab.add_host())
    config = balancer(*members, choice="source")
    for each in (host, standby):
        each.serve(config)
    flow = lab.open_client(source=sources[0])
    mine = await flow.ask()
    before = [await lab.ask(source=source) for source in sources]
    assert set(before) == {"m1", "m2", "m3"}
    lab.move_vip(standby.namespace)
    assert [await lab.ask(source=source) for source in sources] == before
    # a flow that lives is made anew there, with the same member
    assert await flow.ask() == mine
    assert standby.counters()["in-p/lb1_f"].packets == len(sources) + 1
    standby.table.close()


async def test_bound_clients_stay_with_their_member(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(*members, sticky_seconds=60))
    mine = await lab.ask()
    assert {await lab.ask() for _ in range(20)} == {mine}
    others = [member for member in members if member.name != mine]
    host.serve(balancer(*others, sticky_seconds=60))
    other = await lab.ask()
    assert other != mine
    assert {await lab.ask() for _ in range(20)} == {other}


async def test_bound_clients_of_one_network_stay_together(lab: Lab, host: Host, members: list[Member]) -> None:
    for number in range(3, 13):
        ip("-n", lab.client, "address", "add", f"10.90.0.{number}/24", "dev", "eth0")
    host.serve(balancer(*members, sticky_seconds=60, sticky_netmask="255.255.255.0"))
    assert len({await lab.ask(source=f"10.90.0.{number}") for number in range(3, 13)}) == 1


async def test_only_allowed_networks_are_served(lab: Lab, host: Host, members: list[Member]) -> None:
    allowed = {"allowed_cidrs": ("10.90.0.8/29", "2001:db8::/32")}
    ip("-n", lab.client, "address", "add", "10.90.0.9/24", "dev", "eth0")
    host.serve(balancer(members[0], listener=allowed))
    assert (await lab.ask(), await lab.ask(source="10.90.0.9")) == ("refused", "m1")
    host.serve(balancer(members[0], listener={"allowed_cidrs": ("10.90.0.0/29",)}))
    assert (await lab.ask(), await lab.ask(source="10.90.0.9")) == ("m1", "refused")


async def test_flows_of_clients_that_are_no_longer_allowed_end_and_others_go_on(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    ip("-n", lab.client, "address", "add", "10.90.0.9/24", "dev", "eth0")
    host.serve(balancer(*members))
    stays, ends = lab.open_client(), lab.open_client(source="10.90.0.9")
    mine = await stays.ask()
    assert await ends.ask() != "refused"
    host.serve(balancer(*members, listener={"allowed_cidrs": ("10.90.0.0/29",)}))
    assert (await stays.ask(), await ends.ask()) == (mine, "refused")


async def test_flows_beyond_the_limit_are_refused_and_others_go_on(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(*members, listener={"flows_max": 3}))
    clients = [lab.open_client() for _ in range(3)]
    assert "refused" not in [await client.ask() for client in clients]
    # a change of members does not forget the flows
    host.serve(balancer(*members[:2], listener={"flows_max": 3}), down=())
    assert "refused" not in [await client.ask() for client in clients]
    assert await lab.ask() == "refused"


async def test_members_see_the_host_and_clients_see_the_vip(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]))
    assert await lab.ask() == "m1"
    assert members[0].peers == Counter({"10.91.0.1": 1})


async def test_members_see_their_clients_with_direct_return(lab: Lab, host: Host, members: list[Member]) -> None:
    six = await lab.member(9, six=True)
    for gateway in ("10.91.0.1", "2001:db8:1::1"):
        ip("-n", lab.servers, "route", "add", "default", "via", gateway)
    both = balancer(*members[:2], six, vips=(VIP, VIP6))
    host.serve(both, direct=True)
    clients = [lab.open_client() for _ in range(CLIENTS)]
    answers = [await each.ask() for each in clients]
    assert set(answers) == {"m1", "m2"}
    assert members[0].peers + members[1].peers == Counter({CLIENT: CLIENTS})
    assert await lab.ask(VIP6) == "m9"
    assert six.peers == Counter({CLIENT6: 1})
    # flows of others go on when a member leaves, and when the host goes back to its own address
    host.serve(balancer(members[0], six, vips=(VIP, VIP6)), direct=True)
    assert [await each.ask() for each in clients] == ["m1"] * CLIENTS
    host.serve(balancer(members[0], six, vips=(VIP, VIP6)))
    assert [await each.ask() for each in clients] == ["m1"] * CLIENTS
    assert await lab.ask() == "m1"
    assert members[0].peers["10.91.0.1"] == 1


@pytest.mark.parametrize("vip", [VIP, VIP6])
async def test_late_answers_of_a_removed_member_do_not_reach_clients_with_direct_return(
    lab: Lab, host: Host, vip: str
) -> None:
    six = vip == VIP6
    ip("-n", lab.servers, "route", "add", "default", "via", "2001:db8:1::1" if six else "10.91.0.1")
    left, stays = [await lab.member(number, six=six) for number in (8, 9)]
    host.serve(balancer(left, vips=(vip,)), direct=True)
    client = lab.open_client(vip)
    assert await client.ask() == "m8"
    host.serve(balancer(stays, vips=(vip,)), direct=True)
    other = await lab.member(8, six=six, port=5001)
    with lab.all_datagrams(six=six) as arrived:
        left.send(b"late", client.address)
        other.send(b"others", client.address)
        assert await client.ask() == "m9"  # settled: what was sent before it has arrived
        content = b"".join(arrived.recv(2048) for _ in range(2))
        with pytest.raises(BlockingIOError):
            arrived.recv(2048)
    # what the server sends from elsewhere is not the load balancer's business
    assert b"others" in content
    assert b"late" not in content


async def test_ipv6_clients_reach_ipv6_members(lab: Lab, host: Host, members: list[Member]) -> None:
    six = await lab.member(9, six=True)
    host.serve(balancer(members[0], six, vips=(VIP, VIP6)))
    assert {await lab.ask(VIP6) for _ in range(5)} == {"m9"}
    assert {await lab.ask(VIP) for _ in range(5)} == {"m1"}


async def test_ipv6_flows_end_with_their_member(lab: Lab, host: Host) -> None:
    left, stays = [await lab.member(number, six=True) for number in (8, 9)]
    host.serve(balancer(left, vips=(VIP6,)))
    clients = [lab.open_client(VIP6) for _ in range(3)]
    assert {await client.ask() for client in clients} == {"m8"}
    host.serve(balancer(stays, vips=(VIP6,)))
    assert [await client.ask() for client in clients] == ["m9"] * 3


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
async def test_a_member_that_refuses_is_known_and_errors_of_clients_say_nothing_about_members(
    lab: Lab, host: Host, six: bool
) -> None:
    vip, inner_host = (VIP6, "2001:db8:1::1") if six else (VIP, "10.91.0.1")
    member = await lab.member(8, six=six)
    host.serve(balancer(member, vips=(vip,)))
    gone = lab.open_client(vip)
    assert await gone.ask() == "m8"
    port = gone.address[1]
    gone.close()
    member.send(b"late", (inner_host, port))
    # packets keep their order: after this one, the error that the client's host sent is here
    assert await lab.ask(vip) == "m8"
    assert in_namespace(lab.host, host.table.refusing_servers) == frozenset()
    member.stop()
    await asyncio.sleep(0)  # the event loop closes the socket in its next turn
    assert await lab.ask(vip) == "refused"
    assert in_namespace(lab.host, host.table.refusing_servers) == {FlowTarget(address=member.address, port=member.port)}


async def test_a_client_cannot_forge_that_a_member_refuses(lab: Lab, host: Host) -> None:
    member = await lab.member(8)
    ip("-n", lab.client, "route", "add", "10.91.0.1", "via", HOST)
    host.serve(balancer(member))
    client = lab.open_client(VIP)
    assert await client.ask() == "m8"
    # masquerading keeps a free port
    answered = struct.pack("!HHHH", client.address[1], member.port, 12, 0)
    addresses = socket.inet_aton("10.91.0.1") + socket.inet_aton(member.address)
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(answered), 0, 0, 64, socket.IPPROTO_UDP, 0) + addresses
    in_namespace(lab.client, lambda: _send_icmp("10.91.0.1", port_unreachable(header + answered)))
    # packets keep their order: after this one, the forged error was judged, which refuses its own client only
    assert await lab.ask() == "m8"
    refusing = in_namespace(lab.host, host.table.refusing_servers)
    assert {one.address for one in refusing} == {CLIENT}  # seen, and nobody's server


def port_unreachable(datagram: bytes) -> bytes:
    """The ICMP error of a host whose port is closed, with its checksum."""
    message = struct.pack("!BBHI", 3, 3, 0, 0) + datagram
    total = sum(struct.unpack(f"!{len(message) // 2}H", message))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return message[:2] + struct.pack("!H", ~total & 0xFFFF) + message[4:]


def _send_icmp(address: str, message: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sender:
        sender.sendto(message, (address, 0))


async def test_a_member_that_refuses_a_client_which_it_sees_itself_is_not_down(lab: Lab, host: Host) -> None:
    member = await lab.member(8)
    ip("-n", lab.servers, "route", "add", "default", "via", "10.91.0.1")
    host.serve(balancer(member), direct=True)
    client = lab.open_client(VIP)
    assert await client.ask() == "m8"
    member.stop()
    await asyncio.sleep(0)  # the event loop closes the socket in its next turn
    assert await client.ask() == "refused"
    assert in_namespace(lab.host, host.table.refusing_servers) == frozenset()


async def test_tenants_are_apart(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]), partition="p_1")
    host.serve(balancer(members[1], port=PORT + 1), partition="p_2")
    assert (await lab.ask(), await lab.ask(port=PORT + 1)) == ("m1", "m2")
    host.serve(partition="p_1")
    assert (await lab.ask(), await lab.ask(port=PORT + 1)) == ("refused", "m2")


async def test_a_flushed_ruleset_is_found_and_live_flows_go_on(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(*members))
    client = lab.open_client()
    mine = await client.ask()
    assert not host.restore()
    host.nft("flush ruleset")
    assert host.restore()
    assert await client.ask() == mine
    assert await lab.ask() in ("m1", "m2", "m3")
    assert not host.restore()


@pytest.mark.parametrize(
    "words",
    [
        "flush chain inet evenkeel dispatch",
        "delete element inet evenkeel owned4 { 192.0.2.10 . udp . 5353 }",
        "delete element inet evenkeel out4 { 192.0.2.10 . udp . 5353 }; "
        'add element inet evenkeel out4 { 192.0.2.11 . udp . 5353 : "out-p/lb1_f" }',
        "insert rule inet evenkeel deal accept",
        "flush chain inet evenkeel source",
        "delete table inet evenkeel",
    ],
)
async def test_changes_by_hand_are_undone(lab: Lab, host: Host, members: list[Member], words: str) -> None:
    host.serve(balancer(members[0]))
    host.nft(words)
    assert host.restore()
    assert await lab.ask() == "m1"
    assert not host.restore()


async def test_a_rule_replaced_by_hand_is_undone(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]))
    drop = "add rule inet evenkeel dispatch drop"
    host.nft(f"flush chain inet evenkeel dispatch; {'; '.join([drop] * 3)}")
    assert host.restore()
    assert await lab.ask() == "m1"


async def test_a_change_of_a_table_that_was_removed_makes_it_anew(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0], listener={"flows_max": 5}))
    host.nft("flush ruleset")
    host.serve(balancer(members[1]))
    assert await lab.ask() == "m2"
    assert not host.restore()


async def test_other_programs_rules_are_left_alone(lab: Lab, host: Host, members: list[Member]) -> None:
    host.nft("add table inet theirs; add chain inet theirs c")
    host.serve(balancer(members[0]))
    host.nft("add rule inet theirs c accept")
    assert not host.restore()
    assert "accept" in host.nft("list table inet theirs")


async def test_another_daemon_takes_the_table_over_without_a_change(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    config = balancer(*members, sticky_seconds=60)
    host.serve(config)
    mine = await lab.ask()
    host.table.close()
    following = KernelTable("evenkeel")
    in_namespace(lab.host, following.open)
    contents = {"p": partition_content("p", [config])}
    assert in_namespace(lab.host, lambda: following.adopt(contents))
    assert not in_namespace(lab.host, lambda: following.apply("p", contents["p"]))
    assert {await lab.ask() for _ in range(10)} == {mine}
    # its first change
    other = next(member for member in members if member.name != mine)
    changed = partition_content("p", [balancer(other, sticky_seconds=60)])
    assert in_namespace(lab.host, lambda: following.apply("p", changed))
    assert await lab.ask() == other.name
    following.close()


async def test_a_daemon_of_another_version_replaces_the_table_and_live_flows_lose_nothing(
    lab: Lab, host: Host, members: list[Member]
) -> None:
    config = balancer(*members)
    host.serve(config)
    host.nft("insert rule inet evenkeel deal counter")  # another version's rules differ
    host.table.close()
    following = KernelTable("evenkeel")
    async with Stream(lab, flows=6).flowing() as stream:
        await stream.more(60)
        in_namespace(lab.host, following.open)
        assert not in_namespace(lab.host, lambda: following.adopt({"p": partition_content("p", [config])}))
        assert await asyncio.to_thread(in_namespace, lab.host, following.restore)
        await stream.more(60)
    assert not stream.moves
    assert stream.answers.keys() <= {"m1", "m2", "m3"}  # settled: any other answer is a failure whenever it comes
    following.close()


async def test_flows_of_a_member_that_left_while_no_daemon_ran_end(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]))
    client = lab.open_client()
    assert await client.ask() == "m1"
    host.table.close()
    following = KernelTable("evenkeel")
    in_namespace(lab.host, following.open)
    contents = {"p": partition_content("p", [balancer(members[1])])}
    assert not in_namespace(lab.host, lambda: following.adopt(contents))
    assert in_namespace(lab.host, following.restore)
    assert await client.ask() == "m2"
    following.close()


async def test_counters_count_both_directions_and_flows(lab: Lab, host: Host, members: list[Member]) -> None:
    host.serve(balancer(members[0]))
    client = lab.open_client()
    for _ in range(4):
        await client.ask()
    counted = host.counters()
    assert (counted["in-p/lb1_f"].packets, counted["out-p/lb1_f"].packets, counted["new-p/lb1_f"].packets) == (4, 4, 1)
    host.serve(balancer(*members))
    assert host.counters()["in-p/lb1_f"].packets == 4

"""The device side of a cluster, HAProxy's: the daemon as a process, and the HAProxys that outlive it."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import msgspec
import pytest

from evenkeel.demo.addresses import choose_vip_address
from evenkeel.demo.cluster import Cluster
from evenkeel.demo.device_kinds.daemon import member_addresses
from evenkeel.demo.device_kinds.haproxy import HaproxyDevices
from evenkeel.demo.processes import ProcessFailed, stop_all
from evenkeel.demo.workspace import Workspace
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.layer4.kernel_table import read_table_outline
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket
from tests.waiting import eventually


@pytest.fixture
async def side(tmp_path: Path) -> AsyncIterator[HaproxyDevices]:
    workspace = Workspace(tmp_path)
    made = HaproxyDevices(workspace)
    try:
        await made.start()
        yield made
    finally:
        stop_all(list(workspace.processes.values()))
        await asyncio.to_thread(made.close)
        assert made.haproxy_pids() == []


def load_balancer() -> wire.LoadBalancerConfig:
    """One that listens on a free address and has no member to send to."""
    place = choose_vip_address(random.Random())
    return wire.LoadBalancerConfig(
        id="lb-1",
        revision=1,
        frontends=(
            wire.Frontend(
                name="front",
                binds=(wire.Bind(address=place.address, port=place.port),),
                lines=("mode http", "default_backend back"),
            ),
        ),
        backends=(
            wire.Backend(
                name="back",
                lines=("mode http", "balance roundrobin"),
                servers=(wire.BackendServer(name="member", address="127.0.0.1", port=9),),
            ),
        ),
    )


def as_agent(side: HaproxyDevices, host: str) -> tuple[str, dict[str, str]]:
    """The daemon's URL, and headers with the credential of the agent of ``host``."""
    section = side.agent_sections(host)["haproxy"]
    password = Path(str(section["haproxyd_password_file"])).read_text().strip()
    return str(section["haproxyd_url"]), {"Authorization": aiohttp.encode_basic_auth(host, password)}


async def put(side: HaproxyDevices, host: str, partition: str, change: wire.PartitionChange) -> wire.Receipt:
    """Write as the agent of ``host`` does, which moves the guard first."""
    url, headers = as_agent(side, host)
    path, trust = f"{url}/v1/partitions/{partition}", side.daemon.tls_context()
    wanted = wire.GuardState(epoch=change.epoch, session_id=f"session-of-{host}")
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.post(f"{path}/guard", data=msgspec.json.encode(wanted), ssl=trust) as answer:
            guard = msgspec.json.decode(await answer.read(), type=wire.GuardState)
        owned = msgspec.structs.replace(change, session_id=wanted.session_id, state_id=guard.state_id)
        async with http.put(path, data=msgspec.json.encode(owned), ssl=trust) as answer:
            said = await answer.read()
            assert answer.status == 200, said
            return msgspec.json.decode(said, type=wire.Receipt)


async def test_haproxy_outlives_its_daemon_and_is_found_again(side: HaproxyDevices) -> None:
    seen = side.last_write()
    await put(side, "host-1", "demo_tenant", wire.PartitionChange(epoch=1, load_balancers=(load_balancer(),)))
    assert side.writes_after(seen) == {"haproxy-1": 2}  # the guard and the change
    assert side.first_write_time("host-1", seen) is not None
    assert side.first_write_time("host-2", seen) is None
    assert side.members() == {"haproxy-1": {"127.0.0.1:9"}}
    proxies, url = side.haproxy_pids(), side.daemon.url
    assert proxies
    side.kill_daemon()
    assert side.haproxy_pids() == proxies
    await side.start()
    assert side.daemon.url == url
    members = {"haproxy-1": {"127.0.0.1:9"}}
    # a haproxy that only checks something ends soon
    await eventually(lambda: side.haproxy_pids() == proxies and side.members() == members)


async def test_closing_ends_what_outlives_the_daemon(side: HaproxyDevices) -> None:
    await put(side, "host-1", "demo_tenant", wire.PartitionChange(epoch=1, load_balancers=(load_balancer(),)))
    assert side.haproxy_pids()
    side.kill_daemon()
    await asyncio.to_thread(side.close)
    await eventually(lambda: not side.haproxy_pids())


def has_table(name: str) -> bool:
    with NetfilterSocket() as netfilter:
        return bool(read_table_outline(netfilter, name).rules)


async def test_the_table_of_forwarded_datagrams_is_the_demos_own_and_ends_with_it(side: HaproxyDevices) -> None:
    udp = wire.LoadBalancerConfig(
        id="lb-2",
        revision=1,
        datagram_listeners=(
            wire.DatagramListener(
                name="udp", binds=(wire.Bind(address=choose_vip_address(random.Random()).address, port=53),)
            ),
        ),
    )
    if side.daemon.read_versions().datagrams:
        pytest.skip("the kernel forwards nothing here")
    await put(side, "host-1", "demo_tenant", wire.PartitionChange(epoch=1, load_balancers=(udp,)))
    assert has_table(side.table)
    side.kill_daemon()
    await asyncio.to_thread(side.close)
    assert not has_table(side.table)


def test_a_machine_has_room_for_one_haproxy(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="device_names: one, two: one HAProxy fits on a machine"):
        Cluster(tmp_path, device="haproxy", device_names=("one", "two"))


def test_a_type_of_device_that_no_cluster_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="device: 'alteon' is not one of haproxy, bigip"):
        Cluster(tmp_path, device="alteon")


def test_haproxy_has_no_emulator(tmp_path: Path) -> None:
    with pytest.raises(ProcessFailed, match="the devices are of type haproxy"):
        _ = Cluster(tmp_path, device="haproxy").emulator


def test_members_are_listed_over_all_load_balancers_of_a_partition() -> None:
    servers = (
        wire.BackendServer(name="a", address="10.0.0.1", port=80),
        wire.BackendServer(name="b", address="10.0.0.2", port=81),
    )
    first = wire.LoadBalancerConfig(id="one", revision=1, backends=(wire.Backend(name="p", servers=servers),))
    second = wire.LoadBalancerConfig(id="two", revision=1, backends=(wire.Backend(name="q", servers=servers[:1]),))
    held = wire.PartitionConfig(name="tenant", epoch=1, load_balancers=(first, second))
    assert member_addresses(held) == {"10.0.0.1:80", "10.0.0.2:81"}

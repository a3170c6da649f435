"""Where other hosts' HAProxys reach a partition's: a port of its own, and never a reason not to serve."""

import asyncio
import contextlib
import os
import signal
import socket
import ssl
import time
from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.errors import InvalidChange
from evenkeel.haproxyd.network.peer_keys import make_peer_key, peer_certificate
from evenkeel.haproxyd.network.peer_ports import PeerPorts
from evenkeel.haproxyd.partition.request_validation import check_change
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.world import VIP_PORT, World, config_path, errors, files_of, free_vip, get, load_balancer, world
from tests.waiting import eventually

HERE = free_vip()
"""Of this test process alone: at one address all would look for their ports in the same range at once."""


async def test_partitions_that_begin_at_once_get_ports_of_their_own(monkeypatch):
    written = PartitionStorage.write_guard

    def slowly(storage, guard):
        time.sleep(0.1)
        written(storage, guard)

    monkeypatch.setattr(PartitionStorage, "write_guard", slowly)
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        names = [f"p{n}" for n in range(4)]
        receipts = await asyncio.gather(*(site.put(name, load_balancer(name, free_vip(), a)) for name in names))
        assert [errors(receipt) for receipt in receipts] == [{}] * 4
        assert len({receipt.peer.port for receipt in receipts}) == 4


async def test_partitions_that_have_the_same_port_on_disk_are_distinguished():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        for name in ("one", "two"):
            await site.put(name, load_balancer(name, free_vip(), a))
        one, two = (site.partitions.get(name) for name in ("one", "two"))
        await site.partitions.stop_all()
        (files_of(two).directory / "guard.json").write_bytes((files_of(one).directory / "guard.json").read_bytes())
        await site.restart()
        ports = {site.partitions.get(name).peer.port for name in ("one", "two")}
        assert len(ports) == 2 and one.peer.port in ports
        assert all(site.partitions.get(name).is_running for name in ("one", "two"))


async def test_a_peer_port_that_another_process_has_costs_the_peers_only():
    async with world(peers_address=HERE, restart_max_seconds=0.2) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("p", load_balancer("lb", vip, a))).peer.port
        await site.partitions.stop_all()
        with contextlib.closing(socket.create_server((HERE, port))):
            await site.restart()
            assert await get(vip) == "a"
            problem = site.partitions.get("p").problem
            assert (
                problem
                == f"peers are left out: address {HERE} port {port} cannot be listened on: another process uses it"
            )
            assert errors(await site.put("p", load_balancer("lb", vip, a, revision=2))) == {}
        supervisor = site.partitions.get("p")
        await eventually(lambda: not supervisor.problem and f"{HERE}:{port}" in config_path(supervisor).read_text())


async def test_peers_may_be_introduced_to_partitions_that_serve_already():
    async with world() as site:
        a = await site.member("a")
        wanted = {name: load_balancer(name, free_vip(), a) for name in ("one", "two")}
        for name, one in wanted.items():
            assert (await site.put(name, one)).peer is None
        site.settings = msgspec.structs.replace(site.settings, peers_address=HERE)
        await site.restart()
        receipts = [await site.put(name, one) for name, one in wanted.items()]
        assert len({receipt.peer.port for receipt in receipts}) == 2


async def test_an_empty_partition_gives_its_port_back():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("one", load_balancer("lb", vip, a))).peer.port
        await site.put("one")
        await eventually(lambda: site.partitions.get("one").peer is None)
        # settled: the put is the action of which this is the outcome
        assert (await site.put("two", load_balancer("lb", vip, a))).peer.port == port


async def test_a_haproxy_that_is_killed_has_its_port_again():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        vip = free_vip()
        port = (await site.put("p", load_balancer("lb", vip, a))).peer.port
        supervisor = site.partitions.get("p")
        os.kill(supervisor.worker_pid, signal.SIGKILL)
        await eventually(lambda: len(site.news) == 2)  # settled: the put is the action of which this is the outcome
        assert (await site.put("p", load_balancer("lb", vip, a))).peer.port == port
        assert supervisor.problem == ""


def test_a_port_has_one_partition(tmp_path):
    settings = DaemonSettings(name="x", state_dir=tmp_path, run_dir=tmp_path, peers_address=HERE)
    ports = PeerPorts(settings)
    first = ports.assign("a")
    assert ports.restore("a", first) == ports.assign("a") == first
    assert ports.restore("b", first) == 0
    ports.release("b", first)
    assert ports.assign("b") not in (0, first)
    ports.release("a", first)
    assert ports.restore("b", first) == first


# -- who is believed


def tls_of(key: str, trusted: str, folder: Path) -> ssl.SSLContext:
    """A client that shows a key; none if there is none."""
    context = ssl.create_default_context(cadata=trusted)
    context.check_hostname = False
    if key:
        (folder / "shown.pem").write_text(key)
        context.load_cert_chain(folder / "shown.pem")
    return context


async def answer(peer: wire.HaproxyPeer, tls: ssl.SSLContext | None) -> bytes:
    """What a HAProxy says to somebody who comes to it as its peer host-2; nothing if the line is dead."""
    try:
        async with asyncio.timeout(30):
            reader, writer = await asyncio.open_connection(peer.address, peer.port, ssl=tls)
            try:
                writer.write(f"HAProxyS 2.1\n{peer.name}\nhost-2 1 1\n".encode())
                return await reader.read(4)
            finally:
                writer.transport.abort()
    except TimeoutError:  # an OSError, too
        raise
    except OSError:
        return b""


async def introduce(site: World, partition: str, *peers: wire.HaproxyPeer) -> wire.Receipt:
    return await site.change(partition, complete=False, peers=peers)


async def test_peers_of_one_partition_believe_only_each_other(tmp_path):
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        one, two = [(await site.put(name, load_balancer(name, free_vip(), a))).peer for name in ("one", "two")]
        key, stranger = make_peer_key(), make_peer_key()
        other = wire.HaproxyPeer(name="host-2", address=HERE, port=9, certificate=peer_certificate(key))
        assert (await introduce(site, "one", other)).peers == (other,)
        assert await answer(one, tls_of(key, one.certificate, tmp_path)) == b"200\n"
        assert await answer(one, None) == b""
        assert await answer(one, tls_of("", one.certificate, tmp_path)) == b""
        assert await answer(one, tls_of(stranger, one.certificate, tmp_path)) == b""
        neighbours = (files_of(site.partitions.get("two")).keys_dir / "peer.pem").read_text()
        assert one.certificate != two.certificate == peer_certificate(neighbours)
        assert await answer(one, tls_of(neighbours, one.certificate, tmp_path)) == b""


async def test_a_load_balancer_that_is_aimed_at_the_peers_of_another_tenant_gets_nothing():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        victim = (await site.put("victim", load_balancer("lb", free_vip(), a))).peer
        vip = free_vip()
        target = wire.BackendServer(name="target", address=victim.address, port=victim.port)
        one = load_balancer("aimed", vip, target, lines=("mode tcp",), backend_lines=("mode tcp",))
        if not errors(await site.put("attacker", one)):
            through = wire.HaproxyPeer(name=victim.name, address=vip, port=VIP_PORT)
            assert await answer(through, None) == b""


async def test_a_key_outlives_the_daemon_and_one_that_is_broken_is_made_again():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        one = load_balancer("lb", free_vip(), a)
        peer = (await site.put("p", one)).peer
        await site.restart()
        supervisor = site.partitions.get("p")
        assert supervisor.peer == peer
        (files_of(supervisor).keys_dir / "peer.pem").write_text("no key")
        await site.restart()
        renewed = (await site.put("p", one)).peer
        assert renewed.port == peer.port and renewed.certificate not in ("", peer.certificate)


async def test_a_key_that_somebody_removed_from_haproxys_files_is_put_back():
    async with world(peers_address=HERE) as site:
        a = await site.member("a")
        one = load_balancer("lb", free_vip(), a)
        await site.put("p", one)
        files = files_of(site.partitions.get("p")).keys_dir / "files"
        before = {path.name: path.read_text() for path in files.iterdir()}
        for path in files.iterdir():
            path.unlink()
        await site.put("p", one)
        assert {path.name: path.read_text() for path in files.iterdir()} == before != {}


@pytest.mark.parametrize(
    ("certificate", "reason"),
    [
        ("", "is missing"),
        ("x", "one certificate in PEM form"),
        (peer_certificate(make_peer_key()) * 2, "one certificate in PEM form"),
        (f"-----BEGIN CERTIFICATE-----\n{'A' * 5000}\n-----END CERTIFICATE-----\n", "at most 4096 characters"),
        ("-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n", "is not a certificate"),
    ],
)
async def test_a_peer_without_a_certificate_is_refused(tmp_path, certificate, reason):
    settings = DaemonSettings(name="x", state_dir=tmp_path, run_dir=tmp_path)
    peer = wire.HaproxyPeer(name="host-2", address="127.0.0.1", port=1, certificate=certificate)
    with pytest.raises(InvalidChange, match=f"peer host-2: certificate: .*{reason}"):
        check_change(wire.PartitionChange(epoch=1, session_id="s", peers=(peer,)), complete=False, settings=settings)

"""Hosts that cannot forward datagrams: load balancers are refused with the reason, and others are served."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.errors import PartitionFailed
from evenkeel.haproxyd.layer4 import kernel
from evenkeel.haproxyd.layer4.balancer import DatagramBalancer
from evenkeel.haproxyd.layer4.forwarding import FORWARDING_SYSCTLS, forwarding_problem
from evenkeel.haproxyd.layer4.netlink import NetfilterSocket, NetlinkMessage, TransactionRefused
from evenkeel.haproxyd.layer4.ruleset import ServerKey
from evenkeel.haproxyd.ports import PartitionEvent
from evenkeel.haproxyd.settings import DaemonSettings
from tests.haproxyd.layer4.configs import balancer

SERVER = wire.BackendServer(name="m1", address="10.0.0.1", port=53)
UDP = balancer(SERVER)
TCP = wire.LoadBalancerConfig(id="tcp", revision=1)


class Refusing(NetfilterSocket):
    """nftables of a kernel that lacks a module."""

    def transact(self, messages: Iterable[NetlinkMessage], *, dry_run: bool = False) -> None:
        refused = next(place for place, (_, _, data) in enumerate(messages) if b"masq" in data)
        raise TransactionRefused(errno.ENOENT, "No such file or directory", refused)


def made(directory: Path, problem: str = "") -> DatagramBalancer:
    settings = DaemonSettings(
        name="host-1", state_dir=directory, run_dir=directory, nftables_table=f"evenkeel_test_{os.getpid()}"
    )
    return DatagramBalancer(settings, on_event=lambda event: None, forwarding=lambda families, protocols: problem)


@pytest.mark.usefixtures("possible")
async def test_another_daemon_with_the_same_table_is_named_until_it_ends(tmp_path: Path) -> None:
    first, second = made(tmp_path), made(tmp_path)
    try:
        await first.start({})
        await second.start({})
        assert first.refusal_reason(UDP) == ""
        assert "another daemon in this network namespace has the nftables table" in second.refusal_reason(UDP)
        assert second.refusal_reason(TCP) == ""
        await first.close()
        await second.verify_table()
        assert second.refusal_reason(UDP) == ""
    finally:
        await first.close()
        await second.close()


async def test_a_kernel_without_modules_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "NetfilterSocket", Refusing)
    found = made(tmp_path)
    await found.start({"p": {"lb1": UDP}})
    assert found.refusal_reason(UDP).endswith(
        "nftables: rule of source: meta l4proto udp ct status dnat ct original ip daddr . meta l4proto . "
        "ct original proto-dst @owned4 ct original ip daddr . meta l4proto . ct original proto-dst != @direct4 "
        "masquerade: No such file or directory"
    )


@pytest.mark.usefixtures("possible")
def test_a_daemon_without_the_capability_says_that_it_needs_it() -> None:
    table = f"evenkeel_test_{os.getpid()}"
    program = f"from evenkeel.haproxyd.layer4.kernel import KernelTable; KernelTable({table!r}).open()"
    words = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin", sys.executable, "-c", program]
    ended = subprocess.run(words, check=False, capture_output=True, text=True)
    assert "KernelRefused: nftables: Operation not permitted: the daemon needs CAP_NET_ADMIN" in ended.stderr


class Counting(Refusing):
    """A kernel that lacks a module, and counts how often it is tried."""

    tried = 0

    def transact(self, messages: Iterable[NetlinkMessage], *, dry_run: bool = False) -> None:
        type(self).tried += 1
        super().transact(messages, dry_run=dry_run)


@pytest.mark.usefixtures("possible")
async def test_a_kernel_that_lacks_something_is_tried_again_only_where_a_load_balancer_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "NetfilterSocket", Counting)
    monkeypatch.setattr(Counting, "tried", 0)
    found = made(tmp_path)
    await found.start({})
    for _ in range(3):
        await found.verify_table()
    assert Counting.tried == 1
    assert "No such file or directory" in found.refusal_reason(UDP)
    monkeypatch.setattr(kernel, "NetfilterSocket", NetfilterSocket)  # the module is there now
    await found.verify_table()
    assert found.refusal_reason(UDP) == ""
    await found.close()


async def test_other_changes_of_a_partition_go_on_where_its_datagrams_cannot_be_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "NetfilterSocket", Refusing)
    found = made(tmp_path)
    await found.start({"p": {"lb1": UDP}})
    assert not await found.forward_datagrams("p", {"lb1": UDP, "tcp": TCP})
    for other in ({"tcp": TCP}, {"lb1": balancer(SERVER, revision=2)}):
        with pytest.raises(PartitionFailed, match="No such file or directory"):
            await found.forward_datagrams("p", other)


@pytest.mark.usefixtures("possible")
async def test_a_host_that_does_not_forward_is_named(tmp_path: Path) -> None:
    found = made(tmp_path, "set net.ipv4.ip_forward = 1")
    await found.start({})
    assert found.refusal_reason(UDP).endswith("datagrams are not forwarded here: set net.ipv4.ip_forward = 1")
    assert found.host_problem == "set net.ipv4.ip_forward = 1"
    assert found.sctp_problem == "set net.ipv4.ip_forward = 1"
    await found.close()


def test_forwarding_is_needed_for_the_families_of_the_vips(tmp_path: Path) -> None:
    for family, value in {4: "1\n", 6: "0\n"}.items():
        path = tmp_path / FORWARDING_SYSCTLS[family]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value)
    assert forwarding_problem({4}, proc=tmp_path) == ""
    assert "net.ipv6.conf.all.forwarding = 1" in forwarding_problem({4, 6}, proc=tmp_path)


async def test_health_of_servers_without_datagrams_is_ignored(tmp_path: Path) -> None:
    found = made(tmp_path)
    key: ServerKey = ("elsewhere", "m1")
    found.observe("p", {key: False})
    found.record_event_health(PartitionEvent(partition="p", backend="lb1_b", server="m1", up=False))
    assert found._task is None

"""The whole text, as HAProxy takes it."""

from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import find_binary
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig, compose_config, load_balancer_sections, server_ids
from evenkeel.haproxyd.haproxy.config.config_bisect import bisect_refused, check_config
from evenkeel.haproxyd.haproxy.config.config_files import config_file_contents
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.haproxy.worker_users import WorkerUser
from evenkeel.haproxyd.network.peer_keys import make_peer_key, peer_certificate
from evenkeel.haproxyd.settings import DaemonSettings
from tests.services.haproxy import configured_binary

GOLDEN = Path(__file__).parent / "golden.cfg"
FRONTEND = wire.Frontend(
    name="web",
    binds=(wire.Bind(address="127.1.1.1", port=8080), wire.Bind(address="::1", port=8080)),
    maxconn=100,
    lines=("tcp-request connection reject unless { src -f web.acl }", "default_backend pool"),
)
POOL = wire.Backend(
    name="pool",
    lines=("balance roundrobin", "stick-table type ip size 10k expire 1h peers evenkeel", "stick on src"),
    servers=(
        wire.BackendServer(name="a", address="10.0.0.1", port=80, weight=7, arguments=("check", "inter", "5s")),
        wire.BackendServer(name="b", address="fd00::2", port=81, admin_up=False, backup=True),
    ),
)
PROXIED = wire.Backend(
    name="proxied", servers=(wire.BackendServer(name="a", address="10.0.0.1", port=80, arguments=("send-proxy-v2",)),)
)
ACL = wire.File(name="web.acl", kind="acl", content="10.0.0.0/8\n")
LB = wire.LoadBalancerConfig(id="lb-1", revision=3, frontends=(FRONTEND,), backends=(POOL, PROXIED), files=(ACL,))
KEY, OTHERS_KEY = make_peer_key(), make_peer_key()
PEER = wire.HaproxyPeer(name="host-1", address="127.0.0.1", port=10300, certificate=peer_certificate(KEY))
OTHER = wire.HaproxyPeer(name="host-2", address="fd00::9", port=10300, certificate=peer_certificate(OTHERS_KEY))
OUTDATED = wire.HaproxyPeer(name="host-3", address="fd00::10", port=10300)


def place(root: str) -> tuple[PartitionLayout, DaemonSettings]:
    folder = Path(root)
    layout = PartitionLayout(
        config_dir=folder / "conf",
        files_dir=folder / "files",
        server_states=folder / "states",
        master_socket=folder / "m",
        worker_socket=folder / "w",
        peer_socket=folder / "p",
    )
    return layout, DaemonSettings(name="host-1", state_dir=folder, run_dir=folder)


def test_text_is_as_recorded():
    config = HaproxyConfig(load_balancers={"lb-1": LB}, peer=PEER, peer_key=KEY, peers=(OTHER, OUTDATED))
    assert compose_config("tenant_1", config, *place("/var/lib/x")) == GOLDEN.read_text()


def test_order_and_revision_do_not_matter():
    second = wire.LoadBalancerConfig(id="lb-0", revision=1)
    one = compose_config("p", HaproxyConfig(load_balancers={"lb-1": LB, "lb-0": second}), *place("/x"))
    newer = msgspec.structs.replace(LB, revision=9)
    assert compose_config("p", HaproxyConfig(load_balancers={"lb-0": second, "lb-1": newer}), *place("/x")) == one


def test_a_servers_number_does_not_depend_on_the_others():
    few, many = server_ids(("a", "b")), server_ids(tuple("xbaq"))
    assert (few["a"], few["b"]) == (many["a"], many["b"])
    numbers = server_ids(tuple(f"member-{n}" for n in range(2000))).values()
    assert len(set(numbers)) == 2000 and min(numbers) > 0 and max(numbers) < 2**31


def test_workers_of_another_user_are_shut_in_and_may_connect_to_the_next_ones_peer_socket():
    layout, settings = place("/x")
    text = compose_config("p", HaproxyConfig(user=WorkerUser(uid=7, gid=8)), layout, settings)
    assert "    chroot /x/workers/root\n    uid 7\n    gid 8\n" in text
    assert "    bind unix@/x/p mode 600 uid 7 gid 8\n" in text


async def test_haproxy_takes_it(tmp_path):
    layout, settings = place(str(tmp_path))
    for folder in (layout.config_dir, layout.files_dir):
        folder.mkdir()
    binary = await find_binary(configured_binary())
    for config in (
        HaproxyConfig(),
        HaproxyConfig(load_balancers={"lb-1": LB}, peer=PEER, peer_key=KEY, peers=(OTHER,)),
        HaproxyConfig(load_balancers={"lb-1": LB}),
    ):
        for name, content in config_file_contents(config).items():
            (layout.files_dir / name).write_text(content)
        layout.config_file.write_text(compose_config("tenant_1", config, layout, settings))
        assert await check_config(binary, layout.config_dir, layout.files_dir, 60) == ""


@pytest.mark.parametrize(
    ("check", "connect", "replaced"),
    [("3s", "5000ms", "3000ms"), ("5s", "5000ms", None), ("10s", "5000ms", None), ("3s", None, None)],
)
def test_connections_end_with_a_shorter_check_where_haproxy_needs_it(check, connect, replaced):
    limits = {"check": check, "connect": connect}
    lines = tuple(f"timeout {name} {limit}" for name, limit in limits.items() if limit)
    pool = wire.Backend(name="pool", lines=("balance roundrobin", *lines))
    text = load_balancer_sections(wire.LoadBalancerConfig(id="lb-1", revision=1, backends=(pool,)))
    assert "timeout connect" in text or not connect
    found = [line.strip() for line in text.partition(".else\n")[2].splitlines()][:1]
    assert found == ([f"timeout connect {replaced}"] if replaced else [])


def test_traffic_log_has_the_format_of_a_frontends_access_log():
    bind, target = wire.Bind(address="192.0.2.1", port=80), wire.LogTarget(address="2001:db8::1", port=514)
    logged = wire.Frontend(name="f", binds=(bind,), lines=("log-format x",), access_log=target)
    text = load_balancer_sections(wire.LoadBalancerConfig(id="lb-1", revision=1, frontends=(logged,)), "192.0.2.9:514")
    assert "log udp@[2001:db8::1]:514 len 16384 format rfc5424 local1 emerg notice\n" in text
    assert "log udp@192.0.2.9:514 " in text
    assert "httplog" not in text


async def test_culprits_are_found_among_many():
    asked = []

    async def check(names):
        asked.append(len(names))
        return "bad" if {"lb3", "lb77"} & set(names) else ""

    assert await bisect_refused([f"lb{n}" for n in range(100)], check) == {"lb3": "bad", "lb77": "bad"}
    assert len(asked) < 30


async def test_load_balancers_that_clash_together_are_all_named():
    async def check(names):
        return "clash" if len(names) == 2 else ""

    assert await bisect_refused(["a", "b"], check) == {"a": "clash", "b": "clash"}
    assert await bisect_refused(["a"], check) == {}


def test_traffic_is_logged_where_the_operator_wants_it(tmp_path):
    layout, settings = place(str(tmp_path))
    settings = msgspec.structs.replace(settings, traffic_log="192.0.2.1:514")
    tcp = wire.Frontend(name="tcp", binds=FRONTEND.binds, lines=("mode tcp", "default_backend pool"))
    lb = msgspec.structs.replace(LB, frontends=(FRONTEND, tcp))
    text = compose_config("tenant_1", HaproxyConfig(load_balancers={"lb-1": lb}), layout, settings)
    web, other = text.split("frontend ")[1:3]
    target = "    log udp@192.0.2.1:514 len 4096 format rfc5424 local1 info\n"
    assert target in web and "option httplog" in web
    assert target in other.partition("\nbackend")[0] and "option tcplog" in other
    assert text.count(target) == 2

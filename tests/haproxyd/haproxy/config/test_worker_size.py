"""Sizes of workers, and what they write into the configuration."""

import socket
from pathlib import Path

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.disk.storage import PartitionStorage
from evenkeel.haproxyd.haproxy.config.bindability import drop_unbindable_peer
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig, compose_config
from evenkeel.haproxyd.haproxy.config.layout import partition_layout
from evenkeel.haproxyd.haproxy.config.worker_size import (
    CONNECTIONS_MAX,
    HOST_TLS_SESSIONS_MAX,
    SESSIONS_MAX,
    SESSIONS_MIN,
    TLS_SESSIONS_DIVISOR,
    UNLIMITED_CONNECTIONS,
    HostWorkerSizes,
    WorkerSize,
    grown_connections,
    open_files_needed,
    reserved_connections,
)
from evenkeel.haproxyd.haproxy.worker_users import WorkerUser
from evenkeel.haproxyd.settings import DaemonSettings

UNLIMITED = wire.Frontend(name="u", binds=(wire.Bind(address="127.0.0.1", port=80),))
TLS = wire.Frontend(name="t", binds=(), bind_arguments=("ssl", "crt-list", "t"))
PEER = wire.HaproxyPeer(name="host-1", address="192.0.2.1", port=10300, certificate="x")


def limited(connections: int) -> wire.Frontend:
    return wire.Frontend(name=f"limited-{connections}", binds=(), maxconn=connections)


def text_of(config: HaproxyConfig) -> str:
    settings = DaemonSettings(name="host-1", state_dir=Path("/var/lib/x"), run_dir=Path("/run/x"))
    storage = PartitionStorage(Path("/var/lib/x/p"), Path("/run/x/p"))
    return compose_config("p", config, partition_layout("p", storage, settings), settings)


def holding(*frontends: wire.Frontend, **attributes) -> HaproxyConfig:
    one = wire.LoadBalancerConfig(id="lb", revision=1, frontends=frontends)
    return HaproxyConfig(load_balancers={"lb": one}, **attributes)


def test_connections_are_the_sum_of_limits_and_some_for_all_unlimited_listeners():
    assert reserved_connections((limited(100), limited(40))) == 140
    assert reserved_connections((UNLIMITED,)) == reserved_connections((UNLIMITED, UNLIMITED)) == UNLIMITED_CONNECTIONS
    assert reserved_connections((limited(1000), UNLIMITED)) == 1000 + UNLIMITED_CONNECTIONS


def test_connections_are_rounded_up_to_two_digits_as_haproxy_rounds_down():
    assert reserved_connections((limited(12_345),)) == 13_000
    assert reserved_connections((limited(99),)) == 99
    assert reserved_connections((limited(101),)) == 110


def test_a_worker_of_more_connections_than_the_maximum_is_left_to_the_hosts_limits():
    assert reserved_connections((limited(CONNECTIONS_MAX),)) == CONNECTIONS_MAX
    assert reserved_connections((limited(CONNECTIONS_MAX + 1),)) == 0


def test_a_size_that_grew_is_kept_and_grows_no_further_by_being_kept():
    grown = reserved_connections((limited(1000), UNLIMITED), grown=8000)
    assert grown == reserved_connections((limited(1000), UNLIMITED), grown=grown) == 8000
    assert reserved_connections((limited(100),), grown=8000) == 100


def test_a_worker_grows_when_half_of_its_connections_are_used_unless_all_listeners_are_limited():
    size = WorkerSize(connections=2000)
    assert grown_connections(size, (UNLIMITED,), used=999) == 0
    assert grown_connections(size, (UNLIMITED,), used=1000) == 8000
    assert grown_connections(size, (limited(2000),), used=2000) == 0
    assert grown_connections(WorkerSize(), (UNLIMITED,), used=100_000) == 0


def test_a_size_holds_as_many_connections_and_fewer_and_one_without_limit_holds_all():
    assert WorkerSize(connections=2000).is_enough_for(2000)
    assert not WorkerSize(connections=2000).is_enough_for(2001)
    assert not WorkerSize(connections=2000).is_enough_for(0)
    assert WorkerSize().is_enough_for(0) and WorkerSize().is_enough_for(5000)


def test_workers_started_one_by_one_share_the_sessions_of_the_host_and_get_the_minimum_when_none_are_left():
    sizes = HostWorkerSizes(None)
    found = [sizes.choose_size(f"p-{number}", (TLS,), 0).tls_sessions for number in range(400)]
    assert found[:3] == [10_000, 9_000, 8_100]
    assert found[-1] == SESSIONS_MIN
    beyond_minimum = [sessions for sessions in found if sessions > SESSIONS_MIN]
    assert sum(beyond_minimum) <= HOST_TLS_SESSIONS_MAX
    # half a MiB of each of 100 workers, at 230 bytes a session
    assert sum(found[:100]) * 230 / 100 < 2**19


def test_a_worker_that_goes_on_holds_the_sessions_of_its_start():
    sizes = HostWorkerSizes(None)
    size = sizes.choose_size("p-0", (TLS,), 0)
    for number in range(1, 50):
        sizes.choose_size(f"p-{number}", (TLS,), 0)
    assert sizes.choose_size("p-0", (TLS,), 0).tls_sessions < size.tls_sessions
    sizes.record_size("p-0", size)
    late = sizes.choose_size("late", (TLS,), 0).tls_sessions
    for number in range(1, 50):
        sizes.release_sessions(f"p-{number}")
    assert late == SESSIONS_MIN
    sizes.release_sessions("late")
    assert (
        sizes.choose_size("p-1", (TLS,), 0).tls_sessions
        == (HOST_TLS_SESSIONS_MAX - size.tls_sessions) // TLS_SESSIONS_DIVISOR
    )


def test_a_reloaded_worker_takes_its_share_of_what_the_others_have_left():
    sizes = HostWorkerSizes(None)
    assert [sizes.choose_size("p", (TLS,), 0).tls_sessions for _ in range(3)] == [
        HOST_TLS_SESSIONS_MAX // TLS_SESSIONS_DIVISOR
    ] * 3


def test_a_worker_that_has_grown_remembers_a_session_for_each_connection():
    sizes = HostWorkerSizes(None)
    for number in range(400):
        sizes.choose_size(f"p-{number}", (TLS, UNLIMITED), 0)
    assert sizes.choose_size("p-7", (TLS, UNLIMITED), 8000).tls_sessions == 8000
    assert sizes.choose_size("p-8", (TLS, UNLIMITED), 1_000_000).tls_sessions == SESSIONS_MAX
    assert sizes.choose_size("p-9", (TLS, UNLIMITED), UNLIMITED_CONNECTIONS).tls_sessions == SESSIONS_MIN


def test_a_worker_whose_clients_resume_no_session_takes_none_of_the_hosts():
    sizes = HostWorkerSizes(None)
    verifying = wire.Frontend(name="v", binds=(), bind_arguments=("ssl", "crt-list", "t", "verify required"))
    assert sizes.choose_size("plain", (UNLIMITED,), 0).tls_sessions == 0
    assert sizes.choose_size("verifying", (TLS, verifying), 0).tls_sessions == 0
    assert sizes.choose_size("p", (TLS,), 0).tls_sessions == HOST_TLS_SESSIONS_MAX // TLS_SESSIONS_DIVISOR
    assert "    tune.ssl.cachesize 0\n" in text_of(holding(TLS, verifying))


def test_a_configured_maximum_of_connections_is_no_size():
    assert HostWorkerSizes(5000).choose_size("p", (UNLIMITED,), 0).connections == 0


def test_the_configuration_limits_open_files_and_tls_sessions_to_the_size():
    text = text_of(holding(TLS, UNLIMITED, size=WorkerSize(connections=2000, tls_sessions=3000)))
    files = open_files_needed(2000, tuple(holding(TLS, UNLIMITED).load_balancers.values()))
    assert f"    fd-hard-limit {files}\n" in text
    assert "    tune.ssl.cachesize 3000\n" in text
    assert "maxconn" not in text.partition("peers")[0]
    assert "fd-hard-limit" not in text_of(holding(UNLIMITED)) and "cachesize" not in text_of(holding(TLS))


def test_a_worker_that_uses_tls_for_peers_alone_remembers_no_sessions():
    assert "    tune.ssl.cachesize 0\n" in text_of(holding(UNLIMITED, peer=PEER))
    assert "    tune.ssl.cachesize 0\n" not in text_of(holding(TLS, peer=PEER))


def test_workers_keep_their_user_and_size_when_the_peers_address_cannot_be_bound():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        peer = wire.HaproxyPeer(name="host-1", address="127.0.0.1", port=other.getsockname()[1], certificate="x")
        config = holding(UNLIMITED, peer=peer, user=WorkerUser(uid=7, gid=8), size=WorkerSize(connections=2000))
        without, problem = drop_unbindable_peer(config, frozenset())
    assert problem
    assert without.peer is None
    assert (without.user, without.size) == (config.user, config.size)

"""The states that the next worker loads: what is known of health, and nothing that the configuration says."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.state_file import (
    DOWN,
    STATE_FILE_COLUMNS,
    UP,
    has_health_source,
    state_file_content,
)
from evenkeel.haproxyd.haproxy.runtime.worker_state import (
    CHECK_CONFIGURED,
    CHECK_ENABLED,
    MAINTENANCE_BITS,
    canonical_notation,
    table_rows,
)

MORE_COLUMNS = ("srv_use_ssl", "srv_check_port", "srv_check_addr", "srv_agent_addr", "srv_agent_port")
PING = wire.Ping(delay=1, timeout=1, rise=1, fall=1)
CHECKED = ("check", "inter", "5s")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "fd00::1")
NAMES = ("s1", "s2", "s3")

rows = st.fixed_dictionaries(
    {
        "be_name": st.sampled_from(["b1", "b2", "gone"]),
        "srv_name": st.sampled_from([*NAMES, "gone"]),
        "srv_addr": st.sampled_from(ADDRESSES),
        "srv_op_state": st.sampled_from(["0", "1", "2", "3"]),
        "srv_admin_state": st.sampled_from(["0", "1", "4", "5", "8", "12", "32"]),
        "srv_uweight": st.sampled_from(["0", "1", "256"]),
        "srv_iweight": st.sampled_from(["0", "1", "256"]),
        "srv_check_state": st.sampled_from(["0", "2", "6", "14"]),
        "srv_port": st.sampled_from(["80", "81"]),
        "srv_use_ssl": st.sampled_from(["0", "1"]),
        "srv_check_port": st.sampled_from(["0", "99"]),
        "srv_check_addr": st.sampled_from(["-", "10.9.9.9"]),
    }
)
servers = st.builds(
    wire.BackendServer,
    name=st.sampled_from(NAMES),
    address=st.sampled_from(ADDRESSES),
    port=st.sampled_from([80, 81]),
    weight=st.sampled_from([0, 1, 256]),
    admin_up=st.booleans(),
    arguments=st.sampled_from([(), CHECKED, ("ssl", "verify", "none"), (*CHECKED, "port", "77"), ("track", "b2/s1")]),
)
backends = st.builds(
    wire.Backend,
    name=st.just("b1"),
    servers=st.lists(servers, unique_by=lambda server: server.name, max_size=3).map(tuple),
    ping=st.sampled_from([None, PING]),
)
Row = dict[str, str]


def shown(*rows: Row) -> str:
    """What a worker answers about these servers."""
    lines = ["1", " ".join(("#", *STATE_FILE_COLUMNS, *MORE_COLUMNS))]
    defaults = {"srv_fqdn": "-", "srvrecord": "-", "srv_check_addr": "-", "srv_agent_addr": "-"}
    lines += [
        " ".join({**defaults, **row}.get(name, "0") for name in (*STATE_FILE_COLUMNS, *MORE_COLUMNS)) for row in rows
    ]
    return "\n".join((*lines, "", ""))


def config(*backends: wire.Backend) -> HaproxyConfig:
    return HaproxyConfig(load_balancers={"lb": wire.LoadBalancerConfig(id="lb", revision=1, backends=backends)})


CHECKS = CHECK_CONFIGURED | CHECK_ENABLED
"""Bits of a server that is checked; with the first alone its checks were disabled, and its health is old."""


@given(backends, st.lists(rows, max_size=6))
def test_a_file_has_one_whole_line_of_20_columns_for_each_server_in_service_before_and_after(
    backend: wire.Backend, rows: list[Row]
) -> None:
    text = state_file_content(config(backend), shown(*rows))
    version, head, *lines = text.removesuffix("\n").split("\n")
    assert (version, head, text[-1]) == ("1", "# " + " ".join(STATE_FILE_COLUMNS), "\n")
    assert {len(line.split()) for line in lines} <= {20}
    first: dict[tuple[str, str], Row] = {}
    for row in rows:
        first.setdefault((row["be_name"], row["srv_name"]), row)
    expected = {
        ("b1", server.name)
        for server in backend.servers
        if server.admin_up
        and ("b1", server.name) in first
        and not int(first["b1", server.name]["srv_admin_state"]) & MAINTENANCE_BITS
        and (
            int(first["b1", server.name]["srv_check_state"]) & CHECKS != CHECK_CONFIGURED
            or (canonical_notation(first["b1", server.name]["srv_addr"]), first["b1", server.name]["srv_port"])
            != (canonical_notation(server.address), str(server.port))
        )
    }
    found = [(row["be_name"], row["srv_name"]) for row in table_rows(text)]
    assert sorted(found) == sorted(expected)


@given(backends, st.lists(rows, max_size=6))
def test_configured_columns_of_the_state_file_are_the_configurations(backend: wire.Backend, rows: list[Row]) -> None:
    by_name = {server.name: server for server in backend.servers}
    for row in table_rows(state_file_content(config(backend), shown(*rows))):
        server = by_name[row["srv_name"]]
        assert (row["srv_port"], row["srv_admin_state"]) == (str(server.port), "0")
        assert row["srv_uweight"] == row["srv_iweight"] == str(server.weight)
        assert row["srv_check_state"] == ("6" if "check" in server.arguments else "0")


@given(backends, st.lists(rows, max_size=6))
def test_a_server_is_down_only_if_something_may_raise_it(backend: wire.Backend, rows: list[Row]) -> None:
    by_name = {server.name: server for server in backend.servers}
    for row in table_rows(state_file_content(config(backend), shown(*rows))):
        assert row["srv_op_state"] in (DOWN, UP)
        assert row["srv_op_state"] == UP or has_health_source(backend, by_name[row["srv_name"]])


@given(backends, st.lists(rows, max_size=6))
def test_a_file_that_is_read_again_stays_the_same_for_servers_that_do_not_move(
    backend: wire.Backend, rows: list[Row]
) -> None:
    here = tuple(msgspec.structs.replace(server, address=ADDRESSES[0], port=80) for server in backend.servers)
    there = [{**row, "srv_addr": ADDRESSES[0], "srv_port": "80"} for row in rows]
    once = state_file_content(config(msgspec.structs.replace(backend, servers=here)), shown(*there))
    assert state_file_content(config(msgspec.structs.replace(backend, servers=here)), once) == once


@pytest.mark.parametrize(
    ("arguments", "ping", "before", "after"),
    [
        (CHECKED, None, "0", DOWN),
        (CHECKED, None, "2", UP),
        (CHECKED, None, "1", UP),
        ((), None, "0", UP),
        ((), PING, "0", DOWN),
        ((), PING, "2", UP),
        (("track", "b2/s1"), None, "0", DOWN),
    ],
)
def test_health_of_an_unchanged_target_is_kept_where_it_is_judged(
    arguments: tuple[str, ...], ping: wire.Ping | None, before: str, after: str
) -> None:
    server = wire.BackendServer(name="s1", address="fd00:0::1", port=80, arguments=arguments)
    row = {"be_name": "b1", "srv_name": "s1", "srv_addr": "fd00::1", "srv_port": "80", "srv_op_state": before}
    text = state_file_content(config(wire.Backend(name="b1", servers=(server,), ping=ping)), shown(row))
    assert [row["srv_op_state"] for row in table_rows(text)] == [after]


@pytest.mark.parametrize("place", [{"srv_addr": "10.0.0.2", "srv_port": "80"}, {"srv_port": "81"}])
@pytest.mark.parametrize("before", ["0", "2"])
@pytest.mark.parametrize(("arguments", "ping", "after"), [(CHECKED, None, DOWN), ((), None, UP), ((), PING, UP)])
def test_a_new_target_is_down_until_its_checks_have_succeeded(
    place: Row, before: str, arguments: tuple[str, ...], ping: wire.Ping | None, after: str
) -> None:
    server = wire.BackendServer(name="s1", address="10.0.0.1", port=80, arguments=arguments)
    row = {"be_name": "b1", "srv_name": "s1", "srv_addr": "10.0.0.1", "srv_op_state": before, **place}
    text = state_file_content(config(wire.Backend(name="b1", servers=(server,), ping=ping)), shown(row))
    assert [row["srv_op_state"] for row in table_rows(text)] == [after]


@pytest.mark.parametrize("text", ["", "\n", "1\n", "Unknown command\n", "1\n# be_id be_name srv_name\n3 b1\n"])
def test_an_answer_without_servers_gives_a_file_without_lines(text: str) -> None:
    server = wire.BackendServer(name="s1", address="10.0.0.1", port=80)
    written = state_file_content(config(wire.Backend(name="b1", servers=(server,))), text)
    assert written == f"1\n# {' '.join(STATE_FILE_COLUMNS)}\n"

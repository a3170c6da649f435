"""Manual changes of a running HAProxy: what is found of which load balancer, and what undoes it."""

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload
from evenkeel.haproxyd.haproxy.runtime.drift import frontend_drift, list_drift, server_drift
from evenkeel.haproxyd.haproxy.runtime.worker_state import server_states

HEAD = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port
"""  # noqa: E501
SERVER = wire.BackendServer(name="s1", address="10.0.0.1", port=80)


def row(
    backend: str,
    name: str,
    *,
    address: str = "10.0.0.1",
    health: int = 2,
    admin: int = 0,
    weight: int = 1,
    checks: int = 6,
    port: int = 80,
    more: str = "0 0 -",
) -> str:
    """As 2.6.12 has it. ``more``: TLS, port and address of checks."""
    rest = f"5 6 3 4 {checks} 0 0 0 - {port} - {more} - 0"
    return f"3 {backend} 1 {name} {address} {health} {admin} {weight} 1 {rest}\n"


def config(*names: str, arguments: tuple[str, ...] = (), ping: wire.Ping | None = None) -> HaproxyConfig:
    server = msgspec.structs.replace(SERVER, arguments=arguments)
    return HaproxyConfig(
        load_balancers={
            name: wire.LoadBalancerConfig(
                id=name,
                revision=1,
                frontends=(wire.Frontend(name=f"{name}-f", binds=(), maxconn=10),),
                backends=(wire.Backend(name=f"{name}-b", servers=(server,), ping=ping),),
                files=(wire.File(name=f"{name}.acl", kind="acl", content="10.0.0.0/8\n"),),
            )
            for name in names
        }
    )


def test_servers_as_they_should_be_are_not_found() -> None:
    drift = server_drift(config("a", "b"), server_states(HEAD + row("a-b", "s1") + row("b-b", "s1")))
    assert (drift.findings, drift.to_delete) == ((), frozenset())


@pytest.mark.parametrize(
    ("changed", "what", "command"),
    [
        ({"weight": 9}, "weight", "set server b-b/s1 weight 1"),
        ({"admin": 1}, "state", "set server b-b/s1 state ready"),
        ({"admin": 8}, "state", "set server b-b/s1 state ready"),
        ({"address": "10.9.9.9"}, "address", "set server b-b/s1 addr 10.0.0.1 port 80"),
        ({"port": 81}, "address", "set server b-b/s1 addr 10.0.0.1 port 80"),
        ({"health": 0}, "health", "set server b-b/s1 health up"),
        ({"health": 0, "admin": 1}, "state", "set server b-b/s1 state ready"),
        ({"more": "1 0 -"}, "TLS", "set server b-b/s1 ssl off"),
    ],
)
def test_a_changed_server_is_its_load_balancers(changed: dict, what: str, command: str) -> None:
    (found,) = server_drift(
        config("a", "b"), server_states(HEAD + row("a-b", "s1") + row("b-b", "s1", **changed))
    ).findings
    assert found.load_balancer_id == "b"
    assert (found.text, found.command.text) == (f"server s1 of backend b-b was changed ({what})", command)


PLACE = "address or port of checks"


def test_checks_at_a_servers_own_place_are_no_drift_and_restored() -> None:
    arguments = ("check", "inter", "1s")
    own = HEAD + row("a-b", "s1", checks=6, more="0 0 0.0.0.0")
    assert not server_drift(config("a", arguments=arguments), server_states(own)).findings
    elsewhere = HEAD + row("a-b", "s1", checks=6, more="0 9 10.0.0.7")
    (found,) = server_drift(config("a", arguments=arguments), server_states(elsewhere)).findings
    assert found.command.text == "set server a-b/s1 check-addr 0.0.0.0 port 0"


@pytest.mark.parametrize(
    ("changed", "what", "command"),
    [
        ({"more": "0 77 10.0.0.7"}, "TLS", "set server a-b/s1 ssl on"),
        ({"more": "1 78 10.0.0.7"}, PLACE, "set server a-b/s1 check-addr 10.0.0.7 port 77"),
        ({"more": "1 0 10.0.0.7"}, PLACE, "set server a-b/s1 check-addr 10.0.0.7 port 77"),
        ({"more": "1 77 10.0.0.8"}, PLACE, "set server a-b/s1 check-addr 10.0.0.7 port 77"),
        ({"more": "1 77 0.0.0.0"}, PLACE, "set server a-b/s1 check-addr 10.0.0.7 port 77"),
        ({"checks": 2}, "checks", "enable health a-b/s1"),
    ],
)
def test_checks_and_tls_are_compared_with_the_arguments(changed: dict, what: str, command: str) -> None:
    arguments = ("ssl", "verify", "none", "check", "addr", "10.0.0.7", "port", "77")
    as_shown = {"more": "1 77 10.0.0.7", **changed}
    (found,) = server_drift(
        config("a", arguments=arguments), server_states(HEAD + row("a-b", "s1", **as_shown))
    ).findings
    assert (found.text, found.command.text) == (f"server s1 of backend a-b was changed ({what})", command)


@pytest.mark.parametrize(
    "judge",
    [
        {"arguments": ("check", "inter", "5s")},
        {"arguments": ("track", "b/s")},
        {"ping": wire.Ping(delay=1, timeout=1, rise=1, fall=1)},
    ],
)
def test_a_server_that_is_down_is_left_to_what_judges_it(judge: dict) -> None:
    seen = server_states(HEAD + row("a-b", "s1", health=0))
    assert server_drift(config("a", **judge), seen).findings == ()
    assert server_drift(config("a"), seen, pinged={("a-b", "s1")}).findings == ()
    assert server_drift(config("a"), seen).findings


def test_a_server_that_was_disabled_at_its_start_and_put_up_is_in_service() -> None:
    seen = server_states(HEAD + row("a-b", "s1", admin=4))
    assert (seen["a-b", "s1"].admin_up, seen["a-b", "s1"].up) == (True, True)
    assert server_drift(config("a"), seen).findings == ()


def test_a_server_that_was_added_is_taken_out_and_deleted() -> None:
    drift = server_drift(config("a"), server_states(HEAD + row("a-b", "s1") + row("a-b", "s2") + row("other", "s3")))
    (found,) = drift.findings
    assert (found.load_balancer_id, found.text) == ("a", "server s2 of backend a-b was added")
    assert (found.command.text, drift.to_delete) == ("set server a-b/s2 state maint", {("a-b", "s2")})


def test_missing_server_needs_a_reload() -> None:
    with pytest.raises(NeedsReload, match="server b-b/s1 is not there") as reason:
        server_drift(config("a", "b"), server_states(HEAD + row("a-b", "s1")))
    assert reason.value.load_balancer_id == "b"


def test_a_frontend_that_was_closed_or_limited_is_found() -> None:
    text = "# pxname,svname,slim,status\na-f,FRONTEND,10,OPEN\nb-f,FRONTEND,5,FULL\n"
    found = frontend_drift(config("a", "b"), text)
    assert [(one.load_balancer_id, one.text) for one in found] == [
        ("b", "frontend b-f was closed"),
        ("b", "frontend b-f was changed (maxconn)"),
    ]
    with pytest.raises(NeedsReload, match="frontend b-f is not there"):
        frontend_drift(config("a", "b"), text.replace("FULL", "STOP"))


def test_a_list_that_was_changed_is_found() -> None:
    acl = wire.File(name="a.acl", kind="acl", content="10.0.0.0/8\n")
    assert list_drift("a", acl, "0x1 10.0.0.0/8\n") == ()
    found = list_drift("a", acl, "0x1 10.9.0.0/16\n")
    assert {(each.load_balancer_id, each.text) for each in found} == {("a", "list a.acl was changed")}
    assert [each.command.text for each in found] == ["add acl a.acl 10.0.0.0/8", "del acl a.acl 10.9.0.0/16"]


def test_a_map_that_was_changed_is_found() -> None:
    file = wire.File(name="a.map", kind="map", content="/x 1\n/y 2\n")
    assert list_drift("a", file, "0x1 /y 2\n0x2 /x 1\n") == ()
    found = list_drift("a", file, "0x1 /x 9\n0x2 /z 3\n")
    assert [each.command.text for each in found] == ["add map a.map /y 2", "set map a.map /x 1", "del map a.map /z"]
    with pytest.raises(NeedsReload, match=r"file a\.map"):
        list_drift("a", file, "0x1 /x 1\n0x2 /x 2\n0x3 /y 2\n")


def test_columns_are_found_by_name() -> None:
    text = (
        "1\n# srv_port be_name srv_name srv_addr srv_new srv_op_state srv_admin_state srv_uweight srv_check_state "
        "srv_check_addr srv_check_port srv_use_ssl\n80 a-b s1 10.0.0.1 x 2 0 1 6 - 0 0\n"
    )
    drift = server_drift(config("a"), server_states(text))
    assert (drift.findings, drift.to_delete) == ((), frozenset())


def test_lines_that_lack_columns_are_ignored() -> None:
    text = HEAD + row("a-b", "s1") + "3 b-b 1 s1 10.0.0.1\n"
    assert list(server_states(text)) == [("a-b", "s1")]

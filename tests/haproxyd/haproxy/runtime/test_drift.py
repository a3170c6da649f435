"""Manual changes of a running HAProxy: what is found of which load balancer, and what undoes it."""

import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload
from evenkeel.haproxyd.haproxy.runtime.drift import acl_drift, frontend_drift, kept_states, server_drift
from evenkeel.haproxyd.haproxy.runtime.worker_state import server_states

HEAD = """1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port
"""  # noqa: E501
SERVER = wire.BackendServer(name="s1", address="10.0.0.1", port=80)


def row(backend: str, name: str, *, address: str = "10.0.0.1", admin: int = 0, weight: int = 1, port: int = 80) -> str:
    """As 2.6.12 has it."""
    return f"3 {backend} 1 {name} {address} 2 {admin} {weight} 1 5 6 3 4 6 0 0 0 - {port} - 0 0 - - 0\n"


def config(*names: str) -> HaproxyConfig:
    return HaproxyConfig(
        load_balancers={
            name: wire.LoadBalancerConfig(
                id=name,
                revision=1,
                frontends=(wire.Frontend(name=f"{name}-f", binds=(), maxconn=10),),
                backends=(wire.Backend(name=f"{name}-b", servers=(SERVER,)),),
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
    ],
)
def test_a_changed_server_is_its_load_balancers(changed: dict, what: str, command: str) -> None:
    (found,) = server_drift(
        config("a", "b"), server_states(HEAD + row("a-b", "s1") + row("b-b", "s1", **changed))
    ).findings
    assert found.load_balancer_id == "b"
    assert (found.text, found.command.text) == (f"server s1 of backend b-b was changed ({what})", command)


def test_a_server_that_was_added_is_taken_out_and_deleted() -> None:
    drift = server_drift(config("a"), server_states(HEAD + row("a-b", "s1") + row("a-b", "s2") + row("other", "s3")))
    (found,) = drift.findings
    assert (found.load_balancer_id, found.text) == ("a", "server s2 of backend a-b was added")
    assert (found.command.text, drift.to_delete) == ("set server a-b/s2 state maint", {("a-b", "s2")})


def test_what_is_not_there_needs_a_reload() -> None:
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
    (one,) = config("a").load_balancers.values()
    assert acl_drift(one, "a.acl", "0x1 10.0.0.0/8\n") == ()
    found = acl_drift(one, "a.acl", "0x1 10.9.0.0/16\n")
    assert {(each.load_balancer_id, each.text) for each in found} == {("a", "list a.acl was changed")}
    assert [each.command.text for each in found] == ["add acl a.acl 10.0.0.0/8", "del acl a.acl 10.9.0.0/16"]


def test_columns_are_found_by_name() -> None:
    text = "1\n# srv_port be_name srv_name srv_addr srv_new srv_op_state srv_admin_state srv_uweight srv_check_state\n"
    text += "80 a-b s1 10.0.0.1 x 2 0 1 6\n"
    drift = server_drift(config("a"), server_states(text))
    assert (drift.findings, drift.to_delete) == ((), frozenset())
    assert kept_states(config("a"), text) == text


def test_states_of_servers_that_have_moved_are_not_kept() -> None:
    stays, moved, cut = row("a-b", "s1"), row("b-b", "s1", address="10.0.0.9"), "3 b-b 1 s1 10.0.0.1\n"
    text = HEAD + stays + moved + cut
    assert kept_states(config("a", "b"), text) == HEAD + stays + cut
    assert list(server_states(text)) == [("a-b", "s1"), ("b-b", "s1")]

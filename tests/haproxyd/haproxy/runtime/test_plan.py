from pathlib import Path

import msgspec
import pytest

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import HaproxyBinary
from evenkeel.haproxyd.haproxy.config.compose import HaproxyConfig
from evenkeel.haproxyd.haproxy.runtime.plan import plan_change

OLD = HaproxyBinary(path=Path("/x"), version="2.6.12", release=(2, 6))
NEW = HaproxyBinary(path=Path("/x"), version="2.8.25", release=(2, 8))

A = wire.BackendServer(name="a", address="10.0.0.1", port=80, arguments=("check", "inter", "5s"))
B = wire.BackendServer(name="b", address="fd00::2", port=80)
LB = wire.LoadBalancerConfig(
    id="lb",
    revision=1,
    frontends=(wire.Frontend(name="f", binds=(wire.Bind(address="127.1.1.1", port=80),), maxconn=10),),
    backends=(wire.Backend(name="p", servers=(A, B)),),
    files=(
        wire.File(name="a.acl", kind="acl", content="10.0.0.0/8\n"),
        wire.File(name="c.pem", kind="certificate", content="x\n"),
    ),
)


def change(one, **fields):
    return msgspec.structs.replace(one, **fields)


def pool(*servers, **fields):
    return change(LB, backends=(change(LB.backends[0], servers=servers, **fields),))


def planned(after, before=LB, binary=OLD, to_delete=frozenset()):
    held = {} if after is None else {"lb": after}
    return plan_change(
        HaproxyConfig(load_balancers={"lb": before}), HaproxyConfig(load_balancers=held), binary, to_delete
    )


def texts(after, **how):
    result = planned(after, **how)
    assert not result.reason
    return [command.text for command in result.commands]


def test_unchanged_load_balancer_needs_no_command():
    assert planned(LB) == planned(change(LB, revision=2))
    assert not planned(LB).commands and not planned(LB).reason


def test_weight_and_admin_state_are_commands():
    assert texts(pool(change(A, weight=7), change(B, admin_up=False))) == [
        "set server p/a weight 7",
        "set server p/b state maint",
    ]
    assert texts(LB, before=pool(A, change(B, admin_up=False))) == ["set server p/b state ready"]


def test_a_member_is_added_with_all_its_words_then_checked_then_enabled():
    added = texts(LB, before=pool(B))
    assert added[0].startswith("add server p/a 10.0.0.1:80 id ") and added[0].endswith("weight 1 check inter 5s")
    assert added[1:] == ["enable health p/a", "enable server p/a"]
    assert texts(LB, before=pool(A))[0].startswith("add server p/b [fd00::2]:80 id ")


def test_a_member_that_is_down_is_added_and_stays_down():
    assert not any("enable server" in text for text in texts(pool(change(A, admin_up=False), B), before=pool(B)))


def test_checks_of_a_member_added_in_maintenance_are_enabled_once_it_is_put_into_service():
    down = change(A, admin_up=False)
    assert not any("health" in text for text in texts(pool(down, B), before=pool(B)))
    assert texts(pool(A, B), before=pool(down, B)) == ["enable health p/a", "set server p/a state ready"]


def test_a_removed_member_goes_into_maintenance_and_is_remembered():
    result = planned(pool(B))
    assert [command.text for command in result.commands] == ["set server p/a state maint"]
    assert result.to_delete == {("p", "a")}


def test_a_member_that_is_still_there_is_not_added_twice():
    assert planned(LB, before=pool(B), to_delete=frozenset({("p", "a")})).reason


def test_members_with_cookies_are_added_at_runtime_where_haproxy_can():
    with_cookie = pool(change(A, arguments=("cookie", "a")), B)
    assert planned(with_cookie, before=pool(B), binary=OLD).reason
    assert not planned(with_cookie, before=pool(B), binary=NEW).reason


@pytest.mark.parametrize("arguments", [("ssl", "verify", "none", "check"), ("check", "check-ssl", "verify", "none")])
def test_members_checked_over_tls_are_added_without_a_name_of_haproxys_own_where_haproxy_can(arguments):
    checked = pool(change(A, arguments=arguments), B)
    in_3_3, in_3_4 = (HaproxyBinary(path=Path("/x"), version=f"3.{minor}.7", release=(3, minor)) for minor in (3, 4))
    assert "no-check-sni-auto" not in planned(checked, before=pool(B), binary=NEW).commands[0].text
    assert planned(checked, before=pool(B), binary=in_3_3).reason
    assert planned(checked, before=pool(B), binary=in_3_4).commands[0].text.endswith(" no-check-sni-auto")
    assert "no-check-sni-auto" not in planned(LB, before=pool(B), binary=in_3_4).commands[0].text


@pytest.mark.parametrize(
    ("arguments", "implied"),
    [
        (("check", "ssl", "verify", "none"), ["check-ssl"]),
        (("ssl", "check", "check-ssl", "verify", "none"), []),
        (("check", "send-proxy"), ["check-send-proxy"]),
        (("ssl", "send-proxy-v2-ssl-cn", "check"), ["check-ssl", "check-send-proxy"]),
        (("ssl", "send-proxy", "check", "port", "81"), []),
        (("ssl", "send-proxy", "check", "addr", "10.0.0.9"), []),
        (("ssl", "send-proxy"), []),
        (("check", "check-sni", "ssl"), []),
    ],
)
def test_checks_of_an_added_member_speak_what_those_of_a_member_in_the_file_do(arguments, implied):
    added = wire.BackendServer(name="c", address="10.0.0.3", port=80, arguments=arguments)
    command = next(text for text in texts(pool(A, B, added)) if text.startswith("add server"))
    assert [word for word in command.split() if word in ("check-ssl", "check-send-proxy")] == (
        implied or [word for word in arguments if word == "check-ssl"]
    )


def test_limits_lists_and_certificates_are_commands():
    frontend = (change(LB.frontends[0], maxconn=20),)
    assert texts(change(LB, frontends=frontend)) == ["set maxconn frontend f 20"]
    unlimited = change(LB, frontends=(change(LB.frontends[0], maxconn=None),))
    assert texts(LB, before=unlimited) == ["set maxconn frontend f 10"]
    files = (change(LB.files[0], content="11.0.0.0/8\n"), LB.files[1])
    assert texts(change(LB, files=files)) == ["add acl a.acl 11.0.0.0/8", "del acl a.acl 10.0.0.0/8"]
    known = change(LB, files=(wire.File(name="a.map", kind="map", content="/x 1\n"),))
    empty, odd = (change(known, files=(change(known.files[0], content=text),)) for text in ("", "/x a 'b\n"))
    assert texts(known, before=empty) == ["add map a.map /x 1"]
    assert texts(empty, before=known) == ["del map a.map /x"]
    assert planned(odd, before=known).reason == "file a.map"
    files = (LB.files[0], change(LB.files[1], content="y\n\nz\n"))
    rotated = planned(change(LB, files=files)).commands
    assert [command.text for command in rotated] == ["set ssl cert c.pem", "commit ssl cert c.pem"]
    assert rotated[0].payload == "y\nz\n"


FIXED = HaproxyBinary(path=Path("/x"), version="2.8.25-5cf5d0683", release=(2, 8))


def listed(*names, content="x\n", kind="certificate"):
    files = [wire.File(name=name, kind=kind, content=content, sha256=content.strip()) for name in names]
    lines = "".join(f"{name}\n" for name in names)
    return change(LB, files=(*files, wire.File(name="l.list", kind="crt_list", content=lines)))


def test_a_certificate_comes_before_a_listener_has_it_and_goes_after_that():
    come = planned(listed("a", "b"), before=listed("a"))
    assert [(command.text, command.payload) for command in come.commands] == [
        ("new ssl cert b", ""),
        ("set ssl cert b", "x\n"),
        ("commit ssl cert b", ""),
        ("add ssl crt-list l.list", "b\n"),
    ]
    gone = planned(listed("a"), before=listed("a", "b"))
    assert [command.text for command in gone.commands] == ["del ssl crt-list l.list b", "del ssl cert b"]
    assert texts(listed("a", "c"), before=listed("a", "b"))[3:] == [
        "add ssl crt-list l.list",
        "del ssl crt-list l.list b",
        "del ssl cert b",
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (listed("a", "b"), listed("b")),
        (listed("a", "b"), listed("b", "a")),
        (listed("a", "c"), listed("a", "b", "c")),
        (listed("a", "x:b"), listed("a")),
        (listed("a"), listed("a", "b", content="x" * 15_000 + "\n")),
        (listed("a"), listed("a", "b", kind="ca")),
        (listed("a", "b"), change(listed("a", "b"), files=listed("a", "b").files[1:])),
    ],
)
def test_a_listeners_certificates_that_the_process_would_order_otherwise_are_a_reload(before, after):
    assert planned(after, before=before).reason


def test_a_new_name_for_the_same_content_is_nothing():
    same = change(LB, files=(LB.files[0], change(LB.files[1], sha256="abc")))
    assert not planned(same).reason and not planned(same).commands


@pytest.mark.parametrize(("kind", "word"), [("ca", "ca-file"), ("crl", "crl-file")])
def test_authorities_and_lists_change_where_haproxy_survives_it(kind, word):
    def with_file(content):
        return change(LB, files=(wire.File(name="f.pem", kind=kind, content=content),))

    changed = texts(with_file("b\n"), before=with_file("a\n"), binary=FIXED)
    assert changed == [f"set ssl {word} f.pem", f"commit ssl {word} f.pem"]
    for binary in (OLD, HaproxyBinary(path=Path("/x"), version="2.8.24", release=(2, 8)), NEW):
        assert bool(planned(with_file("b\n"), before=with_file("a\n"), binary=binary).reason) == (binary is not NEW)


def test_secrets_of_commands_are_in_no_text():
    (rotated, _) = planned(change(LB, files=(LB.files[0], change(LB.files[1], content="SECRET-KEY\n")))).commands
    assert "SECRET" not in repr(rotated)
    assert "SECRET" not in rotated.loggable_answer("Unknown command: 'SECRET-KEY'\n")
    assert rotated.loggable_answer("unable to load certificate\n") == "unable to load certificate"


@pytest.mark.parametrize(
    "after",
    [
        change(LB, frontends=(change(LB.frontends[0], lines=("timeout client 1s",)),)),
        change(LB, frontends=(change(LB.frontends[0], maxconn=None),)),
        change(LB, files=(change(LB.files[0], content="a;b\n"), LB.files[1])),
        pool(change(A, backup=True), B),
        pool(change(A, arguments=()), B),
        pool(A, B, lines=("balance source",)),
        pool(A, B, wire.BackendServer(name="c", address="10.0.0.3", port=1, arguments=('"odd word"',))),
        pool(A, B, wire.BackendServer(name="c", address="10.0.0.3", port=1), dynamic=False),
    ],
)
def test_everything_else_is_a_reload(after):
    assert planned(after).reason


def test_servers_of_a_ping_monitor_that_is_removed_are_set_up():
    pinged = pool(A, B, change(B, name="off", admin_up=False), ping=wire.Ping(delay=1, timeout=1, rise=1, fall=1))
    assert texts(pool(A, B, change(B, name="off", admin_up=False)), before=pinged) == ["set server p/b health up"]
    assert texts(pinged, before=pool(A, B, change(B, name="off", admin_up=False))) == []


CHECKS = ("check", "inter", "5s", "rise", "2", "fall", "3")
MONITOR = ("timeout check 3s", "option httpchk", "http-check send meth GET uri /")
LINES = ("mode http", "timeout connect 1s")
CLOSED = wire.Frontend(name="gone", binds=(wire.Bind(address="127.1.1.1", port=81),), lines=("default_backend spare",))
SPARE = wire.Backend(name="spare", servers=(A, change(B, name="unchecked")))
WIDE = change(LB, frontends=(*LB.frontends, CLOSED), backends=(*LB.backends, SPARE))


def monitored(*arguments, lines=(*LINES, *MONITOR)):
    return pool(change(A, arguments=(*arguments, *CHECKS)), B, lines=lines)


def test_a_removed_listener_is_closed_and_servers_of_its_pool_are_not_checked_any_more():
    assert texts(LB, before=WIDE) == ["disable frontend gone", "shutdown frontend gone", "disable health spare/a"]


def test_a_removed_listener_whose_connections_are_to_end_is_a_reload():
    now, wanted = (HaproxyConfig(load_balancers={"lb": one}) for one in (WIDE, LB))
    assert plan_change(now, wanted, OLD, frozenset(), connections_end=True).reason
    assert not plan_change(wanted, wanted, OLD, frozenset(), connections_end=True).reason


def test_a_removed_load_balancer_beside_another_is_closed():
    after, before = HaproxyConfig(load_balancers={"other": OTHER}), {"other": OTHER, "lb": change(WIDE, files=())}
    found = plan_change(HaproxyConfig(load_balancers=before), after, OLD, frozenset())
    assert not found.reason
    assert [one.text for one in found.commands if one.text.startswith("shutdown")] == [
        "shutdown frontend f",
        "shutdown frontend gone",
    ]


OTHER = wire.LoadBalancerConfig(id="other", revision=1)


def test_a_removed_listeners_private_key_is_replaced_by_a_worthless_one():
    *_, last, replaced, committed = planned(change(LB, files=LB.files[:1]), before=WIDE).commands
    assert last.text == "disable health spare/a", "the listener is closed before"
    assert (replaced.text, committed.text) == ("set ssl cert c.pem", "commit ssl cert c.pem")
    assert "PRIVATE KEY" in replaced.payload and "PRIVATE KEY" not in repr(replaced)


def test_the_last_load_balancer_is_closed_without_a_reload():
    assert texts(None)[:3] == ["disable frontend f", "shutdown frontend f", "disable health p/a"]


ELSEWHERE = ("addr", "10.9.9.9", "port", "99")


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ((), ELSEWHERE, "10.9.9.9 port 99"),
        (ELSEWHERE, ("port", "98"), "0.0.0.0 port 98"),
        (ELSEWHERE, (), "0.0.0.0 port 0"),
        (("check-ssl", "verify", "none"), ("check-ssl", "verify", "none", *ELSEWHERE), "10.9.9.9 port 99"),
    ],
)
def test_checks_at_another_place_are_a_command(before, after, place):
    old, new = (pool(change(A, arguments=(*CHECKS, *more)), B) for more in (before, after))
    assert texts(new, before=old) == [f"set server p/a check-addr {place}"]


@pytest.mark.parametrize("words", [("ssl", "verify", "none"), ("send-proxy",)])
def test_checks_that_are_as_traffic_only_at_the_servers_own_place_need_a_reload(words):
    old, new = (pool(change(A, arguments=(*words, *CHECKS, *more)), B) for more in ((), ELSEWHERE))
    assert planned(new, before=old).reason and planned(old, before=new).reason


def with_policies(value, *, access_log=None):
    lines = ("mode http", f"acl l7.1.1 path -m beg -- {value}", "http-request deny deny_status 403 if l7.1.1")
    return change(LB, frontends=(change(LB.frontends[0], lines=lines, access_log=access_log),))


def test_policies_are_added_before_the_frontend_switches_to_them():
    first, second, third = (HaproxyConfig(load_balancers={"lb": with_policies(value)}) for value in ("/a", "/b", "/c"))
    found = plan_change(first, second, OLD, frozenset())
    assert [one.text for one in found.commands] == ["add map _l7_policies", "add map _l7 f 1/"]
    assert found.commands[0].payload.endswith(" _l7|deny\n")
    found = plan_change(second, third, OLD, frozenset(), live=found.live)
    assert [one.text for one in found.commands] == ["add map _l7_policies", "set map _l7 f 2/"]
    assert found.live.names == ("f",) and found.live.size == 2
    assert plan_change(first, LB_ALONE, OLD, frozenset()).reason == "frontend f"
    assert plan_change(LB_ALONE, first, OLD, frozenset()).reason == "frontend f"


LB_ALONE = HaproxyConfig(load_balancers={"lb": LB})


def test_policies_of_a_listener_with_an_access_log_need_a_reload():
    logged = [with_policies(value, access_log=wire.LogTarget(address="10.0.0.1", port=514)) for value in ("/a", "/b")]
    assert planned(logged[1], before=logged[0]).reason == "frontend f"


def test_a_removed_listener_with_a_list_of_networks_leaves_the_list_until_the_next_reload():
    cidrs = wire.File(name="gone:cidrs", kind="acl", content="10.0.0.0/8\n")
    assert "shutdown frontend gone" in texts(LB, before=change(WIDE, files=(*LB.files, cidrs)))


def test_a_removed_pool_that_a_listener_still_names_is_a_reload_which_haproxy_refuses():
    after = change(WIDE, backends=LB.backends)
    assert planned(after, before=WIDE).reason == "backend spare is still referred to"


def test_a_removed_listener_with_a_connection_to_a_log_server_is_a_reload():
    logged = change(CLOSED, access_log=wire.LogTarget(address="10.0.0.9", port=514, protocol="tcp"))
    assert planned(LB, before=change(WIDE, frontends=(*LB.frontends, logged))).reason


def test_a_removed_monitor_ends_checks_and_raises_servers():
    assert texts(pool(change(A, arguments=()), B, lines=LINES), before=monitored(), binary=NEW) == [
        "disable health p/a",
        "set server p/a health up",
    ]


@pytest.mark.parametrize(
    "before",
    [
        monitored("ssl", "verify", "none"),
        monitored(lines=(*LINES, "balance source", *MONITOR)),
        pool(change(A, arguments=(*CHECKS, "port", "81")), B, lines=(*LINES, *MONITOR)),
        pool(change(A, arguments=(*CHECKS, "send-proxy")), B, lines=(*LINES, *MONITOR)),
    ],
)
def test_a_removed_monitor_with_any_other_change_is_a_reload(before):
    assert planned(pool(change(A, arguments=()), B, lines=LINES), before=before, binary=NEW).reason


def test_a_removed_monitor_whose_timeout_limited_connections_is_a_reload():
    limiting = monitored(lines=("mode http", "timeout connect 5s", *MONITOR))
    after = pool(change(A, arguments=()), B, lines=("mode http", "timeout connect 5s"))
    assert planned(after, before=limiting, binary=OLD).reason
    assert not planned(after, before=limiting, binary=NEW).reason

import re

import pytest

from evenkeel.devices.haproxy.render.l7 import policy_lines
from evenkeel.haproxyd.haproxy.config import live_policies as live
from evenkeel.haproxyd.haproxy.runtime.drift import parse_list
from tests.devices.l7_behaviour import away, cookie, file_type, header, host, moved, path, to_pool
from tests.devices.services import listener, policy, rule

POOLS = {"pool-1": "pool-1", "pool-2": "pool-2:tcp"}
FIRST = to_pool(1, 1, path("STARTS_WITH", "/a"), header("REGEX", "x y"))


def lines(*policies, before=("mode http",), after=("http-request set-header X y",), default="default_backend pool-1"):
    found = policy_lines(listener(l7policies=policies), POOLS)
    return (*before, *found.condition_lines, *after, *found.action_lines, default)


def changed(*policies, since=lines(FIRST), held=live.LivePolicies(), **around):  # noqa: B008 - frozen
    return live.plan_live_frontend("web", since, lines(*policies, **around), held)


WITHOUT = "used=0/error=0/CN=/O=/OU=/"
"""What is known of no certificate."""


def shown(used=1, error=0, **fields):
    """What is known of a client's certificate."""
    names = (f"{name}={fields.get(name, '').encode().hex().upper()}/" for name in ("CN", "O", "OU"))
    return "".join((f"used={used}/error={error}/", *names))


def chosen(change, bits, name, where, certificate=WITHOUT):
    """The value that HAProxy finds for a request that meets loaded rules with these numbers."""
    text = f"{change.generation}/{bits}{certificate}\n{name}\n{where}\n"
    return next((value for expression, value in change.entries if re.search(expression, text)), "-")


def test_a_frontend_without_policies_is_loaded_so_that_it_can_get_the_first():
    plain = lines(after=("option forwardfor", "http-request set-header X y"))
    loaded = live.add_live_policy_lines(plain)
    assert live.allows_live_policies(plain) and not live.has_policies(plain)
    assert [line for line in loaded if line in plain] == list(plain)
    judged = next(at for at, line in enumerate(loaded) if "map_reg" in line)
    assert loaded.index("mode http") < judged < loaded.index("option forwardfor")
    assert loaded[-2:] == ("use_backend %[var(txn.pool)] if l7.chosen", "default_backend pool-1")


@pytest.mark.parametrize(
    "line", ["redirect location http://x.test/", "use_backend b if { path /x }", "http-request return status 404"]
)
def test_a_frontend_that_would_answer_before_policies_gets_none_at_runtime(line):
    assert not live.allows_live_policies(("mode http", line)) and not live.allows_live_policies(("mode tcp",))
    assert changed(policy(1, path("EQUAL_TO", "/b")), since=lines(after=(line,)), after=(line,)) is None


def test_a_first_policy_is_an_entry_if_it_is_judged_at_the_place_that_was_loaded():
    change = changed(policy(1, path("EQUAL_TO", "/b")), since=lines())
    assert chosen(change, "", "h", "/b") == "_l7|deny" and chosen(change, "", "h", "/a") == "-"
    # a service's header, which the policy must see
    service = {"before": ("mode http", "http-request set-header X y"), "after": ()}
    assert changed(policy(1, path("EQUAL_TO", "/b")), since=lines(**service), **service) is None
    # a rule that is no text was not loaded
    assert changed(FIRST, since=lines()) is None


def test_another_default_backend_is_the_last_entry():
    change = changed(to_pool(1, 1, path("EQUAL_TO", "/b")), since=lines(), default="default_backend pool-2:tcp")
    assert chosen(change, "", "h", "/b") == "pool-1" and chosen(change, "", "h", "/a") == "pool-2:tcp"
    held = live.LivePolicies().replace_frontend("web", change)
    again = changed(since=lines(default="default_backend pool-2:tcp"), held=held)
    assert again.generation == 2 and again.entries == ()


def test_a_default_backend_that_is_removed_leaves_503():
    without = lines()[:-1]
    change = live.plan_live_frontend("web", lines(), without, live.LivePolicies())
    assert chosen(change, "", "h", "/a") == "_l7|none"
    assert not any("_l7|none" in line for line in live.answer_backend_lines())  # it answers without servers
    assert all(" if { var(txn.l7) -m " in line for line in live.answer_backend_lines())
    back = live.plan_live_frontend("web", without, lines(), live.LivePolicies().replace_frontend("web", change))
    assert back.entries == ()


def test_loaded_policies_are_guarded_and_their_rules_numbered():
    loaded = live.add_live_policy_lines(lines(FIRST, policy(2, path("STARTS_WITH", "/a"))))
    assert loaded[0] == "mode http" and loaded[-2:] == (
        "use_backend %[var(txn.pool)] if l7.chosen",
        "default_backend pool-1",
    )
    assert "acl l7.1 path -m beg -- /a" in loaded and "acl l7.3 path -m beg -- /a" not in loaded
    assert "http-request set-var(txn.pool) str(pool-1) if !l7.chosen l7.1 l7.2" in loaded
    assert "http-request deny deny_status 403 if !l7.chosen l7.1" in loaded
    numbered = [line for line in loaded if line.startswith("http-request set-var-fmt(txn.l7) %[var(txn.l7)]")]
    assert numbered == ["http-request set-var-fmt(txn.l7) %[var(txn.l7)]2/ if l7.live l7.2"]


def test_policies_of_loaded_rules_change_by_their_numbers():
    change = changed(policy(1, header("REGEX", "x y", invert=True)), to_pool(2, 2, path("STARTS_WITH", "/a")))
    assert chosen(change, "", "h", "/a") == chosen(change, "12/3/", "h", "/a") == "_l7|deny"
    assert chosen(change, "1/2/", "h", "/a") == "pool-2:tcp"
    assert chosen(change, "2/", "h", "/b") == "-"


@pytest.mark.parametrize(
    ("one", "met", "not_met"),
    [
        (path("EQUAL_TO", "/x"), ("h", "/x"), ("h", "/x/")),
        (path("STARTS_WITH", "/x.y"), ("h", "/x.y/z"), ("/x.y", "/x-y")),
        (path("ENDS_WITH", "/x"), ("h", "/y/x"), ("/x", "/x/y")),
        (path("CONTAINS", "{$}"), ("h", "/a{$}b"), ("{$}", "/a")),
        (file_type("EQUAL_TO", "jpg"), ("h", "/a.jpg"), ("a.jpg", "/ajpg")),
        (host("EQUAL_TO", "Shop.Test"), ("sHOP.test", "/"), ("shop.test.", "/shop.test")),
        (host("STARTS_WITH", "shop"), ("SHOPS", "/"), ("my-shop", "/shop")),
        (host("ENDS_WITH", "test"), ("a.test", "/"), ("test.a", "/test")),
        (host("CONTAINS", "b.c"), ("a.b.c.d", "/"), ("abcd", "/b.c")),
    ],
)
def test_new_rules_about_host_and_path_are_expressions(one, met, not_met):
    change = changed(policy(1, one))
    assert chosen(change, "", *met) == "_l7|deny" and chosen(change, "1/", *not_met) == "-"


def certified(value, kind="SSL_DN_FIELD", compare_type="EQUAL_TO", key="CN"):
    """A rule about the client's certificate."""
    return rule(type=kind, compare_type=compare_type, value=value, key=key)


@pytest.mark.parametrize(
    ("one", "met", "not_met"),
    [
        (certified("True", "SSL_CONN_HAS_CERT"), shown(), WITHOUT),
        (certified("0", "SSL_VERIFY_RESULT"), WITHOUT, shown(error=10)),
        (certified("010", "SSL_VERIFY_RESULT"), shown(error=10), shown(error=1)),
        (certified("it/A="), shown(CN="it/A="), shown(CN="it/A=1")),
        (certified("A", compare_type="STARTS_WITH", key="O"), shown(O="AB"), shown(CN="A")),
        (certified("B", compare_type="ENDS_WITH", key="OU"), shown(OU="AB"), shown(OU="BA")),
        # the digits of B, 42, are those of two other bytes, too
        (certified("B", compare_type="CONTAINS"), shown(CN="ABA"), shown(CN="$ ")),
    ],
)
def test_new_rules_about_the_clients_certificate_are_expressions(one, met, not_met):
    change = changed(policy(1, one))
    assert chosen(change, "", "h", "/", met) == "_l7|deny" and chosen(change, "1/", "h", "/", not_met) == "-"


def test_the_first_policy_that_matches_decides():
    change = changed(
        away(1, path("STARTS_WITH", "/a"), url="https://a.test/100%25?b"), policy(2, path("CONTAINS", "a"))
    )
    assert chosen(change, "", "h", "/abc") == "_l7|l302|https://a.test/100%25?b"
    assert chosen(change, "", "h", "/b/a") == "_l7|deny"
    change = changed(policy(1, path("CONTAINS", "a")), moved(2, path("STARTS_WITH", "/a"), "https://a.test"))
    assert [value for _, value in change.entries] == ["_l7|deny", "_l7|p302|https://a.test"]


def test_no_policy_is_a_generation_without_entries():
    change = changed()
    assert change.entries == () and chosen(change, "2/", "h", "/a") == "-"


@pytest.mark.parametrize(
    "one",
    [
        path("REGEX", "^/"),
        header("EQUAL_TO", "a"),
        cookie("EQUAL_TO", "a"),
        certified("a", key="L"),
        certified("a", compare_type="REGEX"),
    ],
)
def test_other_new_rules_need_a_reload(one):
    assert changed(policy(1, one)) is None


def test_only_policies_may_differ():
    assert changed(FIRST, after=("http-request set-header X z",)) is None
    assert changed(FIRST, before=("mode http", "timeout client 1s")) is None
    # the policies would judge requests at another place
    assert changed(FIRST, before=("mode http", "http-request set-header X y"), after=()) is None


@pytest.mark.parametrize("line", ["redirect location http://x.test/ if { path /x }", "use_backend b if { path /x }"])
def test_lines_of_operators_that_answer_before_the_backend_need_a_reload(line):
    around = {"after": (line,)}
    assert changed(policy(1, path("EQUAL_TO", "/b")), since=lines(FIRST, **around), **around) is None


def test_a_later_change_is_made_from_what_was_loaded():
    held = live.LivePolicies().replace_frontend("web", live.LiveFrontend(loaded=lines(FIRST), generation=7))
    change = changed(FIRST, since=lines(policy(1, path("EQUAL_TO", "/b"))), held=held)
    assert change.generation == 8 and change.loaded == lines(FIRST)
    assert chosen(change, "2/", "h", "/a") == "pool-1"
    # entries of an earlier daemon may have any generation
    assert changed(FIRST, held=live.LivePolicies(unknown=frozenset({"other"}))) is None
    assert changed(FIRST, held=live.LivePolicies(size=live.POLICY_ENTRIES_MAX)) is None


def changed_by_others(held, generations, policies):
    return live.find_externally_changed_frontend(held, parse_list(generations), parse_list(policies))


def test_entries_that_others_changed_are_found():
    change = changed(policy(1, path("EQUAL_TO", "/b")))
    held = live.LivePolicies(unknown=frozenset({"other"})).replace_frontend("web", change)
    shown = "".join(f"0x55 {expression} {value}\n" for expression, value in (("^0(?=/)", "-"), *change.entries))
    assert not changed_by_others(held, "0x55 web 1/\n0x56 other 3/\n", shown)
    assert changed_by_others(held, "0x55 web 2/\n", shown) == "web"
    assert changed_by_others(held, "0x55 web 1/\n0x56 more 3/\n", shown) == "more"
    assert changed_by_others(held, "0x55 web 1/\n", shown.replace("deny", "l302|http://a")) == "web"
    assert changed_by_others(held, "", shown) == "web"

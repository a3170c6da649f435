"""The small pure parts: names, marks, forms, answers, options, requirements."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.core.resources.statuses import HaType
from evenkeel.devices.bigip import open_group
from evenkeel.devices.bigip.canonical import has_wanted_value
from evenkeel.devices.bigip.icontrol.responses import (
    DeviceBusy,
    LoginLost,
    ObjectAbsent,
    ObjectExists,
    RefusedByDevice,
    response_error,
)
from evenkeel.devices.bigip.naming import BigIpNames, Guard, Mark, build_guard, parse_guard, parse_mark
from evenkeel.devices.bigip.observe.partition_reads import Guards
from evenkeel.devices.bigip.observe.requirements import (
    module_problems,
    ready_problems,
    version_problems,
)
from evenkeel.devices.bigip.options import parse_options
from evenkeel.devices.bigip.ownership.guard import takeover_commands

# -- names and marks


@given(*(st.text(alphabet="abc-_.1", min_size=1, max_size=10) for _ in range(4)))
def test_a_mark_is_read_as_it_was_written(environment: str, kind: str, balancer: str, object_id: str) -> None:
    for group in (None, 1, 27):
        mark = Mark(environment=environment, group=group, kind=kind, load_balancer_id=balancer, object_id=object_id)
        assert parse_mark(mark.text()) == mark


def test_marks_of_other_groups_and_odd_ones_are_not_ours() -> None:
    names = BigIpNames(environment="dev", prefix="dev", group=2)
    for place, ours in {
        "dev": False,
        "dev/2": True,
        "dev/1": False,
        "dev/": False,
        "dev/x": False,
        "d/2": False,
    }.items():
        assert (names.own_mark(f"evenkeel:{place}:pool:lb") is not None) == ours


@given(st.none() | st.integers() | st.text())
def test_any_other_description_is_no_mark_of_ours(description: object) -> None:
    if not str(description).startswith("evenkeel:dev/1:"):
        assert BigIpNames(environment="dev", prefix="dev", group=1).own_mark(description) is None


@given(st.text(max_size=80))
def test_a_project_id_cannot_leave_its_partitions_name(project: str) -> None:
    name = BigIpNames(environment="dev", prefix="dev", group=1).partition_name(project)
    assert name.startswith("dev_") and name.isascii() and not set(name) & set("/~%?# \\\"'") and len(name) <= 70


def test_guards_are_reported_by_their_names() -> None:
    for guard in (build_guard(12, "a"), Guard(epoch=12), build_guard(10**18, "a"), Guard(epoch=2**63)):
        assert parse_guard(guard.name) == guard
    assert len({build_guard(12, session).name for session in ("a", "b", "")}) == 3
    for name in ("evenkeel_guard", "evenkeel_guard_", "evenkeel_guard_x", "evenkeel_guard_1x", "evenkeel_guard_01"):
        assert parse_guard(name) is None


def test_environments_that_cannot_be_part_of_a_name_are_refused() -> None:
    for odd in ("", "a b", "a/b", "a:b"):
        with pytest.raises(ValueError, match="environment"):
            BigIpNames(environment=odd, prefix="dev", group=1)


# -- forms


@pytest.mark.parametrize(
    ("name", "wanted", "seen", "equal"),
    [
        ("interval", 5, "5", True),
        ("monitor", "/P/m", "/P/m ", True),
        ("monitor", "", None, True),
        ("headerInsert", "none", "none", True),
        ("pool", "", "none", True),
        ("enabled", True, True, True),
        ("enabled", True, None, False),
        ("destination", "/P/2001:db8::1.80", "/P/2001:DB8:0::1.80", True),
        ("destination", "/P/x:80", "/P/x:81", False),
        ("address", "2001:db8::1", "2001:db8:0:0::1", True),
        ("profiles", [{"name": "/Common/tcp", "context": "all"}], [{"name": "tcp", "partition": "Common"}], True),
        ("profiles", [{"name": "/Common/tcp"}], [{"name": "tcp", "context": "clientside"}], False),
        ("persist", [], None, True),
        ("persist", [{"name": "cookie", "partition": "Common"}], [{"name": "/Common/cookie"}], True),
        ("sourceAddressTranslation", {"type": "automap"}, {"type": "automap"}, True),
        ("address", "0.0.0.0%7", "any%7", True),
        ("address", "0.0.0.0%7", "any", True),
        ("address", "::%7", "any6%7", True),
        ("address", "::", "any6", True),
        ("address", "::", "any", False),
        ("address", "10.0.0.1%7", "10.0.0.1", False),
        ("address", "2001:DB8::1%7", "2001:db8::1%7", True),
        ("mask", "any", "0.0.0.0", True),
        ("remoteAddress", "any", "0.0.0.0", True),
        ("destination", "/P/::.0", "/P/::.any", True),
        ("destination", "/P/::.0", "/P/any6.any", True),
        ("destination", "/P/0.0.0.0:0", "/P/any:any", True),
        ("destination", "/P/0.0.0.0%7:0", "/P/any%7:0", True),
        ("destination", "/P/gw-six-7:0", "/P/gw-six-7.any", True),
        ("destination", "/P/dev_lb-1:80", "/P/dev_lb-1.80", True),
        ("destination", "/P/dev_lb-1:80", "/P/dev_lb-1.81", False),
        ("destination", "/P/dev_lb-1:80", "/P/dev_lb-2:80", False),
        ("destination", "2001:db8::1.80", "2001:DB8::1.80", True),
        ("destination", "*:*", "*:80", False),
        ("session", "user-enabled", "monitor-enabled", True),
        ("session", "user-enabled", "user-disabled", False),
        ("state", "user-up", "down", True),
        ("state", "user-up", "user-down", False),
        ("idleTimeout", "60", 60, True),
        ("records", [{"name": "a", "endpoint": "192.0.2.7"}], [{"name": "a", "endpoint": "192.0.2.7%0"}], True),
        ("records", [{"name": "a", "endpoint": "192.0.2.7"}], [{"name": "a", "endpoint": "192.0.2.7%1"}], False),
        ("records", [{"name": "a", "endpoints": ["192.0.2.7"]}], [{"name": "a", "endpoints": ["192.0.2.8"]}], False),
    ],
)
def test_forms_that_mean_the_same(name: str, wanted: Any, seen: Any, equal: bool) -> None:
    assert has_wanted_value(name, wanted, {name: seen}) is equal


# -- answers


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            404,
            {"code": 404, "message": "01020036:3: The requested Pool (/P/X) was not found.", "apiError": 3},
            ObjectAbsent,
        ),
        (404, {"code": 404, "message": "Object not found - /Common/10.0.0.1:80", "apiError": 1}, ObjectAbsent),
        (404, {"code": 404, "message": "Public URI path not registered: /tm/ltm/pool"}, DeviceUnavailable),
        (404, {"code": 404, "message": "URI path /x not registered.  Please wait for /available suffix"}, DeviceBusy),
        (404, "<html>Not Found</html>", DeviceUnavailable),
        (409, {"code": 409, "message": "already exists", "apiError": 3}, ObjectExists),
        (400, {"code": 400, "message": "transaction failed:x", "apiError": 2}, RefusedByDevice),
        (400, {"code": 400, "message": "remoteSender:10.0.0.1, method:DELETE "}, DeviceUnavailable),
        (400, "<html>", DeviceUnavailable),
        (401, "<html>401 F5 Authorization Required", LoginLost),
        (403, {"code": 403, "message": "no"}, DeviceUnavailable),
        (413, "<html>", RefusedByDevice),
        (500, {"code": 500, "message": "The connection to mcpd has been lost, try again."}, DeviceUnavailable),
        (503, {"code": 503, "message": "There is an active asynchronous task executing."}, DeviceBusy),
        (200, "", DeviceUnavailable),
    ],
)
def test_failed_answer_becomes_the_error_of_its_status(status: int, body: Any, kind: type[Exception]) -> None:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    assert type(response_error("d", status, content)) is kind


@given(st.integers(400, 599), st.binary(max_size=60))
def test_nothing_but_configurations_own_404_means_absent(status: int, content: bytes) -> None:
    assert not isinstance(response_error("d", status, content), ObjectAbsent)


# -- guard

MINE = build_guard(5, "session-5")


@pytest.mark.parametrize(
    ("guards", "expected"),
    [
        (Guards(), ["POST MINE", "POST evenkeel_guard"]),
        (Guards(held=(Guard(epoch=3),), has_sentinel=True), ["DELETE evenkeel_guard_3", "POST MINE"]),
        (Guards(held=(Guard(epoch=5),), has_sentinel=True), ["DELETE evenkeel_guard_5", "POST MINE"]),
        (Guards(has_sentinel=True), ["DELETE evenkeel_guard", "POST MINE"]),
        (Guards(held=(Guard(epoch=2), MINE), has_sentinel=True), ["PATCH MINE", "DELETE evenkeel_guard_2"]),
        (Guards(held=(MINE, Guard(epoch=2**63)), has_sentinel=True), ["PATCH MINE", f"DELETE evenkeel_guard_{2**63}"]),
    ],
)
def test_a_takeover_is_a_compare_and_set(guards: Guards, expected: list[str]) -> None:
    commands = takeover_commands(guards, "P", MINE, BigIpNames(environment="dev", prefix="dev", group=1), "host")
    found = [f"{one.method} {one.body.get('name') or one.path.rpartition('~')[2]}" for one in commands]
    assert [text.replace(MINE.name, "MINE") for text in found] == expected


# -- options

GOOD = {"icontrol_hostname": "a, b:8443", "icontrol_username": "u", "icontrol_password": "p"}


def test_options_have_defaults() -> None:
    options = parse_options(GOOD, environment="dev", group_number=1, host="h")
    assert options.hosts == ("a:443", "b:8443") and options.ha_type is HaType.PAIR
    assert options.verify_tls and options.prefix == "dev"
    alone = parse_options(
        {**GOOD, "icontrol_hostname": "2001:db8::1", "f5_ha_type": "standalone"},
        environment="e",
        group_number=1,
        host="h",
    )
    assert alone.hosts == ("[2001:db8::1]:443",)
    assert open_group(GOOD, environment="dev", group_number=1, host="h").facts.endpoints == ("a:443", "b:8443")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"icontrol_hostname": "a,b,c"}, "icontrol_hostname.*one or two"),
        ({"icontrol_hostname": "a", "f5_ha_type": "scalen"}, "icontrol_hostname.*two to 4"),
        ({"icontrol_hostname": "a,b,c,d,e", "f5_ha_type": "scalen"}, "icontrol_hostname.*two to 4"),
        ({"sync_mode": "push"}, "sync_mode.*push.*replicate, sync"),
        ({"sync_force_until": "soon"}, "sync_force_until.*soon.*24 h"),
        ({"sync_force_until": "2026-01-01T00:00"}, "sync_force_until.*a time with its zone"),
        ({"sync_force_until": "2999-01-01T00:00Z"}, "sync_force_until.*at most 24 h ahead"),
        ({"icontrol_hostname": "a,a"}, "twice"),
        ({"icontrol_hostname": "a,b:x"}, "icontrol_hostname.*b:x"),
        ({"icontrol_hostname": "a,https://10.0.0.1:443"}, "icontrol_hostname.*https://10.0.0.1:443.*host:port"),
        ({"icontrol_hostname": "a,[b]:443"}, r"icontrol_hostname.*\[b\]:443"),
        ({"icontrol_password": ""}, "icontrol_password: not set"),
        ({"f5_ha_type": "trio"}, "f5_ha_type.*trio.*pair"),
        ({"verify_tls": "maybe"}, "verify_tls.*maybe"),
        ({"request_timeout": "soon"}, "request_timeout.*soon"),
        ({"request_timeout": "-1"}, "request_timeout.*-1"),
        ({"request_timeout": "nan"}, "request_timeout.*nan"),
        ({"colour": "blue"}, "colour: no such option"),
    ],
)
def test_wrong_options_are_named(change: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_options({**GOOD, **change}, environment="dev", group_number=1, host="h")


def test_a_password_is_never_shown() -> None:
    with pytest.raises(ValueError) as refusal:
        parse_options(
            {**GOOD, "icontrol_password": "hunter2", "f5_ha_type": "x"}, environment="dev", group_number=1, host="h"
        )
    assert "hunter2" not in str(refusal.value)


# -- requirements


def test_version_and_modules_of_a_device_meet_the_requirements() -> None:
    assert not version_problems("16.1.2") and not version_problems("13.0.0")
    assert "11.6.1" in version_problems("11.6.1")[0] and "unknown" in version_problems("")[0]
    assert not module_problems([{"name": "ltm", "level": "nominal"}])
    assert module_problems([{"name": "ltm", "level": "none"}]) and module_problems([])
    entries = {"x": {"nestedStats": {"entries": {"configReady": {"description": "no"}}}}}
    assert "configReady" in ready_problems({"entries": entries})[0]

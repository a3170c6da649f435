"""``evenkeel import octavia`` against a recorded Octavia and a stub of our API."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Ran, Run
from tests.cli.moving_in.octavia.recorded import FLAVOR, HTTP_POOL, LB, LBAAS, RecordedOctavia, uid
from tests.cli.stub import Stub

PAGE = "?limit=1000"
OUR_FLAVOR = {"id": "o-1", "name": "big", "flavor_profile_id": "o-p", "enabled": True}
UNLIMITED = dict.fromkeys(("loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule"), -1)


@pytest.fixture
def ours(stub: Stub) -> Stub:
    """Our API with the flavor ``big``."""
    profile = {"id": "o-p", "name": "p", "provider_name": "gold", "flavor_data": "{}"}
    for path, body in {
        "/flavors": {"flavors": [OUR_FLAVOR], "flavors_links": []},
        "/flavorprofiles": {"flavorprofiles": [profile], "flavorprofile_links": []},
        "/availabilityzones": {"availability_zones": []},
        "/availabilityzoneprofiles": {"availability_zone_profiles": []},
    }.items():
        stub.on("GET", f"{path}{PAGE}", body, base=LBAAS)
    outcomes = [{"import": {"id": LB, "outcome": each, "differences": []}} for each in ("new", "imported", "present")]
    stub.on("PUT", f"/imports/loadbalancers/{LB}", *outcomes)
    stub.on("GET", "/quotas/p1", {"quota": UNLIMITED}, {"quota": UNLIMITED | {"loadbalancer": 5}}, base=LBAAS)
    stub.on("GET", "/quotas/defaults", {"quota": UNLIMITED | {"member": 10_000}}, base=LBAAS)
    stub.on("PUT", "/quotas/p1", {"quota": {}}, status=202, base=LBAAS)
    return stub


@pytest.fixture
def run(evenkeel: Run, ours: Stub, octavia: RecordedOctavia) -> Run:
    """Run the command with these words."""

    def run_with(*words: str, endpoint: str | None = None) -> Ran:
        url = [] if "--os-cloud" in words else ["--source-url", octavia.url]
        return evenkeel("import", "octavia", "--environment", "gold", *url, *words, endpoint=endpoint)

    return run_with


def puts(stub: Stub) -> list[Any]:
    return [(path, body) for method, path, body in stub.asked if method == "PUT"]


def test_import_is_planned_first_then_done_and_may_be_repeated(run: Run, ours: Stub) -> None:
    planned = run()
    assert (planned.code, planned.err) == (0, "")
    assert planned.out.splitlines() == [
        f"new      {LB} w",
        f'flavor {FLAVOR} (big) {{"loadbalancer_topology": "SINGLE"}}: here o-1',
        "",
        "                    found  carried over     not",
        "load balancers          1             1       0",
        "listeners               4             4       0",
        "pools                   3             3       0",
        "members                 1             1       0",
        "health monitors         3             3       0",
        "L7 policies             2             2       0",
        "L7 rules                2             2       0",
        "flavors                 1             1       0",
        "certificates            2             2       0",
        "",
        "1 load balancer: 1 new",
        "nothing is stored yet: --yes imports them",
    ]
    assert run("--yes").out.splitlines()[0] == f"imported {LB} w"
    again = run("--yes").out.splitlines()
    assert again[0] == f"present  {LB} w" and again[-1] == "1 load balancer: 1 present"
    bodies = [body for _, body in puts(ours)]
    assert [(body["apply"], body["held"]) for body in bodies] == [(False, True), (True, True), (True, True)]
    assert (bodies[0]["loadbalancer"]["provider"], bodies[0]["loadbalancer"]["flavor_id"]) == ("gold", "o-1")


def test_json_has_each_object_kind_and_attribute(run: Run, octavia: RecordedOctavia) -> None:
    octavia.rows("/listeners")[0]["of_tomorrow"] = "yes"
    shown = json.loads(run("--json").out)
    (row,) = shown["loadbalancers"]
    assert row["not_carried_over"] == [
        {"kind": "listener", "id": uid("b"), "attribute": "of_tomorrow", "value": "yes", "reason": ""}
    ]
    attributes = shown["summary"]["attributes"]
    assert attributes["listener"]["of_tomorrow"] == {"found": 1, "carried_over": 0, "not_carried_over": 1}
    assert attributes["listener"]["protocol"] == {"found": 4, "carried_over": 4, "not_carried_over": 0}
    assert attributes["member"]["monitor_address"]["carried_over"] == 1
    assert shown["summary"]["kinds"]["certificates"]["found"] == 2
    assert shown["summary"]["outcomes"] == {"new": 1}


def test_attributes_are_shown_on_demand(run: Run) -> None:
    lines = run("--attributes").out.splitlines()
    assert any(line.split() == ["allowed_cidrs", "1", "1", "0"] for line in lines)


def test_held_load_balancer_is_brought_up_to_date(run: Run, ours: Stub) -> None:
    answer = {"id": LB, "outcome": "updated", "differences": ["name"]}
    ours.on("PUT", f"/imports/loadbalancers/{LB}", {"import": answer})
    ran = run("--yes", "--no-hold")
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [f"updated  {LB} w", "  was different: name"]
    assert puts(ours)[0][1]["held"] is False


def test_plan_states_that_a_held_load_balancer_would_be_updated(run: Run, ours: Stub) -> None:
    answer = {"id": LB, "outcome": "outdated", "differences": ["name"]}
    ours.on("PUT", f"/imports/loadbalancers/{LB}", {"import": answer})
    ran = run()
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [f"outdated {LB} w", "  would be updated: name"]
    assert ran.out.splitlines()[-1] == "held ones are as they were: --yes brings them up to date"


def test_refused_load_balancer_fails_the_command_and_counts_as_not_carried_over(run: Run, ours: Stub) -> None:
    reason = {"faultstring": "Provider 'gold' does not support UDP listeners"}
    ours.on("PUT", f"/imports/loadbalancers/{LB}", reason, status=501)
    ran = run()
    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [f"refused  {LB} w", f"  because: {reason['faultstring']}"]
    assert "listeners               4             0       4" in ran.out.splitlines()


def test_load_balancer_that_is_being_changed_is_skipped(run: Run, ours: Stub, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0]["provisioning_status"] = "PENDING_UPDATE"
    ran = run("--yes")
    assert ran.code == 1 and not puts(ours)
    assert ran.out.splitlines()[:2] == [
        f"skipped  {LB} w",
        f"  because: load balancer {LB} is being changed at the source (PENDING_UPDATE): repeat the import afterwards",
    ]


def test_load_balancer_in_error_has_a_note(run: Run, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0]["provisioning_status"] = "ERROR"
    assert "  note: it is ERROR at the source" in run().out


def test_quotas_are_set_only_where_they_differ(run: Run, ours: Stub, octavia: RecordedOctavia) -> None:
    octavia.rows("/quotas")[0].update(member=None, pool=2_000_000_001)
    words = [
        "quotas of project p1: loadbalancer unlimited -> 5",
        "  pool 2000000001: not from -1 to 2000000000: our limit stays",
        "  member: the source shows no limit: our default stays",
    ]
    first = run("--quotas", "--yes").out.splitlines()
    assert "default quota of member: unlimited at the source, 10000 here" in first
    at = first.index(f"imported {words[0]}")
    assert first[at + 1 : at + 3] == words[1:]
    assert ("/v2.0/lbaas/quotas/p1", {"quota": {"loadbalancer": 5}}) in puts(ours)
    again = run("--quotas", "--yes").out
    assert "present  quotas of project p1" in again and "quotas                  1             1       0" in again


def test_refused_quota_fails_the_command_with_the_reason(run: Run, ours: Stub) -> None:
    ours.on("PUT", "/quotas/p1", {"faultstring": "not yours"}, status=403, base=LBAAS)
    ran = run("--quotas", "--yes")
    assert ran.code == 1 and "refused  quotas of project p1\n  not yours" in ran.out


def test_names_of_the_source_cannot_control_the_terminal(run: Run, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0]["name"] = "w\x1b[2J\n"
    assert f"new      {LB} w\\x1b[2J\\n" in run().out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--os-cloud", "x", "--source-url", "http://127.0.0.1:1"), "name two sources"),
        (("--source-timeout", "0"), "--source-timeout must be above 0"),
        (("--source-requests", "33"), "--source-requests must be from 1 to 32"),
        (("--flavor", "big"), "is not of the form SOURCE=OURS"),
        (("--flavor", "none=big"), "the source has no 'none'"),
        (("--source-url", "ftp://x"), "is not a URL"),
    ],
)
def test_options_that_cannot_be_are_usage_errors(run: Run, ours: Stub, words: tuple[str, ...], text: str) -> None:
    ran = run(*words)
    assert ran.code == 2 and text in ran.err and not puts(ours)


def test_source_that_refuses_or_is_no_octavia_is_an_error(run: Run, octavia: RecordedOctavia) -> None:
    octavia.refused["/loadbalancers"] = 401
    ran = run()
    assert ran.code == 1 and "the source refuses GET /loadbalancers: not for you" in ran.err
    octavia.answer = lambda *_: (200, {"hello": "world"})  # type: ignore[method-assign]
    ran = run()
    assert ran.code == 1 and "is it Octavia's?" in ran.err


def test_source_out_of_reach_is_exit_code_3(run: Run) -> None:
    ran = run("--source-url", "http://127.0.0.1:1")
    assert ran.code == 3 and "the source: no endpoint answers" in ran.err


def test_members_are_queried_once_for_each_pool_that_has_any(run: Run, octavia: RecordedOctavia) -> None:
    run("--source-requests", "2", "--provider", "amphora", "--project", "p1")
    assert [path for path in octavia.queries if "/members" in path] == [f"/pools/{HTTP_POOL}/members?limit=1000"]

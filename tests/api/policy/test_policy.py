"""The rules: complete, current in the sample, overridden by files, and judged without asking for files each time."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from structlog.testing import capture_logs

from evenkeel.api.app import ROUTES, create_app
from evenkeel.api.common.openapi import openapi_routes
from evenkeel.api.http.routing import Operation, RouteMap
from evenkeel.api.identity.caller import Caller
from evenkeel.api.policy import policy as module
from evenkeel.api.policy.defaults import default_rules
from evenkeel.api.policy.names import PUBLIC, octavia_rule, own_rule
from evenkeel.api.policy.policy import Policy, open_policy
from evenkeel.api.responses.errors import Forbidden
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Sink

ROOT = Path(__file__).parents[3]
LIST, POST = octavia_rule("loadbalancer", "get_all"), octavia_rule("loadbalancer", "post")
MEMBER = Caller(project_id="p1", roles=("member",), user_id="alice")
READER = Caller(project_id="p1", roles=("reader",), user_id="bob")


class Time:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_every_route_names_a_rule_or_that_it_is_public() -> None:
    known = {rule.name for rule in default_rules()} | {PUBLIC}
    routes = {
        prefix + operation.path: operation.rule
        for route_map in (*ROUTES, openapi_routes(ROUTES))
        for operation in route_map.operations
        for prefix in route_map.prefixes
    }
    assert {path for path, rule in routes.items() if rule not in known} == set()
    assert {path for path, rule in routes.items() if rule == PUBLIC} == {
        "/",
        "/v2",
        "/v2.0",
        "/neutron",
        "/neutron/v2.0",
        "/healthz",
        "/healthz/ready",
        "/openapi.json",
    }


def test_a_route_that_nothing_guards_is_not_served(store: Store, sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    async def handle(services: Any, call: Any) -> Any:
        raise AssertionError

    for rule in ("", "evenkeel:nothing"):
        bare = Operation(method="GET", path="/bare", handle=handle, summary="bare", rule=rule)
        monkeypatch.setattr("evenkeel.api.app.ROUTES", (RouteMap(tag="Bare", prefixes=("",), operations=(bare,)),))
        with pytest.raises(ValueError, match="routes without a policy rule"):
            create_app(store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev")


def test_every_rule_of_octavias_actions_is_used_or_one_beside_a_list() -> None:
    used = {operation.rule for route_map in ROUTES for operation in route_map.operations}
    left = {rule.name for rule in default_rules() if rule.name.startswith("os_load-balancer_api:")} - used
    assert {name for name in left if not name.endswith("-global")} <= {octavia_rule("amphora", "put_config")}


def test_the_sample_file_is_current() -> None:
    script = ROOT / "scripts" / "generate_sample_policy.py"
    assert subprocess.run([sys.executable, script, "--check"], check=False).returncode == 0


def test_the_own_project_is_the_limit_unless_the_rule_opens_every_project() -> None:
    policy = open_policy()
    assert policy.admit(POST, MEMBER).scope == "p1"
    assert policy.admit(LIST, READER).scope == "p1"
    assert policy.admit(POST, Caller(project_id="p1", roles=("admin",))).scope is None
    observer = Caller(project_id="p1", roles=("load-balancer_global_observer",))
    assert policy.admit(LIST, observer).scope is None
    for caller in (READER, observer):
        with pytest.raises(Forbidden):
            policy.admit(POST, caller)


def test_role_names_count_in_any_case() -> None:
    assert open_policy().admit(POST, Caller(project_id="p1", roles=("Load-Balancer_Member",))).scope == "p1"


# -- files


def configured(file: Path, text: str | None, *, name: str | None = None) -> Policy:
    """The policy with a file of this content."""
    if text is not None:
        file.write_text(text)
    settings = file.with_suffix(".ini")
    settings.write_text(f"[oslo_policy]\npolicy_file = {name or file}\n")
    conf = cfg.ConfigOpts()
    conf(["--config-file", str(settings)], project="evenkeel")
    return open_policy(conf)


def test_a_file_overrides_single_rules(tmp_path: Path) -> None:
    policy = configured(tmp_path / "policy.yaml", f'"{POST}": "role:builder and project_id:%(project_id)s"\n')
    with pytest.raises(Forbidden):
        policy.admit(POST, MEMBER)
    assert policy.admit(POST, Caller(project_id="p1", roles=("builder",))).scope == "p1"
    assert policy.admit(LIST, READER).scope == "p1"


def test_a_rule_may_name_users_and_projects(tmp_path: Path) -> None:
    policy = configured(tmp_path / "policy.yaml", f'"{POST}": "user_id:alice or project_id:trusted"\n')
    assert policy.admit(POST, MEMBER).scope is None
    with pytest.raises(Forbidden):
        policy.admit(POST, Caller(project_id="p1", roles=("member",), user_id="mallory"))


def test_a_file_that_must_be_there_and_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"oslo_policy.policy_file: .*no such file"):
        configured(tmp_path / "mine.yaml", None)
    assert configured(tmp_path / "x.yaml", None, name="policy.yaml").admit(POST, MEMBER).scope == "p1"


@pytest.mark.parametrize(
    "text",
    ['"a": "rule:nowhere"\n', "- not\n- a mapping\n", '"a": [', f'"{POST}": "http://decide.example/%(project_id)s"\n'],
)
def test_a_bad_file_is_refused_at_start(tmp_path: Path, text: str) -> None:
    with pytest.raises(ValueError, match=r"^oslo_policy.policy_file: "):
        configured(tmp_path / "policy.yaml", text)


def touch(file: Path, text: str, seconds: int) -> None:
    """Change the file, visibly for clocks of any grain."""
    file.write_text(text)
    os.utime(file, (seconds, seconds))


def test_a_changed_file_counts_after_a_moment_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    file, time = tmp_path / "policy.yaml", Time()
    policy = configured(file, f'"{POST}": "!"\n')
    policy = Policy(vars(policy)["_enforcer"], monotonic=time)
    with pytest.raises(Forbidden):
        policy.admit(POST, MEMBER)
    touch(file, f'"{LIST}": "@"\n', 2_000_000_000)
    with pytest.raises(Forbidden):
        policy.admit(POST, MEMBER)
    time.now += module.CHECK_SECONDS
    assert policy.admit(POST, MEMBER).scope == "p1"
    touch(file, '"a": [', 2_000_000_100)
    time.now += module.CHECK_SECONDS
    with capture_logs() as logs:
        assert policy.admit(POST, MEMBER).scope == "p1"
    assert [entry["log_level"] for entry in logs] == ["error"]


def test_a_verdict_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = open_policy()
    first = policy.admit(POST, MEMBER)
    monkeypatch.setattr(policy, "_admission_by_rule", lambda *_: pytest.fail("judged again"))
    assert policy.admit(POST, Caller(project_id="p1", roles=("member",), user_id="alice")) is first


def test_verdicts_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_REMEMBERED", 10)
    policy = open_policy()
    for number in range(50):
        policy.admit(POST, Caller(project_id=f"p{number}", roles=("member",)))
    assert len(vars(policy)["_verdicts"]) == 10


@pytest.mark.parametrize("role", ["evenkeel_agent", "evenkeel_operator"])
def test_the_roles_of_agents_and_operators_open_nothing_of_tenants(role: str) -> None:
    policy = open_policy()
    caller = Caller(project_id="operations", roles=(role,))
    assert policy.admit(own_rule("agent", "get"), caller).scope is None
    for rule in default_rules():
        if rule.name.startswith("os_load-balancer_api:"):
            with pytest.raises(Forbidden):
                policy.admit(rule.name, caller)


def test_a_refusal_names_the_roles_of_the_rule_and_of_rules_that_it_refers_to(tmp_path: Path) -> None:
    event = own_rule("event", "get")
    assert open_policy().roles_of(event) == ("evenkeel_operator", "admin", "load-balancer_admin")
    text = f'"{event}": "role:auditor and not role:guest or rule:context_is_admin"\n'
    assert configured(tmp_path / "policy.yaml", text).roles_of(event) == ("auditor", "admin", "load-balancer_admin")
    with pytest.raises(Forbidden) as refused:
        open_policy().admit(event, Caller(project_id="p1", roles=("evenkeel_agent",)))
    assert refused.value.headers == ((b"x-needs-role", b"evenkeel_operator, admin, load-balancer_admin"),)

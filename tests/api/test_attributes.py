"""Attributes that stay written twice, or by two names: none is forgotten on one side and answered with 200."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from msgspec import UNSET

from evenkeel.api.neutron.bodies import NeutronChange, NeutronNew
from evenkeel.api.neutron.v1 import requests as v1
from evenkeel.api.neutron.v2 import change_requests as v2_changes
from evenkeel.api.neutron.v2 import requests as v2
from evenkeel.api.neutron.v2 import views as v2_views
from evenkeel.api.octavia import views
from evenkeel.api.usecases import change_requests, l7_requests, rate_limit_requests, requests
from evenkeel.core.resources.attributes import CHANGEABLE_ATTRIBUTES, HIDDEN_ATTRIBUTES, LINK_ATTRIBUTES, fields_of
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    L7Rule,
    Listener,
    LoadBalancer,
    Member,
    Pool,
    RateLimitPolicy,
    RateLimitRule,
)
from evenkeel.store.lbaas_v1.shared_monitors import SHARED_MONITOR_CHANGES

OWNER = {"project_id", "tenant_id"}
VIP = {"vip_address", "vip_subnet_id", "vip_network_id", "vip_port_id"}
NEW: list[tuple[Any, Any, set[str]]] = [
    (requests.LoadBalancerNew, LoadBalancer, {*VIP, "listeners", "pools"}),
    (requests.ListenerNew, Listener, {"loadbalancer_id", "default_pool", "l7policies"}),
    (requests.PoolNew, Pool, {"loadbalancer_id", "listener_id", "members", "healthmonitor"}),
    (requests.MemberNew, Member, {"request_sriov"}),
    (requests.HealthMonitorNew, HealthMonitor, set()),
    (l7_requests.L7PolicyNew, L7Policy, {"redirect_pool", "rules"}),
    (l7_requests.L7RuleNew, L7Rule, set()),
    (rate_limit_requests.RateLimitPolicyNew, RateLimitPolicy, set()),
    (rate_limit_requests.RateLimitRuleNew, RateLimitRule, set()),
]
"""Create request, its value class, and what the request calls otherwise than the class or has for other objects."""
CHANGES: list[tuple[Any, Any]] = [
    (change_requests.LoadBalancerChange, LoadBalancer),
    (change_requests.ListenerChange, Listener),
    (change_requests.PoolChange, Pool),
    (change_requests.MemberChange, Member),
    (change_requests.HealthMonitorChange, HealthMonitor),
    (l7_requests.L7PolicyChange, L7Policy),
    (l7_requests.L7RuleChange, L7Rule),
    (rate_limit_requests.RateLimitPolicyChange, RateLimitPolicy),
    (rate_limit_requests.RateLimitRuleChange, RateLimitRule),
]
VIEWS: list[tuple[Any, Any, set[str]]] = [
    (views.LoadBalancerView, LoadBalancer, {"vip"}),
    (views.ListenerView, Listener, {"load_balancer_id"}),
    (views.PoolView, Pool, {"load_balancer_id"}),
    (views.MemberView, Member, {"load_balancer_id", "pool_id"}),
    (views.HealthMonitorView, HealthMonitor, {"load_balancer_id", "pool_id"}),
    (views.L7PolicyView, L7Policy, {"load_balancer_id"}),
    (views.L7RuleView, L7Rule, {"load_balancer_id", "l7policy_id"}),
    (views.RateLimitPolicyView, RateLimitPolicy, {"load_balancer_id"}),
    (views.RateLimitRuleView, RateLimitRule, {"load_balancer_id", "rate_limit_policy_id"}),
]
"""View, its value class, and what is shown by another name or told by the path."""
V2: list[tuple[Any, Any, set[str]]] = [
    (v2.V2LoadBalancerNew, requests.LoadBalancerNew, set()),
    (v2.V2GraphLoadBalancer, requests.LoadBalancerNew, set()),
    (v2.V2ListenerNew, requests.ListenerNew, set()),
    (v2.V2GraphListener, requests.NestedListener, set()),
    (v2.V2PoolNew, requests.PoolNew, set()),
    (v2.V2GraphPool, requests.DefaultPool, set()),
    (v2.V2MemberNew, requests.MemberNew, set()),
    (v2.V2HealthMonitorNew, requests.HealthMonitorNew, set()),
    (v2.V2L7PolicyNew, l7_requests.L7PolicyNew, set()),
    (v2.V2GraphL7Policy, requests.NestedL7Policy, set()),
    (v2.V2L7RuleNew, l7_requests.L7RuleNew, set()),
    (v2_changes.V2LoadBalancerChange, change_requests.LoadBalancerChange, set()),
    (v2_changes.V2ListenerChange, change_requests.ListenerChange, set()),
    (v2_changes.V2PoolChange, change_requests.PoolChange, set()),
    (v2_changes.V2MemberChange, change_requests.MemberChange, set()),
    (v2_changes.V2HealthMonitorChange, change_requests.HealthMonitorChange, set()),
    (v2_changes.V2L7PolicyChange, l7_requests.L7PolicyChange, set()),
    (v2_changes.V2L7RuleChange, l7_requests.L7RuleChange, set()),
    (v1.V1VipNew, requests.ListenerNew, {"subnet_id", "pool_id", "address", "session_persistence"}),
    (v1.V1VipChange, change_requests.ListenerChange, {"pool_id", "session_persistence"}),
    (v1.V1PoolNew, requests.PoolNew, {"subnet_id", "lb_method", "provider", "health_monitors"}),
    (v1.V1PoolChange, change_requests.PoolChange, {"lb_method", "health_monitors"}),
    (v1.V1MemberNew, requests.MemberNew, {"pool_id"}),
    (v1.V1MemberChange, change_requests.MemberChange, {"pool_id"}),
]
"""A request of Neutron's styles, the one of Octavia's that it becomes by names, and what its handler takes itself."""
V2_VIEWS: list[tuple[Any, Any]] = [
    (v2_views.V2LoadBalancerView, views.LoadBalancerView),
    (v2_views.V2ListenerView, views.ListenerView),
    (v2_views.V2PoolView, views.PoolView),
    (v2_views.V2MemberView, views.MemberView),
    (v2_views.V2HealthMonitorView, views.HealthMonitorView),
    (v2_views.V2L7PolicyView, views.L7PolicyView),
    (v2_views.V2L7RuleView, views.L7RuleView),
]


def names(cls: type[Any]) -> set[str]:
    """Of its fields."""
    return set(fields_of(cls))


def of_module(module: Any, base: type[Any]) -> list[type[Any]]:
    """Its classes below a base."""
    return [
        each for each in vars(module).values() if isinstance(each, type) and issubclass(each, base) and each != base
    ]


@pytest.mark.parametrize(("request_", "kind", "elsewhere"), NEW)
def test_a_create_request_gives_attributes_of_the_class(request_: Any, kind: Any, elsewhere: set[str]) -> None:
    assert names(request_) - names(kind) == elsewhere | {"tenant_id"}


@pytest.mark.parametrize(("request_", "kind", "elsewhere"), NEW)
def test_changeable_attributes_are_in_the_create_request(request_: Any, kind: Any, elsewhere: set[str]) -> None:
    assert CHANGEABLE_ATTRIBUTES[kind] <= names(request_)


@pytest.mark.parametrize(("request_", "kind"), CHANGES)
def test_a_change_request_has_what_an_update_may_set(request_: Any, kind: Any) -> None:
    assert names(request_) == CHANGEABLE_ATTRIBUTES[kind]


def test_an_item_of_a_batch_has_what_an_update_may_set_and_what_names_it() -> None:
    told = {"address", "protocol_port", "subnet_id", "request_sriov", *OWNER}

    assert names(change_requests.MemberBatchItem) == CHANGEABLE_ATTRIBUTES[Member] | told


@pytest.mark.parametrize(
    "request_",
    [cls for cls, _ in CHANGES] + of_module(v2_changes, NeutronChange) + of_module(v1, NeutronChange),
    ids=lambda cls: cls.__name__,
)
def test_missing_attribute_of_a_change_request_differs_from_null(request_: Any) -> None:
    meant = {"session_persistence"} if request_ is v1.V1VipChange else set()  # absent means none, as ever in LBaaS v1

    assert {field.name for field in fields_of(request_).values() if field.default is not UNSET} == meant


@pytest.mark.parametrize(("request_", "kind", "elsewhere"), NEW)
def test_a_change_takes_null_where_a_create_does(request_: Any, kind: Any, elsewhere: set[str]) -> None:
    change = fields_of(next(cls for cls, of in CHANGES if of is kind))

    for name in change:
        optional = not fields_of(request_)[name].required
        assert (type(None) in get_args(change[name].type)) == optional, name


@pytest.mark.parametrize(("view", "kind", "otherwise"), VIEWS)
def test_every_attribute_is_shown_or_hidden(view: Any, kind: Any, otherwise: set[str]) -> None:
    assert names(kind) - names(view) - HIDDEN_ATTRIBUTES[kind] - set(LINK_ATTRIBUTES[kind]) == otherwise
    assert names(view) & HIDDEN_ATTRIBUTES[kind] <= {"status_reason"}  # shown of what is not ACTIVE only


@pytest.mark.parametrize(("request_", "octavias", "elsewhere"), V2)
def test_nothing_is_lost_between_the_api_styles(request_: Any, octavias: Any, elsewhere: set[str]) -> None:
    assert names(request_) - names(octavias) - OWNER == elsewhere


def test_every_request_of_neutrons_styles_is_looked_at() -> None:
    looked_at = {request_ for request_, _, _ in V2}
    of_graphs = {v2.V2Graph}
    parts = {v2.V2L7PolicyParts, v2.V2HealthMonitorParts, v2.V2PoolParts, v2.V2ListenerParts}
    monitors = {v1.V1HealthMonitorNew, v1.V1HealthMonitorChange, v1.V1Association}
    found = [
        *of_module(v2, NeutronNew),
        *of_module(v2_changes, NeutronChange),
        *of_module(v1, NeutronNew),
        *of_module(v1, NeutronChange),
    ]

    assert set(found) - looked_at - of_graphs - parts - monitors == set()


def test_a_shared_monitor_takes_what_its_change_request_has() -> None:
    assert names(v1.V1HealthMonitorChange) == SHARED_MONITOR_CHANGES
    assert names(v1.V1HealthMonitorNew) - OWNER == SHARED_MONITOR_CHANGES | {"type"}


@pytest.mark.parametrize(("view", "octavias"), V2_VIEWS)
def test_neutrons_style_shows_attributes_by_octavias_names(view: Any, octavias: Any) -> None:
    assert names(view) <= names(octavias)


def test_one_more_attribute_needs_the_class_the_request_and_a_column(tmp_path: Path) -> None:
    """See "Add an attribute" in docs/how-to/develop.md."""
    command = [sys.executable, "-m", "tests.one_more_attribute", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0)
    assert done.returncode == 0, done.stderr

    assert json.loads(done.stdout) == {
        "column": ["INTEGER", False, "5"],
        "row": 9,
        "read from its row": True,
        "changeable": True,
        "option": True,
        "refused by a device type": ["x_limit 9. Allowed: 5."],
        "created": 7,
        "created without": 5,
        "out of bounds": "Invalid input for field/attribute x_limit. Value: '10'. "
        "Value should be lower or equal to 9: an integer from 0 to 9.",
        "changed": 8,
        "filtered": 1,
        "ordered": [5, 8],
        "documented": [
            "FullListenerView",
            "ListenerChange",
            "ListenerNew",
            "ListenerView",
            "ListenerViewPart",
            "MirroredListener",
            "NestedListener",
        ],
        "service definition": [8, 5],
        "reset by null": 5,
    }


def test_the_how_to_names_files_that_are_there_and_at_most_seven() -> None:
    root = Path(__file__).parents[2]
    section = (root / "docs/how-to/develop.md").read_text().partition("## Add an attribute\n")[2].partition("\n## ")[0]
    steps = re.findall(r"^[0-9]\. .*?`(src/evenkeel/[^`]+)`", section, re.MULTILINE)

    assert 5 <= len(steps) <= 7
    assert len(steps) == len(re.findall(r"^[0-9]+\. ", section, re.MULTILINE))
    assert [step for step in steps if not (root / step).exists()] == []

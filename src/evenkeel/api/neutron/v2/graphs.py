"""Whole load balancers created by one request: conversion of LBaaS v2's nesting to Octavia's, and the response."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from evenkeel.api.common.services import Services
from evenkeel.api.common.status_trees import members_and_monitors_by_pool, policies_and_rules_by_parent
from evenkeel.api.common.views import View
from evenkeel.api.http.call import Call
from evenkeel.api.neutron.v2 import requests, showing, views
from evenkeel.api.neutron.v2.l7policies import check_redirect_target, checked_rule
from evenkeel.api.neutron.v2.listeners import check_protocol_pair, check_tls_container
from evenkeel.api.neutron.v2.loadbalancers import check_new_load_balancer
from evenkeel.api.neutron.v2.members import check_subnets
from evenkeel.api.neutron.v2.pools import persistence_of_v2
from evenkeel.api.neutron.v2.resources import convert_body
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.usecases import l7_requests, pool_requests
from evenkeel.api.usecases import requests as octavia
from evenkeel.api.usecases.load_balancers import make_load_balancer
from evenkeel.core.networking.network import lbaas_v2_port_mark
from evenkeel.core.resources.model import HealthMonitor, L7Policy, L7Rule, Listener, LoadBalancerTree, Member, Pool


class V2GraphPoolView(views.V2PoolAttributes, kw_only=True):
    """A pool with its members, and its health monitor, absent if it has none."""

    members: list[views.V2MemberView]
    healthmonitor: views.V2HealthMonitorView | UnsetType = UNSET


class V2GraphL7PolicyView(views.V2L7PolicyAttributes, kw_only=True):
    """An L7 policy with its rules, and its redirect pool, absent if it has none."""

    rules: list[views.V2L7RuleView]
    redirect_pool: V2GraphPoolView | UnsetType = UNSET


class V2GraphListenerView(views.V2ListenerAttributes, kw_only=True):
    """A listener with its L7 policies, and its default pool, absent if it has none."""

    l7policies: list[V2GraphL7PolicyView]
    default_pool: V2GraphPoolView | UnsetType = UNSET


class V2GraphLoadBalancerView(views.V2LoadBalancerAttributes, kw_only=True):
    """A load balancer with all its children."""

    listeners: list[V2GraphListenerView]


class V2GraphView(View, kw_only=True):
    """A load balancer with all its children, as created by POST /graphs."""

    loadbalancer: V2GraphLoadBalancerView


async def create_graph(services: Services, call: Call, body: requests.V2GraphNewBody) -> Answer:
    """Handle POST /graphs: create a load balancer with all its children; answers 201 with the whole graph.
    Raises :class:`NeutronRefusal`, and the errors of :func:`make_load_balancer`.
    """
    wanted = body.graph.loadbalancer
    check_new_load_balancer(wanted, call.caller.scope)
    listeners = wanted.listeners or []
    pools = [pool for each in listeners for pool in _pools_of_listener(each)]
    await check_subnets(services, call, [member for pool in pools for member in pool.members or []])
    asked = convert_body(octavia.LoadBalancerNew, wanted, listeners=[_convert_listener(each) for each in listeners])
    tree = await make_load_balancer(services, call, asked, lbaas_v2_port_mark, any_subnet=call.caller.scope is None)
    return json_answer({"graph": graph_view(tree)}, 201)


def _pools_of_listener(body: requests.V2GraphListener) -> list[requests.V2GraphPool]:
    pools = (body.default_pool, *(policy.redirect_pool for policy in body.l7policies or ()))
    return [pool for pool in pools if pool is not None]


def _convert_listener(body: requests.V2GraphListener) -> octavia.NestedListener:
    check_tls_container(body)
    if body.default_pool is not None:
        check_protocol_pair(body.protocol, body.default_pool.protocol)
    return convert_body(
        octavia.NestedListener,
        body,
        default_pool=_convert_pool(body.default_pool),
        l7policies=[_convert_policy(each) for each in body.l7policies or ()],
    )


def _convert_pool(body: requests.V2GraphPool | None) -> pool_requests.DefaultPool | None:
    if body is None:
        return None
    monitor = body.healthmonitor
    return convert_body(
        pool_requests.DefaultPool,
        body,
        session_persistence=persistence_of_v2(body.session_persistence),
        members=[convert_body(pool_requests.MemberNew, each) for each in body.members or ()],
        healthmonitor=None if monitor is None else convert_body(pool_requests.NestedHealthMonitor, monitor),
    )


def _convert_policy(body: requests.V2GraphL7Policy) -> octavia.NestedL7Policy:
    check_redirect_target(body.action, None if body.redirect_pool is None else "new", body.redirect_url)
    checked = [checked_rule(each, each.type, each.value) for each in body.rules or ()]
    rules = [convert_body(l7_requests.L7RuleNew, each) for each in checked]
    return convert_body(octavia.NestedL7Policy, body, redirect_pool=_convert_pool(body.redirect_pool), rules=rules)


# -- the answer


class _GraphViews:
    """Children of a load balancer by their parents, and views of them."""

    def __init__(self, tree: LoadBalancerTree) -> None:
        self._members, self._monitors = members_and_monitors_by_pool(tree)
        self._policies, self._rules = policies_and_rules_by_parent(tree)
        self._pools = {row.id: row for row in tree.pools}

    def listener_view(self, row: Listener) -> V2GraphListenerView:
        return V2GraphListenerView(
            **showing.listener_attributes(row),
            l7policies=[self._policy_view(policy) for policy in self._policies.get(row.id, [])],
            default_pool=self._pool_view(row.default_pool_id),
        )

    def _policy_view(self, row: L7Policy) -> V2GraphL7PolicyView:
        rules: Mapping[str, Sequence[L7Rule]] = self._rules
        return V2GraphL7PolicyView(
            **showing.l7policy_attributes(row),
            rules=[showing.l7rule_view(rule) for rule in rules.get(row.id, ())],
            redirect_pool=self._pool_view(row.redirect_pool_id),
        )

    def _pool_view(self, pool_id: str | None) -> V2GraphPoolView | UnsetType:
        row: Pool | None = self._pools.get(pool_id or "")
        if row is None:
            return UNSET
        members: Sequence[Member] = self._members.get(row.id, ())
        monitor: HealthMonitor | None = self._monitors.get(row.id)
        return V2GraphPoolView(
            **showing.pool_attributes(row),
            members=[showing.member_view(member) for member in members],
            healthmonitor=UNSET if monitor is None else showing.health_monitor_view(monitor),
        )


def graph_view(tree: LoadBalancerTree) -> V2GraphView:
    """Convert a load balancer with all its children to the view in the response to POST /graphs."""
    parts = _GraphViews(tree)
    root = V2GraphLoadBalancerView(
        **showing.load_balancer_attributes(tree.load_balancer),
        listeners=[parts.listener_view(row) for row in tree.listeners],
    )
    return V2GraphView(loadbalancer=root)

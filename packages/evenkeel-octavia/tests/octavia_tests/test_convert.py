"""Rows of Octavia become bodies with all that stays, and nothing else."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given

from evenkeel_octavia.convert import (
    body_digest,
    changed_body,
    complete_vips,
    loadbalancer_body,
    object_body,
    parent_ids,
    vip_port_body,
)
from evenkeel_octavia.trees import DatabaseRow, LoadBalancerTree
from octavia_tests.strategies import few, listener, member, monitor, policy, pool, row, rule, tree, trees

LEAVING = ("PENDING_DELETE", "DELETED")


def objects_in(body: Any) -> Iterator[dict[str, Any]]:
    """All objects of a body."""
    if isinstance(body, dict):
        if "id" in body:
            yield body
        for value in body.values():
            yield from objects_in(value)
    elif isinstance(body, list):
        for value in body:
            yield from objects_in(value)


def staying(tree: LoadBalancerTree) -> set[str]:
    """Ids of objects that a body must have: they and all above them are not being deleted."""
    gone = {each["id"] for _, each in tree.objects() if each["provisioning_status"] in LEAVING}

    def above(kind: str, each: DatabaseRow) -> set[Any]:
        names = {"members": "pool_id", "healthmonitors": "pool_id", "l7policies": "listener_id"}
        return {each.get(names.get(kind, "")), each.get("redirect_pool_id") if kind == "l7policies" else None}

    policies = {each["id"] for each in tree.l7policies if not ({each["id"], *above("l7policies", each)} & gone)}
    kept = {
        each["id"]
        for kind, each in tree.objects()
        if kind not in ("l7rules", "l7policies") and not ({each["id"], *above(kind, each)} & gone)
    }
    rules = {each["id"] for each in tree.l7rules if each["l7policy_id"] in policies and each["id"] not in gone}
    return {*(kept - {tree.id}), *policies, *rules, tree.id}


@few
@given(trees())
def test_body_has_each_object_that_stays_once_and_no_other(tree: LoadBalancerTree) -> None:
    ids = [each["id"] for each in objects_in(loadbalancer_body(tree))]
    assert len(ids) == len(set(ids)) and set(ids) == staying(tree)


@few
@given(trees())
def test_references_in_a_body_name_its_pools(tree: LoadBalancerTree) -> None:
    body = loadbalancer_body(tree)
    pools = {pool["id"] for pool in body.get("pools", [])}
    named = {each.get(name) for each in objects_in(body) for name in ("default_pool_id", "redirect_pool_id")}
    assert named - {None} <= pools


@few
@given(trees())
def test_positions_of_policies_have_no_gap(tree: LoadBalancerTree) -> None:
    for one in loadbalancer_body(tree).get("listeners", []):
        positions = [policy["position"] for policy in one.get("l7policies", [])]
        assert positions == sorted(positions)
        assert all(position <= len(tree.l7policies) for position in positions)


@few
@given(trees())
def test_absent_values_are_left_out(tree: LoadBalancerTree) -> None:
    values = [value for each in objects_in(loadbalancer_body(tree)) for value in each.values()]
    assert None not in values and [] not in values and {} not in values


@few
@given(trees())
def test_digest_does_not_depend_on_statuses(tree: LoadBalancerTree) -> None:
    def active(rows: tuple[DatabaseRow, ...]) -> tuple[DatabaseRow, ...]:
        return tuple(
            {**each, "operating_status": "OFFLINE", "provisioning_status": "ACTIVE"}
            if each["provisioning_status"] not in LEAVING
            else each
            for each in rows
        )

    names = ("listeners", "pools", "members", "healthmonitors", "l7policies", "l7rules")
    other = dataclasses.replace(tree, **{name: active(getattr(tree, name)) for name in names})
    assert body_digest(loadbalancer_body(other)) == body_digest(loadbalancer_body(tree))


def test_each_octavia_column_maps_to_an_attribute_of_our_api() -> None:
    body = loadbalancer_body(
        tree(
            values={"description": "d", "availability_zone": "az", "flavor_id": "flavor", "enabled": False},
            zone={"compute_zone": "nova"},
            additional_vips=({"subnet_id": "s2", "ip_address": "2001:db8::1", "port_id": "p2", "network_id": "n"},),
            security_groups=("sg",),
            flavor={"size": "large"},
            listeners=(
                listener(
                    0,
                    tls_certificate_id="cert",
                    client_ca_tls_certificate_id="ca",
                    client_crl_container_id="crl",
                    insert_headers={"X-Forwarded-For": "true"},
                    default_pool_id="pool-0",
                ),
            ),
            sni_refs={"listener-0": ("sni",)},
            cidrs={"listener-0": ("192.0.2.0/24",)},
            pools=(pool(0, tls_certificate_id="pc", ca_tls_certificate_id="pca", crl_container_id="pcrl"),),
            persistences={"pool-0": {"type": "SOURCE_IP", "cookie_name": None, "persistence_timeout": 60}},
            healthmonitors=(monitor(0, http_version=1.1),),
            members=(member(0, vnic_type="direct", weight=0, subnet_id="ms"),),
            l7policies=(policy(0, action="REDIRECT_TO_POOL", redirect_pool_id="pool-0"),),
            l7rules=(rule(0, invert=True),),
            tags={"lb-0": ("a", "b")},
        )
    )
    common = {"name": "", "project_id": "project", "admin_state_up": True}
    assert body == {
        **common,
        "id": "lb-0",
        "admin_state_up": False,
        "provider": "evenkeel",
        "description": "d",
        "availability_zone_data": {"compute_zone": "nova"},
        "flavor_data": {"size": "large"},
        "tags": ["a", "b"],
        "vip_address": "192.0.2.1",
        "vip_port_id": "port",
        "vip_subnet_id": "subnet",
        "vip_network_id": "network",
        "vip_sg_ids": ["sg"],
        "additional_vips": [{"subnet_id": "s2", "ip_address": "2001:db8::1"}],
        "listeners": [
            {
                **common,
                "id": "listener-0",
                "protocol": "HTTP",
                "protocol_port": 8000,
                "default_pool_id": "pool-0",
                "default_tls_container_ref": "cert",
                "client_ca_tls_container_ref": "ca",
                "client_crl_container_ref": "crl",
                "sni_container_refs": ["sni"],
                "allowed_cidrs": ["192.0.2.0/24"],
                "insert_headers": {"X-Forwarded-For": "true"},
                "l7policies": [
                    {
                        **common,
                        "id": "policy-0",
                        "action": "REDIRECT_TO_POOL",
                        "redirect_pool_id": "pool-0",
                        "position": 1,
                        "rules": [
                            {
                                "id": "rule-0",
                                "project_id": "project",
                                "admin_state_up": True,
                                "type": "PATH",
                                "compare_type": "EQUAL_TO",
                                "value": "/",
                                "invert": True,
                            }
                        ],
                    }
                ],
            }
        ],
        "pools": [
            {
                **common,
                "id": "pool-0",
                "protocol": "HTTP",
                "lb_algorithm": "ROUND_ROBIN",
                "tls_container_ref": "pc",
                "ca_tls_container_ref": "pca",
                "crl_container_ref": "pcrl",
                "session_persistence": {"type": "SOURCE_IP", "persistence_timeout": 60},
                "healthmonitor": {
                    **common,
                    "id": "monitor-0",
                    "type": "TCP",
                    "delay": 5,
                    "timeout": 3,
                    "max_retries": 2,
                    "max_retries_down": 3,
                    "http_version": 1.1,
                },
                "members": [
                    {
                        **common,
                        "id": "member-0",
                        "address": "10.0.0.0",
                        "protocol_port": 80,
                        "weight": 0,
                        "subnet_id": "ms",
                        "request_sriov": True,
                    }
                ],
            }
        ],
    }


def test_positions_close_the_gap_of_a_deleted_policy() -> None:
    policies = (policy(0), policy(1, provisioning_status="PENDING_DELETE"), policy(2))
    body = loadbalancer_body(tree(listeners=(listener(0),), l7policies=policies))
    assert [(each["id"], each["position"]) for each in body["listeners"][0]["l7policies"]] == [
        ("policy-0", 1),
        ("policy-2", 2),
    ]


# -- octavia-lib's objects


def test_converted_object_has_no_private_keys_and_our_attribute_names() -> None:
    given = {
        "listener_id": "l",
        "loadbalancer_id": "lb",
        "project_id": "project",
        "protocol": "TERMINATED_HTTPS",
        "default_tls_container_ref": "ref",
        "default_tls_container_data": {"private_key": "secret"},
        "sni_container_data": [{"private_key": "secret"}],
        "description": None,
    }
    assert object_body("listener", given) == {
        "id": "l",
        "protocol": "TERMINATED_HTTPS",
        "default_tls_container_ref": "ref",
    }


@pytest.mark.parametrize("is_listed", [True, False])
def test_pool_of_a_listener_stands_once_among_the_pools_of_its_load_balancer(is_listed: bool) -> None:
    same = {"pool_id": "p", "loadbalancer_id": "lb", "members": [{"member_id": "m", "pool_id": "p", "address": "x"}]}
    given = {
        "loadbalancer_id": "lb",
        "listeners": [{"listener_id": "l", "loadbalancer_id": "lb", "default_pool": same, "default_pool_id": "p"}],
        "pools": [same] if is_listed else None,
        "flavor": {"size": "large"},
        "availability_zone": "az",
        "additional_vips": [{"subnet_id": "s", "ip_address": "x", "port_id": "p"}, {"subnet_id": "t"}],
    }
    assert object_body("loadbalancer", given) == {
        "id": "lb",
        "flavor_data": {"size": "large"},
        "additional_vips": [{"subnet_id": "s", "ip_address": "x"}],
        "listeners": [{"id": "l", "default_pool_id": "p"}],
        "pools": [{"id": "p", "members": [{"id": "m", "address": "x"}]}],
    }


def test_changed_object_is_whole_and_has_no_children() -> None:
    old = {"pool_id": "p", "name": "a", "description": "d", "members": [{"member_id": "m"}]}
    assert changed_body("pool", old, {"pool_id": "p", "name": "b", "description": None}) == {"id": "p", "name": "b"}


@pytest.mark.parametrize(("vnic_type", "expected"), [("normal", {}), ("direct", {"request_sriov": True})])
def test_member_on_a_virtual_function_requests_sriov(vnic_type: str, expected: dict[str, bool]) -> None:
    assert object_body("member", {"member_id": "m", "vnic_type": vnic_type}) == {"id": "m", **expected}


def test_vip_port_is_requested_in_a_subnet_or_else_in_a_network() -> None:
    vip = {"vip_subnet_id": "s", "vip_network_id": "n", "vip_port_id": None, "vip_address": "", "vip_sg_ids": ["g"]}
    more = [{"subnet_id": "t", "network_id": "n", "ip_address": "198.51.100.7", "port_id": None}, {"subnet_id": "u"}]
    assert vip_port_body("p", {**vip, "vip_address": None}, more) == {
        "project_id": "p",
        "vip_sg_ids": ["g"],
        "vip_subnet_id": "s",
        "additional_vips": [{"subnet_id": "t", "ip_address": "198.51.100.7"}, {"subnet_id": "u"}],
    }
    assert vip_port_body("p", {"vip_network_id": "n"}, ()) == {"project_id": "p", "vip_network_id": "n"}


def test_made_port_completes_the_dictionaries_of_octavia() -> None:
    port = {
        "port_id": "port",
        "network_id": "n",
        "subnet_id": "s",
        "ip_address": "203.0.113.5",
        "additional_vips": [{"subnet_id": "t", "ip_address": "198.51.100.7"}],
    }
    assert complete_vips({"vip_network_id": "another", "vip_qos_policy_id": "q"}, port) == (
        {
            "vip_qos_policy_id": "q",
            "vip_address": "203.0.113.5",
            "vip_subnet_id": "s",
            "vip_network_id": "n",
            "vip_port_id": "port",
        },
        [{"subnet_id": "t", "ip_address": "198.51.100.7", "network_id": "n", "port_id": "port"}],
    )


def test_row_without_a_column_of_a_newer_octavia_is_converted() -> None:
    bare = {name: value for name, value in member(0).items() if name != "vnic_type"}
    body = loadbalancer_body(tree(pools=(pool(0),), members=(bare,)))
    assert body["pools"][0]["members"][0]["id"] == row("member", 0)["id"]


@pytest.mark.parametrize(
    ("kind", "values", "above"),
    [
        ("loadbalancer", {"loadbalancer_id": "lb"}, {}),
        ("listener", {"listener_id": "l", "loadbalancer_id": "lb"}, {"loadbalancer_id": "lb"}),
        (
            "pool",
            {"pool_id": "p", "loadbalancer_id": "lb", "listener_id": "l"},
            {"loadbalancer_id": "lb", "listener_id": "l"},
        ),
        ("pool", {"pool_id": "p", "loadbalancer_id": "lb", "listener_id": None}, {"loadbalancer_id": "lb"}),
        ("member", {"member_id": "m", "pool_id": "p"}, {"pool_id": "p"}),
        ("healthmonitor", {"healthmonitor_id": "h", "pool_id": "p"}, {"pool_id": "p"}),
        ("l7policy", {"l7policy_id": "x", "listener_id": "l"}, {"listener_id": "l"}),
        ("l7rule", {"l7rule_id": "r", "l7policy_id": "x"}, {"l7policy_id": "x"}),
    ],
)
def test_ids_above_are_those_by_which_the_load_balancer_is_found(
    kind: str, values: dict[str, Any], above: dict[str, str]
) -> None:
    assert parent_ids(kind, values) == above

"""The service definition holds what the device needs and nothing that is deleted."""

from typing import Any

import pytest

from evenkeel.core.devices.service import NO_VIP, service_definition_of_tree
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, LoadBalancerTree, Member, Pool, Vip

VIP = Vip(address="10.0.0.5", subnet_id="s", network_id="n", port_id="p")
ROOT = LoadBalancer(id="lb", project_id="t", vip=VIP, provider="demo", revision=7)
IDS = {"load_balancer_id": "lb", "project_id": "t"}


def test_deleted_parts_are_left_out_and_links_to_them_cut() -> None:
    tree = LoadBalancerTree(
        load_balancer=ROOT,
        listeners=(
            Listener(id="l1", protocol="HTTP", protocol_port=80, default_pool_id="gone", **IDS),
            Listener(id="l2", protocol="HTTP", protocol_port=81, deleted=True, **IDS),
        ),
        pools=(
            Pool(id="p1", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **IDS),
            Pool(id="gone", protocol="HTTP", lb_algorithm="ROUND_ROBIN", deleted=True, **IDS),
        ),
        members=(
            Member(id="m1", pool_id="p1", address="10.0.0.9", protocol_port=80, **IDS),
            Member(id="m2", pool_id="p1", address="10.0.0.8", protocol_port=80, deleted=True, **IDS),
        ),
        health_monitors=(
            HealthMonitor(id="h", pool_id="p1", type="TCP", delay=5, timeout=3, max_retries=2, deleted=True, **IDS),
        ),
    )
    definition = service_definition_of_tree(tree)
    assert definition.revision == 7
    assert [(row.id, row.default_pool_id) for row in definition.listeners] == [("l1", None)]
    assert [row.id for row in definition.pools] == ["p1"]
    assert [row.id for row in definition.pools[0].members] == ["m1"]
    assert definition.pools[0].monitor is None


def test_a_deleted_load_balancer_is_a_definition_of_nothing() -> None:
    tree = LoadBalancerTree(
        load_balancer=LoadBalancer(id="lb", project_id="t", vip=VIP, provider="demo", revision=9, deleted=True),
        listeners=(Listener(id="l1", protocol="HTTP", protocol_port=80, **IDS),),
    )
    definition = service_definition_of_tree(tree)
    assert definition.deleted
    assert definition.listeners == ()


@pytest.mark.parametrize("attributes", [{"vip": None}, {"vip": VIP, "vip_leaving_revision": 9}])
def test_without_a_vip_a_load_balancer_is_a_definition_of_nothing(attributes: Any) -> None:
    root = LoadBalancer(id="lb", project_id="t", provider="demo", revision=9, root_pool_id="p1", **attributes)
    tree = LoadBalancerTree(
        load_balancer=root,
        listeners=(Listener(id="l1", protocol="HTTP", protocol_port=80, default_pool_id="p1", **IDS),),
        pools=(Pool(id="p1", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **IDS),),
    )

    definition = service_definition_of_tree(tree)

    assert (definition.deleted, definition.listeners, definition.pools) == (True, (), ())
    assert definition.vip == (attributes["vip"] or NO_VIP)

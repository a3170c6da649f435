"""LBaaS v2's status tree: what is disabled disables what is below it, what fails degrades what is above it."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from evenkeel.api.neutron.v2.trees import status_pieces
from evenkeel.core.resources.model import (
    HealthMonitor,
    L7Policy,
    Listener,
    LoadBalancer,
    LoadBalancerTree,
    Member,
    Pool,
    Vip,
)
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus

ACTIVE, ERROR = ProvisioningStatus.ACTIVE, ProvisioningStatus.ERROR
WORKS: dict[str, Any] = {"provisioning_status": ACTIVE, "operating_status": OperatingStatus.ONLINE}
OWNED = {"load_balancer_id": "lb", "project_id": "p"}

TREE = LoadBalancerTree(
    load_balancer=LoadBalancer(
        id="lb",
        project_id="p",
        vip=Vip(address="10.0.0.1", subnet_id="s", network_id="n", port_id="o"),
        provider="dev",
        **WORKS,
    ),
    listeners=(Listener(id="l", protocol="HTTP", protocol_port=80, default_pool_id="g", **OWNED, **WORKS),),
    pools=(Pool(id="g", protocol="HTTP", lb_algorithm="ROUND_ROBIN", **OWNED, **WORKS),),
    members=(Member(id="m", pool_id="g", address="10.0.0.2", protocol_port=80, **OWNED, **WORKS),),
    health_monitors=(
        HealthMonitor(id="h", pool_id="g", type="PING", delay=1, timeout=1, max_retries=1, **OWNED, **WORKS),
    ),
    l7policies=(L7Policy(id="y", listener_id="l", action="REJECT", **OWNED, **WORKS),),
)


def with_part(kind: str, **values: Any) -> LoadBalancerTree:
    part = getattr(TREE, kind)
    changed = replace(part, **values) if kind == "load_balancer" else (replace(part[0], **values),)
    return replace(TREE, **{kind: changed})


def shown_of(tree: LoadBalancerTree) -> Any:
    return msgspec.json.decode(b"".join(status_pieces(tree)))["statuses"]["loadbalancer"]


def operating(tree: LoadBalancerTree) -> dict[str, str]:
    """Operating status by kind, as shown."""
    root = shown_of(tree)
    listener = root["listeners"][0]
    pool = listener["pools"][0]
    found = {"load balancer": root, "listener": listener, "pool": pool, "member": pool["members"][0]}
    return {kind: shown["operating_status"] for kind, shown in found.items()}


def test_all_is_well() -> None:
    assert set(operating(TREE).values()) == {"ONLINE"}


@pytest.mark.parametrize("status", [OperatingStatus.NO_MONITOR, OperatingStatus.DRAINING])
def test_members_without_monitor_or_drained_degrade_nothing(status: OperatingStatus) -> None:
    shown = operating(with_part("members", operating_status=status))
    assert {shown["load balancer"], shown["listener"], shown["pool"]} == {"ONLINE"}
    assert shown["member"] == ("NO_MONITOR" if status == OperatingStatus.NO_MONITOR else "ONLINE")


@pytest.mark.parametrize(
    ("kind", "values", "degraded"),
    [
        ("members", {"operating_status": OperatingStatus.ERROR}, {"load balancer", "listener", "pool"}),
        ("members", {"operating_status": OperatingStatus.OFFLINE}, {"load balancer", "listener", "pool"}),
        ("members", {"provisioning_status": ERROR}, {"load balancer", "listener", "pool"}),
        ("health_monitors", {"provisioning_status": ERROR}, {"load balancer", "listener", "pool"}),
        ("pools", {"provisioning_status": ERROR}, {"load balancer", "listener"}),
        ("l7policies", {"provisioning_status": ERROR}, {"load balancer", "listener"}),
        ("listeners", {"provisioning_status": ERROR}, {"load balancer"}),
        ("listeners", {"operating_status": OperatingStatus.OFFLINE}, {"load balancer"}),
    ],
)
def test_failed_object_degrades_its_parents(kind: str, values: Any, degraded: set[str]) -> None:
    shown = operating(with_part(kind, **values))
    assert {name for name, status in shown.items() if status == "DEGRADED"} == degraded


@pytest.mark.parametrize(
    ("kind", "disabled"),
    [
        ("load_balancer", {"load balancer", "listener", "pool", "member"}),
        ("listeners", {"listener", "pool", "member"}),
        ("pools", {"pool", "member"}),
        ("members", {"member"}),
    ],
)
def test_disabled_object_disables_its_children_and_degrades_nothing(kind: str, disabled: set[str]) -> None:
    shown = operating(with_part(kind, admin_state_up=False, operating_status=OperatingStatus.OFFLINE))
    assert {name for name, status in shown.items() if status == "DISABLED"} == disabled
    assert "DEGRADED" not in shown.values()


def test_pools_of_a_disabled_load_balancer_are_not_shown_apart() -> None:
    assert "pools" in shown_of(TREE)
    root = shown_of(with_part("load_balancer", admin_state_up=False))
    assert "pools" not in root

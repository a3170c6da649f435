"""Random load balancers as rows of Octavia's tables."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from evenkeel_octavia.trees import DatabaseRow, LoadBalancerTree

few = settings(max_examples=30)
"""Trees are large: so many examples take a second."""
PROVISIONING = ("ACTIVE", "ERROR", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE")
OPERATING = ("ONLINE", "OFFLINE", "ERROR", "NO_MONITOR")


def row(kind: str, number: int, **values: Any) -> DatabaseRow:
    """A row with the columns that all objects have."""
    common = {"id": f"{kind}-{number}", "name": "", "project_id": "project", "enabled": True}
    statuses = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}
    return {**common, **statuses, **values}


def listener(number: int, **values: Any) -> DatabaseRow:
    own = {"protocol": "HTTP", "protocol_port": 8000 + number, "default_pool_id": None, "insert_headers": {}}
    return row("listener", number, **{**own, **values})


def pool(number: int, **values: Any) -> DatabaseRow:
    return row("pool", number, **{"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", **values})


def member(number: int, **values: Any) -> DatabaseRow:
    own = {"pool_id": "pool-0", "ip_address": f"10.0.0.{number}", "protocol_port": 80, "vnic_type": "normal"}
    return row("member", number, **{**own, **values})


def monitor(number: int, **values: Any) -> DatabaseRow:
    own = {"pool_id": "pool-0", "type": "TCP", "delay": 5, "timeout": 3, "rise_threshold": 2, "fall_threshold": 3}
    return row("monitor", number, **{**own, **values})


def policy(number: int, **values: Any) -> DatabaseRow:
    own = {"listener_id": "listener-0", "action": "REJECT", "redirect_pool_id": None, "position": number + 1}
    return row("policy", number, **{**own, **values})


def rule(number: int, **values: Any) -> DatabaseRow:
    own = {"l7policy_id": "policy-0", "type": "PATH", "compare_type": "EQUAL_TO", "key": None, "value": "/"}
    return row("rule", number, **{**own, **values})


def tree(**parts: Any) -> LoadBalancerTree:
    """A load balancer ``lb-0`` of the provider ``evenkeel``."""
    own = row("lb", 0, **{"provider": "evenkeel", "flavor_id": None, **parts.pop("values", {})})
    vip = {"ip_address": "192.0.2.1", "port_id": "port", "subnet_id": "subnet", "network_id": "network"}
    return LoadBalancerTree(loadbalancer=own, vip=vip, **parts)


@st.composite
def trees(draw: st.DrawFn) -> LoadBalancerTree:
    """A load balancer with up to three objects of each kind, each with any statuses."""
    statuses = {
        "provisioning_status": st.sampled_from(PROVISIONING),
        "operating_status": st.sampled_from(OPERATING),
        "name": st.sampled_from(("", "a", None)),
    }

    def several(make: Any, **values: Any) -> tuple[DatabaseRow, ...]:
        count = draw(st.integers(0, 3))
        return tuple(make(number, **draw(st.fixed_dictionaries({**statuses, **values}))) for number in range(count))

    pools = several(pool)
    ids = [each["id"] for each in pools]
    any_pool = st.sampled_from([None, *ids])
    listeners = several(listener, default_pool_id=any_pool)
    policies, rules, members, monitors = (), (), (), ()
    if listeners:
        places = st.sampled_from([each["id"] for each in listeners])
        policies = several(policy, listener_id=places, redirect_pool_id=any_pool)
    if policies:
        rules = several(rule, l7policy_id=st.sampled_from([each["id"] for each in policies]))
    if pools:
        members = several(member, pool_id=st.sampled_from(ids))
        monitors = tuple(
            monitor(number, pool_id=id, **draw(st.fixed_dictionaries(statuses))) for number, id in enumerate(ids[:2])
        )
    return tree(
        values=draw(st.fixed_dictionaries(statuses)),
        listeners=listeners,
        pools=pools,
        members=members,
        healthmonitors=monitors,
        l7policies=policies,
        l7rules=rules,
        tags=dict.fromkeys(draw(st.lists(st.sampled_from(["lb-0", *ids]), unique=True)), ("tag",)),
    )

"""A load balancer and everything below it, in the operators' API."""

import msgspec
import pytest

from evenkeel.api.operators.trees import LoadBalancerNode, tree_pieces
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.ports import Store
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client
from tests.api.operators.conftest import BASE
from tests.api.test_status_trees import MISLEADING, tree
from tests.store.conftest import statements_of

POOL = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}


@pytest.mark.parametrize(("listeners", "members"), [(0, 0), (1, 0), (3, 2)])
def test_the_pieces_are_the_tree(listeners: int, members: int) -> None:
    whole = b"".join(tree_pieces(tree(listeners, members)))
    root = msgspec.json.decode(whole, type=dict[str, LoadBalancerNode])["tree"]
    assert root.name == MISLEADING
    assert [each.id for each in root.listeners] == [f"l{n}" for n in range(listeners)]
    assert {each.default_pool_id for each in root.listeners} <= {"g"}
    if listeners:
        (policy,) = root.listeners[0].l7policies
        assert policy.redirect_pool_id == "empty"
        assert [rule.id for rule in policy.rules] == ["r", "q"]
    used, empty = root.pools
    assert [each.id for each in used.members] == [f"m{n}" for n in range(members)]
    assert used.health_monitor is not None and used.health_monitor.id == "h"
    assert (empty.members, empty.health_monitor) == ([], None)


async def test_a_pool_that_no_listener_uses_and_the_reason_are_shown(api: Client, store: Store) -> None:
    id_ = (await api.load_balancer(pools=[{"name": "spare", **POOL}]))["id"]
    await store.scheduling.store_unplaced_reason([LoadBalancerId(id_)], "no agent")
    shown = (await api.get(f"{BASE}/loadbalancers/{id_}/tree"))["tree"]
    assert shown["listeners"] == [] and [pool["name"] for pool in shown["pools"]] == ["spare"]
    assert shown["status_reason"] == "no agent"


async def test_rate_limits_are_shown_below_their_listener(api: Client) -> None:
    id_ = (await api.load_balancer())["id"]
    listener = (await api.listener(id_))["id"]
    body = {"ratelimitpolicy": {"listener_id": listener, "action": "DENY", "name": "slow"}}
    policy = (await api.post("/ratelimitpolicies", body))["ratelimitpolicy"]["id"]
    await api.post(f"/ratelimitpolicies/{policy}/rules", {"rule": {"metric": "KBYTES", "threshold": 9}})
    (shown,) = (await api.get(f"{BASE}/loadbalancers/{id_}/tree"))["tree"]["listeners"]
    (limit,) = shown["rate_limit_policies"]
    assert (limit["id"], limit["name"], limit["action"]) == (policy, "slow", "DENY")
    assert [(rule["metric"], rule["threshold"], rule["interval"]) for rule in limit["rate_limit_rules"]] == [
        ("KBYTES", 9, 30)
    ]


async def test_one_that_does_not_exist_is_not_found(api: Client) -> None:
    fault = await api.get(f"{BASE}/loadbalancers/00000000-0000-0000-0000-000000000000/tree", status=404)
    assert "Load Balancer" in fault["faultstring"]


async def test_statements_do_not_grow_with_what_is_below(api: Client, store: SqlStore) -> None:
    counts = []
    for number in (1, 5):
        id_ = (await api.load_balancer(pools=[{"name": f"p{n}", **POOL} for n in range(number)]))["id"]
        with statements_of(store.database) as seen:
            await api.get(f"{BASE}/loadbalancers/{id_}/tree")
        counts.append(len(seen))
    assert counts[0] == counts[1]

"""Lists, changes, statistics and the lease."""

from typing import Any

import pytest
from sqlalchemy import insert

from evenkeel.store.records import schema
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client
from tests.api.operators.mirror.conftest import LB, LISTENER, MIRROR, Octavia, uid, whole
from tests.store.conftest import statements_of


async def test_pages_of_the_list_have_all_load_balancers_of_the_provider_in_order(
    api: Client, octavia: Octavia
) -> None:
    await api.load_balancer()
    ids = [uid(number) for number in (40, 20, 30)]
    for number, id_ in enumerate(ids):
        await octavia.put(whole(vip_address=f"203.0.113.{number}", listeners=[], pools=[]), id_=id_, digest=str(number))
    first = await api.get(f"{MIRROR}/loadbalancers?provider=dev&limit=2")
    assert [(row["id"], row["digest"]) for row in first["loadbalancers"]] == [(uid(20), "1"), (uid(30), "2")]
    assert first["next"] == uid(30)
    last = await api.get(f"{MIRROR}/loadbalancers?provider=dev&limit=2&marker={first['next']}")
    assert last == {
        "loadbalancers": [{"id": uid(40), "snapshot": 1_000.0, "digest": "0", "provisioning_status": "PENDING_CREATE"}],
        "next": None,
    }
    assert (await api.get(f"{MIRROR}/loadbalancers?provider=other"))["loadbalancers"] == []


async def test_a_load_balancer_that_is_being_deleted_is_listed(api: Client, placed: Octavia) -> None:
    await placed.delete()
    (row,) = (await api.get(f"{MIRROR}/loadbalancers?provider=dev"))["loadbalancers"]
    assert (row["id"], row["provisioning_status"]) == (LB, "PENDING_DELETE")


@pytest.mark.parametrize(
    "query", ["", "provider=dev&limit=0", "provider=dev&limit=501", "provider=dev&marker=x", "provider=dev&other=1"]
)
async def test_a_list_with_wrong_parameters_is_refused(api: Client, query: str) -> None:
    await api.get(f"{MIRROR}/loadbalancers?{query}", 400)


async def test_changes_go_on_from_the_cursor(api: Client, placed: Octavia) -> None:
    first = await api.get(f"{MIRROR}/changes?provider=dev")
    assert (first["all"], first["ids"]) == (True, [])
    await placed.put(whole(name="new"))
    found = await api.get(f"{MIRROR}/changes?provider=dev&since={first['cursor']}")
    assert (found["all"], found["ids"]) == (False, [LB])
    await api.get(f"{MIRROR}/changes", 400)


async def test_statistics_are_the_totals_of_listeners_by_one_query(
    api: Client, octavia: Octavia, store: SqlStore
) -> None:
    own = await api.load_balancer()
    other = await api.listener(own["id"])
    await octavia.put(whole())
    totals = {"bytes_in": 1, "bytes_out": 2, "active_connections": 3, "total_connections": 4, "request_errors": 5}
    rows = [
        {"listener_id": LISTENER, "load_balancer_id": LB, **totals},
        {"listener_id": other["id"], "load_balancer_id": own["id"], **totals},
    ]
    await store.database.write(lambda connection: connection.execute(insert(schema.listener_statistics), rows))
    with statements_of(store.database) as seen:
        found = await api.post(f"{MIRROR}/statistics", {"ids": [LB, own["id"], uid(77)]}, 200)
    assert found == {"listeners": [{"id": LISTENER, **totals}]}
    assert len(seen) == 1


async def test_a_lease_is_held_by_one_agent(api: Client) -> None:
    async def take(holder: str, seconds: float = 5) -> Any:
        return await api.put(f"{MIRROR}/lease", {"provider": "dev", "holder": holder, "seconds": seconds})

    assert await take("one") == {"holder": "one", "is_held": True}
    assert await take("two") == {"holder": "one", "is_held": False}
    assert await take("one", 0) == {"holder": "", "is_held": False}
    assert await take("two") == {"holder": "two", "is_held": True}


@pytest.mark.parametrize(
    "change", [{"seconds": 61}, {"seconds": -1}, {"holder": ""}, {"holder": "h" * 256}, {"provider": "nowhere"}]
)
async def test_a_lease_with_wrong_values_is_refused(api: Client, change: dict[str, Any]) -> None:
    await api.put(f"{MIRROR}/lease", {"provider": "dev", "holder": "h", "seconds": 5, **change}, 400)

"""Amphorae: clients that ask for them find none, as on a stock server whose providers are others."""

import pytest

from tests.api.client import Client

ID = "00000000-0000-4000-8000-000000000000"
BASE = "/v2.0/octavia/amphorae"


async def test_the_list_is_empty_whatever_it_is_filtered_by(api: Client) -> None:
    for query in ("", "?loadbalancer_id=x&role=MASTER&status=READY", "?fields=id&limit=5&sort=created_at:desc"):
        assert await api.get(BASE + query) == {"amphorae": [], "amphorae_links": []}


@pytest.mark.parametrize("query", ["?nonsense=1", "?marker=x", "?limit=many", "?sort=nonsense", "?tags=a"])
async def test_a_list_refuses_what_every_list_refuses(api: Client, query: str) -> None:
    await api.get(BASE + query, 400)


@pytest.mark.parametrize(
    ("method", "below"), [("GET", ""), ("GET", "/stats"), ("PUT", "/config"), ("PUT", "/failover"), ("DELETE", "")]
)
async def test_each_one_is_unknown(api: Client, method: str, below: str) -> None:
    answer = await api.call(method, f"{BASE}/{ID}{below}", 404)
    assert answer["faultstring"] == f"Amphora {ID} not found."

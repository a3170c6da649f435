"""Operators' searches for load balancers by HTTP."""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from evenkeel.core.ports import Store
from tests.api.client import Client
from tests.api.operators.conftest import BASE, Join


async def found(api: Client, **asked: Any) -> Any:
    return await api.get(f"{BASE}/loadbalancers?{urlencode(asked)}")


async def names(api: Client, **asked: Any) -> list[str]:
    return [row["name"] for row in (await found(api, **asked))["loadbalancers"]]


async def test_the_page_has_what_operators_see_of_each(api: Client, pair: dict[str, Any]) -> None:
    answer = await found(api)
    (row,) = answer["loadbalancers"]
    assert (answer["total"], answer["total_is_exact"], answer["loadbalancers_links"]) == (1, True, [])
    assert (row["id"], row["vip_address"], row["project_id"]) == (pair["id"], pair["vip_address"], "p1")
    assert (row["environment"], row["group_number"], row["held"]) == ("dev", 1, False)
    assert row["provisioning_status"] == "PENDING_CREATE"


async def test_a_text_is_found_in_names_of_all_projects(api: Client) -> None:
    await api.load_balancer(name="Website-one", project_id="p1")
    await api.load_balancer(name="old website", project_id="p2")
    await api.load_balancer(name="mail", project_id="p1")
    assert sorted(await names(api, q="WEBSITE")) == ["Website-one", "old website"]
    assert await names(api, q="website", project_id="p2") == ["old website"]
    assert await names(api, q="nothing like it") == []


async def test_pages_have_links_that_keep_the_question(api: Client) -> None:
    for number in range(5):
        await api.load_balancer(name=f"web-{number}", project_id="p1")
    first = await found(api, q="web", sort="name:desc", limit=2)
    assert [row["name"] for row in first["loadbalancers"]] == ["web-4", "web-3"]
    assert (first["total"], first["total_is_exact"]) == (5, True)
    (link,) = first["loadbalancers_links"]
    query = parse_qs(urlsplit(link["href"]).query)
    assert (link["rel"], query["q"], query["sort"]) == ("next", ["web"], ["name:desc"])
    second = await found(api, q="web", sort="name:desc", limit=2, marker=query["marker"][0])
    assert [row["name"] for row in second["loadbalancers"]] == ["web-2", "web-1"]
    back = next(link for link in second["loadbalancers_links"] if link["rel"] == "previous")
    query = parse_qs(urlsplit(back["href"]).query)
    before = await found(api, **{name: values[0] for name, values in query.items()})
    assert [row["name"] for row in before["loadbalancers"]] == ["web-4", "web-3"]


async def test_filters_by_place(api: Client, store: Store, join: Join, pair: dict[str, Any]) -> None:
    await api.load_balancer(name="not placed", project_id="p9")
    await join("b-1", group_number=2, endpoints=("10.0.0.2",))
    assert await names(api, environment="dev", group_number=1) == [pair["name"]]
    assert await names(api, environment="dev", group_number=2) == []
    assert len(await names(api, environment="dev")) == 2


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"provisioning_status": "BROKEN"}, "ACTIVE, PENDING_CREATE"),
        ({"operating_status": "ONLINE,up"}, "'up'"),
        ({"environment": "nope"}, "Allowed: dev"),
        ({"environment": "dev", "group_number": "7"}, "Device groups of dev: 1"),
        ({"group_number": "1"}, "needs environment"),
        ({"held": "perhaps"}, "Allowed: true, false"),
        ({"sort": "size"}, "Allowed: name, vip_address"),
        ({"sort": "name:up"}, "with :asc or :desc"),
        ({"limit": "0"}, "integer from 1 to"),
        ({"marker": "nobody"}, "marker"),
        ({"q": "x" * 256}, "255 printable"),
        ({"q": "a\nb"}, "255 printable"),
        ({"name": "x"}, "Allowed, once each: q,"),
    ],
)
async def test_parameters_that_are_not_allowed_are_refused_with_what_is(
    api: Client, pair: dict[str, Any], asked: dict[str, str], told: str
) -> None:
    answer = await api.http.get(f"{BASE}/loadbalancers", params=asked)
    assert answer.status_code == 400
    assert told in answer.text

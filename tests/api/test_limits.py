"""What one request may ask for."""

import json

import pytest

from evenkeel.api.app import create_app
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import LBAAS, Client, Sink

DEPTHS = (50, 900, 20_000)


def nested(depth: int, opening: str, closing: str) -> str:
    """Brackets in brackets."""
    return opening * depth + "1" + closing * depth


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("field", ["name", "tags", "listeners", "unknown"])
async def test_json_that_is_nested_deeper_than_its_type_is_refused(
    api: Client, depth: int, opening: str, closing: str, field: str
) -> None:
    content = f'{{"loadbalancer": {{"vip_subnet_id": "{bodies.SUBNET_ID}", "{field}": '
    content += nested(depth, opening, closing) + "}}"
    answer = await api.http.post(
        f"{LBAAS}/loadbalancers", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400 and answer.json()["faultcode"] == "Client"
    assert len(answer.content) < 2000


@pytest.mark.parametrize("field", ["name", "description"])
async def test_texts_have_255_characters_at_most(api: Client, field: str) -> None:
    await api.post("/loadbalancers", bodies.load_balancer(**{field: "x" * 255}))
    answer = await api.post("/loadbalancers", bodies.load_balancer(**{field: "x" * 256}), 400)
    assert field in answer["faultstring"] and len(json.dumps(answer)) < 1000


async def test_a_page_has_no_more_than_the_cap(store: Store, sink: Sink) -> None:
    app = create_app(store=store, network=BuiltinNetwork(store), driver=sink, default_provider="dev", max_page_items=2)
    async with Client.of(app) as client:
        for _ in range(3):
            await client.load_balancer()
        for query in ("", "?limit=1000", "?limit=0", "?limit=-1"):
            assert len((await client.get(f"/loadbalancers{query}"))["loadbalancers"]) == 2


async def test_a_query_has_no_more_than_a_hundred_parameters(api: Client) -> None:
    await api.get("/loadbalancers?" + "&".join(["name=x"] * 100))
    await api.get("/loadbalancers?" + "&".join(["name=x"] * 101), 400)

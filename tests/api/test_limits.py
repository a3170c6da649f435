"""What one request may ask for."""

import asyncio
import gzip
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
    app = create_app(
        store=store, network=BuiltinNetwork(store.operators), driver=sink, default_provider="dev", max_page_items=2
    )
    async with Client.of(app) as client:
        for _ in range(3):
            await client.load_balancer()
        for query in ("", "?limit=1000", "?limit=0", "?limit=-1"):
            assert len((await client.get(f"/loadbalancers{query}"))["loadbalancers"]) == 2


async def test_a_query_has_no_more_than_a_hundred_parameters(api: Client) -> None:
    await api.get("/loadbalancers?" + "&".join(["name=x"] * 100))
    await api.get("/loadbalancers?" + "&".join(["name=x"] * 101), 400)


def texts(count: int, first: int = 0) -> str:
    """So many tags."""
    return ",".join(f"t{number}" for number in range(first, first + count))


@pytest.mark.parametrize("name", ["tags", "tags-any", "not-tags", "not-tags-any"])
async def test_a_query_has_no_more_than_a_hundred_tags(api: Client, name: str) -> None:
    await api.get(f"/loadbalancers?{name}={texts(100)}")
    text = (await api.get(f"/loadbalancers?{name}={texts(7900)}", 400))["description"]
    assert all(word in text for word in (name, "7900", "100")), text


async def test_tags_are_counted_over_all_parameters_and_each_once(api: Client) -> None:
    names = ("tags", "tags-any", "not-tags", "not-tags-any")
    await api.get("/pools?" + "&".join(f"{name}={texts(25)}" for name in names))
    text = (await api.get("/pools?" + "&".join(f"{name}={texts(26)}" for name in names), 400))["description"]
    assert all(f"{name}: 26" in text for name in names) and "104" in text, text
    await api.get("/pools?" + "&".join([f"tags={texts(60)}"] * 3))
    await api.get("/pools?tags=" + ",".join(["a"] * 7900))
    await api.get(f"/pools?tags={texts(60)}&tags={texts(60, first=60)}", 400)


NUMBERS = {
    "infinite": "1e400",
    "negative infinite": "-1e400",
    "digits": "9" * 100_000,
    "fraction": "0." + "4" * 100_000,  # with nines it is 1.0 to everybody who reads it as a float
    "exponent": "1e" + "9" * 1000,
    "not a number": "NaN",
    "named infinity": "Infinity",
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("field", ["protocol_port", "connection_limit", "name", "unknown"])
async def test_numbers_that_nothing_can_hold_are_refused_shortly(api: Client, number: str, field: str) -> None:
    lb = await api.load_balancer()
    content = (
        f'{{"listener": {{"loadbalancer_id": "{lb["id"]}", "protocol": "HTTP", "{field}": {NUMBERS[number]}, '
        f'"protocol_port": {NUMBERS[number]}}}}}'
    )
    answer = await api.http.post(f"{LBAAS}/listeners", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and answer.json()["faultcode"] == "Client"
    assert len(answer.content) < 2000


@pytest.mark.parametrize(
    "content",
    [
        b'{"loadbalancer": {"name": "a", "name": "b", "vip_subnet_id": "%s"}}' % bodies.SUBNET_ID.encode(),
        b'{"loadbalancer": {"name": "a"}, "loadbalancer": {"vip_subnet_id": "%s"}}' % bodies.SUBNET_ID.encode(),
    ],
)
async def test_a_name_that_is_given_twice_is_refused(api: Client, content: bytes) -> None:
    """Which of the two counts differs between those that read it: a gateway may have checked the other one."""
    answer = await api.http.post(
        f"{LBAAS}/loadbalancers", content=content, headers={"Content-Type": "application/json"}
    )
    assert answer.status_code == 400 and "twice" in answer.json()["faultstring"]


async def test_compressed_bodies_are_refused_unread(api: Client) -> None:
    bomb = gzip.compress(b" " * 900_000)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await api.http.post(f"{LBAAS}/loadbalancers", content=bomb, headers=headers)
    assert answer.status_code == 415 and "gzip" in answer.json()["faultstring"]


async def test_wide_bodies_are_refused_in_time(api: Client) -> None:
    """Nothing of an explanation is looked for in all of a body again and again."""
    for content in (
        '{"loadbalancer": {' + ",".join(f'"a{n}": {n}' for n in range(60_000)) + "}}",
        '{"loadbalancer": {"tags": [' + ",".join(['"' + "\\u0041" * 20 + '"'] * 7000) + "]}}",
        '{"loadbalancer": [' + ",".join(["{}"] * 300_000) + "]}",
        '"' + "a" * 1_000_000 + '"',
        "[" * 1_000_000,
    ):
        async with asyncio.timeout(30):
            answer = await api.http.post(
                f"{LBAAS}/loadbalancers", content=content, headers={"Content-Type": "application/json"}
            )
        assert answer.status_code == 400 and len(answer.content) < 2000


async def test_a_long_query_is_refused_before_it_is_parsed(api: Client) -> None:
    for query in ("&".join(["a=b"] * 3000), "&" * 12_000, "id=" + "%41" * 4000, "=" * 12_000, "sort=" + "a:b," * 3000):
        answer = await api.http.get(f"{LBAAS}/loadbalancers?{query}")
        assert answer.status_code in (200, 400) and len(answer.content) < 3000, query[:20]

"""Bad input of every kind: a 4xx in Octavia's body that names the field, and no row changed."""

from typing import Any, NamedTuple

import pytest
from sqlalchemy import select

from evenkeel.store.records.schema import metadata
from evenkeel.store.sql_store import SqlStore
from tests.api import bodies
from tests.api.client import LBAAS, Client

UNKNOWN = "11111111-2222-4333-8444-555555555555"
JSON = {"Content-Type": "application/json"}


class Bad(NamedTuple):
    """One request. ``{lb}``, ``{pool}``, ``{listener}``, ``{member}`` and ``{monitor}`` become ids of what is there."""

    method: str
    path: str
    body: Any
    status: int
    names: str


def lb(**attributes: Any) -> dict[str, Any]:
    return bodies.load_balancer(**attributes)


def listener(**attributes: Any) -> dict[str, Any]:
    return {"listener": {"loadbalancer_id": "{lb}", "protocol": "HTTP", "protocol_port": 81, **attributes}}


def member(**attributes: Any) -> dict[str, Any]:
    return {"member": {"address": "10.20.0.9", "protocol_port": 8080, **attributes}}


LBS, LISTENERS, MEMBERS = "/loadbalancers", "/listeners", "/pools/{pool}/members"

CASES = {
    "unknown field": Bad("POST", LBS, lb(colour="blue"), 400, "colour"),
    "unknown field of a child": Bad("POST", LBS, lb(listeners=[{"protocol": "HTTP", "port": 80}]), 400, "port"),
    "unknown field of a change": Bad("PUT", LBS + "/{lb}", {"loadbalancer": {"colour": "blue"}}, 400, "colour"),
    "field that cannot change": Bad("PUT", LBS + "/{lb}", {"loadbalancer": {"provider": "x"}}, 400, "provider"),
    "text for a number": Bad("POST", LISTENERS, listener(protocol_port="eighty"), 400, "protocol_port"),
    "number for a text": Bad("POST", LBS, lb(name=7), 400, "name"),
    "text for a switch": Bad("POST", LBS, lb(admin_state_up="maybe"), 400, "admin_state_up"),
    "object for a list": Bad("POST", LBS, lb(listeners={}), 400, "listeners"),
    "unknown protocol": Bad("POST", LISTENERS, listener(protocol="GOPHER"), 400, "protocol"),
    "port out of range": Bad("POST", LISTENERS, listener(protocol_port=65_536), 400, "protocol_port"),
    "address outside the subnet": Bad("POST", LBS, lb(vip_address="10.99.0.1"), 400, "vip_address"),
    "gateway of the subnet": Bad("POST", LBS, lb(vip_address="10.10.0.1"), 400, "vip_address"),
    "no address at all": Bad("POST", LBS, lb(vip_address="somewhere"), 400, "vip_address"),
    "vip in use": Bad("POST", LBS, lb(vip_address="10.10.0.50"), 409, "10.10.0.50"),
    "vip and port in use": Bad("POST", LISTENERS, listener(protocol_port=80), 409, "80"),
    "member twice": Bad("POST", MEMBERS, member(address="10.20.0.1"), 409, "10.20.0.1"),
    "second monitor": Bad(
        "POST", "/healthmonitors", {"healthmonitor": {"pool_id": "{pool}", **bodies.MONITOR}}, 409, ""
    ),
    "unknown subnet": Bad("POST", LBS, {"loadbalancer": {"vip_subnet_id": UNKNOWN}}, 400, UNKNOWN),
    "unknown provider": Bad("POST", LBS, lb(provider="nobody"), 400, "nobody"),
    "unknown load balancer": Bad("PUT", f"{LBS}/{UNKNOWN}", {"loadbalancer": {"name": "x"}}, 404, UNKNOWN),
    "listener of an unknown one": Bad("POST", LISTENERS, listener(loadbalancer_id=UNKNOWN), 404, UNKNOWN),
    "listener of an unknown pool": Bad("POST", LISTENERS, listener(default_pool_id=UNKNOWN), 404, UNKNOWN),
    "member of an unknown pool": Bad("POST", f"/pools/{UNKNOWN}/members", member(), 404, UNKNOWN),
    "delete of an unknown one": Bad("DELETE", f"{LBS}/{UNKNOWN}", None, 404, UNKNOWN),
    "delete with children": Bad("DELETE", LBS + "/{lb}", None, 400, "children"),
    "over-long name": Bad("POST", LBS, lb(name="x" * 256), 400, "name"),
    "over-long description": Bad(
        "PUT", LISTENERS + "/{listener}", {"listener": {"description": "x" * 256}}, 400, "descr"
    ),
    "weight out of range": Bad("PUT", MEMBERS + "/{member}", {"member": {"weight": 257}}, 400, "weight"),
    "path without a slash": Bad(
        "PUT", "/healthmonitors/{monitor}", {"healthmonitor": {"url_path": "x"}}, 400, "url_path"
    ),
    "bad member of a batch": Bad("PUT", MEMBERS, {"members": [member()["member"], {"address": "x"}]}, 400, ""),
    "same member twice in a batch": Bad("PUT", MEMBERS, {"members": [member()["member"]] * 2}, 400, "10.20.0.9"),
    "wrong wrapper": Bad("POST", LBS, {"balancer": {}}, 400, "balancer"),
    "no object": Bad("POST", LBS, ["loadbalancer"], 400, ""),
    "unknown filter": Bad("GET", LBS + "?colour=blue", None, 400, "colour"),
    "unknown sort key": Bad("GET", LBS + "?sort=colour:asc", None, 400, "colour"),
    "unknown marker": Bad("GET", f"{LBS}?marker={UNKNOWN}", None, 400, UNKNOWN),
    "negative limit": Bad("GET", LBS + "?limit=many", None, 400, "limit"),
}


async def rows(store: SqlStore) -> dict[str, list[Any]]:
    """Everything in the database."""
    return await store.database.read(
        lambda connection: {
            table.name: sorted(map(repr, connection.execute(select(table)).all())) for table in metadata.sorted_tables
        }
    )


@pytest.fixture
async def ids(api: Client) -> dict[str, str]:
    made = (await api.post(LBS, bodies.populated(vip_address="10.10.0.50")))["loadbalancer"]
    pool = made["pools"][0]
    return {
        "lb": made["id"],
        "listener": made["listeners"][0]["id"],
        "pool": pool["id"],
        "member": pool["members"][0]["id"],
        "monitor": pool["healthmonitor"]["id"],
    }


def filled(value: Any, ids: dict[str, str]) -> Any:
    """``value`` with the ids put in."""
    if isinstance(value, str):
        for name, object_id in ids.items():
            value = value.replace("{" + name + "}", object_id)
        return value
    if isinstance(value, dict):
        return {key: filled(item, ids) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, ids) for item in value]
    return value


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
async def test_bad_input_names_the_field_and_changes_no_row(
    api: Client, store: SqlStore, ids: dict[str, str], case: Bad
) -> None:
    before = await rows(store)
    answer = await api.call(case.method, filled(case.path, ids), case.status, filled(case.body, ids))
    text = answer.get("faultstring") or answer.get("description")
    assert case.names in text, answer
    if "faultstring" in answer:
        assert answer["faultcode"] == "Client"
        assert answer["debuginfo"] is None
    assert await rows(store) == before


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b'{"loadbalancer": {"name": "\xff"}}', 400),
        (b'{"loadbalancer": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
        (b'{"loadbalancer": {"name": "' + b"x" * 10_000_000 + b'"}}', 413),
    ],
    ids=["broken", "empty", "not utf-8", "deep", "10 MB"],
)
async def test_bad_bodies_change_no_row(
    api: Client, store: SqlStore, ids: dict[str, str], content: bytes, status: int
) -> None:
    before = await rows(store)
    answer = await api.http.post(LBAAS + LBS, content=content, headers=JSON)
    assert answer.status_code == status, answer.text
    assert answer.json()["faultcode"] == "Client"
    assert await rows(store) == before

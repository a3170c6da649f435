"""Neutron's style: lax bodies, and errors with a type, also where no handler is reached."""

from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.api.http.rate_limit import RateLimit
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.network.builtin import BuiltinNetwork
from tests.api import bodies
from tests.api.client import Client, Sink
from tests.api.personas import MEMBER

PATH = "/neutron/v2.0/lbaas/loadbalancers"
JSON = {"Content-Type": "application/json"}
OWN = "http://api.test"
"""The origin of pages of the API's own address."""
LB = {"vip_subnet_id": bodies.SUBNET_ID}

MALFORMED = {
    "{": ("MalformedRequestBody", "Malformed request body"),
    "[]": ("HTTPBadRequest", "Resource body required"),
    "{}": ("HTTPBadRequest", "Unable to find 'loadbalancer' in request body"),
    '{"loadbalancers": []}': ("HTTPBadRequest", "Bulk operation not supported"),
    '{"loadbalancer": 5}': ("HTTPBadRequest", "Invalid input for loadbalancer. Reason: '5' is not allowed."),
    '{"loadbalancer": {"colour": 1, "b": 2}}': ("HTTPBadRequest", "Unrecognized attribute(s) 'b, colour'"),
    '{"loadbalancer": {"id": "x"}}': ("HTTPBadRequest", "Attribute 'id' not allowed in POST"),
    '{"loadbalancer": {"name": 7}}': ("HTTPBadRequest", "Invalid input for name. Reason: '7' is not allowed."),
    '{"loadbalancer": {"admin_state_up": "maybe"}}': ("InvalidInput", "'maybe' cannot be converted to boolean"),
    '{"loadbalancer": {"name": 7}, "loadbalancer": {}}': ("MalformedRequestBody", "Malformed request body"),
    '{"loadbalancer": {}, "other": 1}': ("HTTPBadRequest", "Unrecognized attribute(s) 'other'"),
    "[" * 100_000: ("MalformedRequestBody", "Malformed request body"),
}


@pytest.mark.parametrize("body", MALFORMED, ids=lambda body: body[:40])
async def test_bad_body_is_refused_in_neutrons_words(api: Client, body: str) -> None:
    answer = await api.http.post(PATH, content=body, headers=JSON)
    error = answer.json()["NeutronError"]
    kind, text = MALFORMED[body]
    assert answer.status_code == 400 and error["type"] == kind and text in error["message"]


async def test_missing_and_read_only_attributes_are_named(api: Client) -> None:
    root = (await api.post(PATH, {"loadbalancer": LB}))["loadbalancer"]
    body: Any = {"listener": {"loadbalancer_id": root["id"], "protocol": "HTTP"}}
    answer = await api.post("/neutron/v2.0/lbaas/listeners", body, 400)
    text = "Failed to parse request. Required attribute 'protocol_port' not specified"
    assert answer["NeutronError"]["message"] == text
    for name in ("vip_address", "tenant_id", "id", "operating_status"):
        answer = await api.put(f"{PATH}/{root['id']}", {"loadbalancer": {name: "x"}}, 400)
        assert answer["NeutronError"]["message"] == f"Cannot update read-only attribute {name}"


@pytest.mark.parametrize("given", [True, "True", "true", "1", 1])
async def test_numbers_and_switches_may_be_text(api: Client, given: Any) -> None:
    root = (await api.post(PATH, {"loadbalancer": {**LB, "admin_state_up": given}}))["loadbalancer"]
    assert root["admin_state_up"] is True
    body = {"loadbalancer_id": root["id"], "protocol": "TCP", "protocol_port": "80", "connection_limit": "-1"}
    made = (await api.post("/neutron/v2.0/lbaas/listeners", {"listener": body}))["listener"]
    assert (made["protocol_port"], made["connection_limit"]) == (80, -1)


async def test_empty_change_is_answered_with_the_object(api: Client) -> None:
    root = (await api.post(PATH, {"loadbalancer": LB}))["loadbalancer"]
    assert (await api.put(f"{PATH}/{root['id']}", {"loadbalancer": {}}))["loadbalancer"] == root


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "kind"),
    [
        ("GET", "/neutron/v2.0/lbaas/nothing", {}, 404, "HTTPNotFound"),
        ("GET", "/neutron/elsewhere", {}, 404, "HTTPNotFound"),
        ("PATCH", PATH, {}, 405, "HTTPMethodNotAllowed"),
        ("POST", PATH, {"Content-Type": "text/plain", "Origin": OWN}, 415, "HTTPUnsupportedMediaType"),
        ("POST", PATH, {"Content-Type": "text/plain", "Origin": "https://x.example"}, 403, "HTTPForbidden"),
        ("POST", PATH, {**JSON, "Content-Length": "99999999"}, 413, "HTTPRequestEntityTooLarge"),
    ],
)
async def test_early_refusals_have_neutrons_error_body(
    api: Client, method: str, path: str, headers: dict[str, str], status: int, kind: str
) -> None:
    answer = await api.http.request(method, path, headers=headers)
    assert (answer.status_code, answer.json()["NeutronError"]["type"]) == (status, kind)
    assert answer.headers["x-openstack-request-id"]


async def test_octavia_keeps_its_own_words(api: Client) -> None:
    for path in ("/v2.0/lbaas/nothing", "/neutronic"):
        answer = await api.http.get(path)
        assert answer.status_code == 404 and "NeutronError" not in answer.text


async def test_too_many_requests_get_the_time_of_a_retry(store: Any) -> None:
    app = create_app(
        store=store,
        network=BuiltinNetwork(store.operators),
        driver=Sink(),
        default_provider="dev",
        rate_limit=RateLimit(0.001, 1),
        identity=TrustedHeaders(),
    )
    async with Client.of(app) as client:
        await client.get(PATH, headers=MEMBER.headers)
        answer = await client.http.get(PATH, headers=MEMBER.headers)
        assert answer.status_code == 429 and answer.headers["retry-after"]
        assert answer.json()["NeutronError"]["type"] == "HTTPTooManyRequests"


async def test_paths_may_end_with_the_format_as_older_clients_write_them(api: Client) -> None:
    made = await api.http.post(f"{PATH}.json", json={"loadbalancer": LB})
    assert made.status_code == 201, made.text
    found = made.json()["loadbalancer"]["id"]
    assert (await api.http.get(f"{PATH}/{found}.json")).json()["loadbalancer"]["id"] == found
    assert (await api.http.get(f"{PATH}/{found}/statuses.json")).status_code == 200
    assert (await api.http.get("/neutron/v2.0/lb/vips.json?fields=id")).json() == {"vips": []}
    assert (await api.http.get(f"/v2/lbaas/loadbalancers/{found}.json")).status_code == 404


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Accept": "text/html"}])
async def test_headers_about_types_do_not_matter(api: Client, headers: dict[str, str]) -> None:
    made = await api.http.post(
        PATH, content=f'{{"loadbalancer": {{"vip_subnet_id": "{bodies.SUBNET_ID}"}}}}', headers=headers
    )
    assert made.status_code == 201 and made.headers["content-type"] == "application/json"


async def test_ids_in_bodies_are_uuids(api: Client) -> None:
    answer = await api.post(PATH, {"loadbalancer": {"vip_subnet_id": "blue"}}, 400)
    assert answer["NeutronError"]["message"] == "Invalid input for vip_subnet_id. Reason: 'blue' is not a valid UUID."

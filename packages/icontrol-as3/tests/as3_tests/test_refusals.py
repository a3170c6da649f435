from __future__ import annotations

from typing import Any

import pytest

from as3_tests.declarations import (
    APPLICATION,
    DECLARE,
    LISTENER,
    POOL,
    TENANT,
    adc,
    application,
    declare,
    framed,
    one,
    service,
    tenant,
)
from emulator_tests.client import Client
from icontrol_emulator import Emulator

AT = f"/{TENANT}/{APPLICATION}"


def listener(**more: Any) -> dict[str, Any]:
    return {LISTENER: {**service("Service_HTTP", 8080), **more}, POOL: {"class": "Pool"}}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (one(waf={"class": "WAF_Policy"}), f"{AT}/waf/class: should be equal to one of the allowed values"),
        (one(**listener(policyWAF="x")), "'policyWAF' is unknown or not emulated"),
        (one(**listener(virtualPort="80")), f"{AT}/{LISTENER}/virtualPort: should be integer"),
        (one(**listener(virtualPort=65_536)), f"{AT}/{LISTENER}/virtualPort: should be 0 to 65535, not 65536"),
        (one(**listener(virtualAddresses=["web"])), f"{AT}/{LISTENER}/virtualAddresses/0: should be an IP address"),
        (one(**listener(virtualAddresses=[])), "should have 1 to 100 items"),
        (one(**listener(pool="nowhere")), f"{AT}/{LISTENER}/pool: contains path to non-existent object nowhere"),
        (one(**listener(iRules=[POOL])), f"{AT}/{LISTENER}/iRules: contains path to non-existent object {POOL}"),
        (one(m={"class": "Monitor", "monitorType": "external"}), f"{AT}/m/monitorType: should be equal to one of"),
        (one(p={"class": "Pool", "members": [{}]}), f"{AT}/p/members/0: should have required property 'servicePort'"),
        (one(**{"0": {"class": "Pool"}}), f"{AT}/0: the name should begin with a letter"),
        (one(stray=1), "'stray' is unknown or not emulated"),
        (framed(adc(t={"class": "Tenant", "enable": False})), "/t/enable: should be equal to one of"),
        (framed(adc(t=5)), "'t' is unknown or not emulated"),
        (framed(adc(Common=tenant(web=application()))), "/Common: should have only the application 'Shared'"),
        (framed(adc(t=tenant(a=application(template="http")))), "/t/a: should have a service of class Service_HTTP"),
        (framed([]), "(root): should be object"),
        (framed({"class": "ADC"}), "(root): should have required property 'schemaVersion'"),
        ({"class": "AS3", "action": "redeploy"}, "/action: should be equal to one of the allowed values"),
        (framed(adc(), syncToGroup="/Common/dg"), "/syncToGroup: should be equal to one of the allowed values"),
    ],
)
async def test_invalid_declarations_are_refused_by_name_and_change_nothing(
    device: Client, body: Any, error: str
) -> None:
    answer = await declare(device, body)
    assert (answer.status, answer.message) == (422, "declaration is invalid")
    assert any(error in each for each in answer.document["errors"]), answer.document["errors"]
    assert "items" not in await device.get("ltm/pool")


async def test_all_errors_are_listed(device: Client) -> None:
    answer = await declare(device, one(**listener(virtualPort=-1, pool=3, stray=4)))
    assert len(answer.document["errors"]) == 3


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", f"{DECLARE}?show=full", one(), 400),
        ("POST", f"{DECLARE}?stray=1", one(), 400),
        ("POST", f"{DECLARE}?async=perhaps", one(), 400),
        ("POST", f"{DECLARE}/other", one(), 404),
        ("PUT", DECLARE, one(), 405),
        ("GET", f"{DECLARE}/{TENANT}", None, 404),
        ("GET", f"{DECLARE}/{TENANT}/applications", None, 404),
        ("GET", "/mgmt/shared/appsvcs/settings", None, 404),
        ("GET", "/mgmt/shared/appsvcs/task/unknown", None, 404),
        ("POST", DECLARE, {"class": "AS3"}, 400),
        ("POST", DECLARE, {"class": "AS3", "action": "patch"}, 400),
    ],
)
async def test_other_requests_are_refused(device: Client, method: str, path: str, body: Any, status: int) -> None:
    answer = await device.send(method, path, body)
    assert answer.status == status and answer.message


async def test_text_that_is_no_json_is_refused(device: Client) -> None:
    answer = await device.send("POST", DECLARE, raw=b"{")
    assert (answer.status, answer.message) == (400, "the body is no JSON document")


async def test_a_refusal_of_the_device_is_reported_with_its_message(device: Client) -> None:
    """A policy on HTTP needs an HTTP profile, which a TCP service has not."""
    condition = {"type": "httpUri", "path": {"operand": "equals", "values": ["/"]}}
    policy = {
        "class": "Endpoint_Policy", "strategy": "all-match",
        "rules": [{"name": "r", "conditions": [condition], "actions": [{"type": "drop", "event": "request"}]}],
    }  # fmt: skip
    service_of = {**service("Service_TCP", 8080), "pool": POOL, "policyEndpoint": ["policy"]}
    answer = await declare(device, one(**{LISTENER: service_of, POOL: {"class": "Pool"}, "policy": policy}))
    [result] = answer.document["results"]
    assert (answer.status, result["code"], result["message"]) == (422, 422, "declaration failed")
    assert "requires a profile of type http" in result["response"]
    assert [each["name"] for each in (await device.get("auth/partition"))["items"]] == ["Common"]


async def test_requests_need_a_password(device: Client) -> None:
    device.headers = {}
    assert (await device.send("GET", "/mgmt/shared/appsvcs/info")).status == 401


async def test_an_emulator_without_the_extension_has_no_as3() -> None:
    async with Emulator(["bigip-1"]) as emulator:
        client = Client(emulator.devices["bigip-1"].url, emulator.ca_file)
        assert (await client.send("GET", "/mgmt/shared/appsvcs/info")).status == 404
        await client.close()

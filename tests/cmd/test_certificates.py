"""The controllers' process reads what listeners refer to, and knows what the operator forbids."""

import asyncio
import base64
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.stack import Stack
from tests.key_managers.authority import INTERMEDIATE, LEAF
from tests.waiting import eventually

PEM = (LEAF.pem + INTERMEDIATE.pem).decode()


@pytest.fixture
def options(tmp_path: Path) -> dict[str, dict[str, object]]:
    key_file = tmp_path / "certificates.key"
    key_file.touch(mode=stat.S_IRUSR | stat.S_IWUSR)
    key_file.write_bytes(base64.b64encode(bytes(32)))
    directory = {"key_manager": "directory", "directory": tmp_path / "kept", "directory_key_file": key_file}
    return {"certificates": dict(directory), "api_settings": {"minimum_tls_version": "TLSv1.3"}}


def test_a_listener_is_made_with_what_an_operator_has_put_there(
    tmp_path: Path, options: dict[str, dict[str, object]]
) -> None:
    with Stack.started(tmp_path, options=options) as stack:
        asyncio.run(check(stack.url))


async def check(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=60.0) as client:
        await make_listener(client)


async def make_listener(client: httpx.AsyncClient) -> None:
    async def post(path: str, body: Any, status: int) -> Any:
        answer = await client.post(path, json=body, headers={"X-Project-Id": "p1"})
        assert answer.status_code == status, answer.text
        return answer.json()

    new = {"project_id": "p1", "name": "www", "kind": "certificate", "pem": PEM, "private_key": LEAF.key_pem().decode()}
    kept = (await post("/evenkeel/v1/certificates", {"certificate": new}, 201))["certificate"]
    subnets = (await client.get("/evenkeel/v1/subnets")).json()["subnets"]
    root = {"loadbalancer": {"vip_subnet_id": subnets[0]["id"], "project_id": "p1"}}
    made = (await post("/v2/lbaas/loadbalancers", root, 201))["loadbalancer"]
    listener: dict[str, Any] = {"loadbalancer_id": made["id"], "protocol": "TERMINATED_HTTPS", "protocol_port": 443}

    missing = {"listener": listener | {"default_tls_container_ref": "directory://p1/other"}}
    assert "Could not retrieve certificate" in (await post("/v2/lbaas/listeners", missing, 400))["faultstring"]
    listener |= {"default_tls_container_ref": kept["reference"]}
    old = {"listener": listener | {"tls_versions": ["TLSv1.2"]}}
    assert "less than the minimum: TLSv1.2 < TLSv1.3" in (await post("/v2/lbaas/listeners", old, 400))["faultstring"]
    shown = (await post("/v2/lbaas/listeners", {"listener": listener}, 201))["listener"]
    assert shown["tls_versions"] == ["TLSv1.3"]

    async def is_active() -> Any:
        answer = await client.get(f"/v2/lbaas/listeners/{shown['id']}")
        return answer.json()["listener"]["provisioning_status"] == "ACTIVE"

    await eventually(is_active, within_seconds=120.0)

"""Declarations of the shape that SAP's octavia-f5 sends: its properties, names and defaults, taken as facts from its
source (sapcc/octavia-f5-provider-driver, `restclient/as3objects`).
"""

from __future__ import annotations

from typing import Any

from emulator_tests.client import Answer, Backend, Client

DECLARE = "/mgmt/shared/appsvcs/declare"
VIP = "127.0.8.3"
TENANT = "net_7e1dca0a_0001"
APPLICATION = "lb_5f6e0d2c-0001"
LISTENER = "listener_0001"
POOL = "pool_0001"


def member(server: Backend, **more: Any) -> dict[str, Any]:
    return {
        "enable": True, "servicePort": server.port, "serverAddresses": [server.host], "adminState": "enable",
        "ratio": 1, "remark": server.name, **more,
    }  # fmt: skip


def pool(*servers: Backend, **more: Any) -> dict[str, Any]:
    return {
        "class": "Pool", "label": "web", "remark": "web", "loadBalancingMode": "round-robin",
        "members": [member(each) for each in servers], **more,
    }  # fmt: skip


def service(kind: str, port: int, **more: Any) -> dict[str, Any]:
    return {
        "class": kind, "virtualPort": port, "virtualAddresses": [VIP], "persistenceMethods": [], "iRules": [],
        "policyEndpoint": [], "label": "listener", "pool": POOL, **more,
    }  # fmt: skip


def application(**objects: Any) -> dict[str, Any]:
    return {"class": "Application", "template": "generic", "label": "5f6e0d2c-0001", **objects}


def tenant(**applications: Any) -> dict[str, Any]:
    return {"class": "Tenant", "label": "project_1", **applications}


def adc(**tenants: Any) -> dict[str, Any]:
    frame = {
        "class": "ADC", "schemaVersion": "3.0.0", "updateMode": "selective", "id": "urn:uuid:1",
        "label": "F5 BigIP Octavia Provider",
    }  # fmt: skip
    return {**frame, **tenants}


def framed(declaration: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "class": "AS3", "persist": False, "action": "deploy", "historyLimit": 2, "logLevel": "warning", "trace": False,
        "declaration": declaration, **more,
    }  # fmt: skip


def one(**objects: Any) -> dict[str, Any]:
    """A declaration with one load balancer."""
    return framed(adc(**{TENANT: tenant(**{APPLICATION: application(**objects)})}))


async def declare(device: Client, body: Any, query: str = "") -> Answer:
    return await device.send("POST", f"{DECLARE}{query}", body)


async def deployed(device: Client, body: Any) -> str:
    """Deploy for a single tenant; the message of its result."""
    answer = await declare(device, body)
    assert answer.status == 200, answer.text
    [result] = answer.document["results"]
    return str(result["message"])

"""The OpenAPI document is complete, and the API keeps to it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from litestar.testing import TestClient
from schemathesis.checks import CHECKS

from evenkeel.api.app import ROUTES
from evenkeel.api.openapi import document
from tests.api.client import Client

EXAMPLES = 8
ID = "5b0c8b3e-3b3d-4c53-9f2c-0d6a1f7f0a01"


async def test_document_is_served_and_names_every_public_operation_once(api: Client) -> None:
    served = await api.get("/openapi.json")
    assert served == document(ROUTES) and served["openapi"] == "3.1.0"
    shown = [operation for route_map in ROUTES for operation in route_map.operations if not operation.hidden]
    found = [operation for path in served["paths"].values() for operation in path.values()]
    assert len(found) == len(shown) == len({operation["operationId"] for operation in found})


def test_every_error_has_a_schema() -> None:
    for path in document(ROUTES)["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                assert int(status) < 300 or "schema" in response["content"]["application/json"]


def test_schemas_refuse_what_the_decoder_refuses() -> None:
    schemas = document(ROUTES)["components"]["schemas"]
    assert schemas["MemberNew"]["additionalProperties"] is False
    assert schemas["MemberNew"]["required"] == ["address", "protocol_port"]
    assert schemas["LoadBalancerNew"]["properties"]["flavor_id"]["type"] == "null"

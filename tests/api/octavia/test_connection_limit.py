"""The stock command line sends a listener's connection limit as text."""

from typing import Any

import pytest

from tests.api.client import Client


async def test_a_connection_limit_may_be_text(api: Client) -> None:
    root = await api.load_balancer()
    listener = await api.listener(root["id"], connection_limit="7")
    assert listener["connection_limit"] == 7
    changed = await api.put(f"/listeners/{listener['id']}", {"listener": {"connection_limit": "-1"}})
    assert changed["listener"]["connection_limit"] == -1


@pytest.mark.parametrize("limit", ["", "many", "-2", "7 ", "9" * 40, 2**31, -2, 1.5, True])
async def test_invalid_connection_limit_is_refused_by_name(api: Client, limit: Any) -> None:
    root = await api.load_balancer()
    body = {"loadbalancer_id": root["id"], "protocol": "HTTP", "protocol_port": 80, "connection_limit": limit}
    answer = await api.post("/listeners", {"listener": body}, 400)
    assert "connection_limit" in answer["faultstring"] and "-1 to 2147483647" in answer["faultstring"]

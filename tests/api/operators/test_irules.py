"""iRules of operators on a listener: no tenant sees them, and a device type without them refuses them."""

from typing import Any

import pytest

from tests.api.client import Client

BASE = "/evenkeel/v1/listeners"


async def test_irules_are_set_in_order_and_are_no_attribute_of_tenants(api: Client) -> None:
    listener = (await api.listener((await api.load_balancer(project_id="p1"))["id"]))["id"]
    path = f"{BASE}/{listener}/irules"
    assert (await api.get(path))["listener"]["irules"] == []
    wanted = ["/Common/b", "/Common/a", "/dev_p1/by-hand"]
    for _ in range(2):
        assert (await api.put(path, {"irules": wanted}))["listener"]["irules"] == wanted
    shown = (await api.get(f"/listeners/{listener}"))["listener"]
    assert "operator_irules" not in shown
    (event,) = (await api.get("/evenkeel/v1/events?newest=true&limit=1"))["events"]
    assert event["kind"] == "irules_changed" and ", ".join(wanted) in event["text"]
    body = {"listener": {"operator_irules": []}}
    await api.put(f"/listeners/{listener}", body, status=400)
    assert (await api.put(path, {"irules": []}))["listener"]["irules"] == []


@pytest.mark.parametrize(
    ("irules", "told"),
    [
        (["says"], "a path like /Common/name is allowed"),
        (["/Common/a;b"], "a path like /Common/name is allowed"),
        (["/Common/a", "/Common/a"], "named twice"),
        ([f"/Common/{number}" for number in range(17)], "at most 16 are allowed"),
    ],
)
async def test_irules_that_cannot_be_are_refused(api: Client, irules: list[str], told: str) -> None:
    listener = (await api.listener((await api.load_balancer(project_id="p1"))["id"]))["id"]
    answer: Any = await api.put(f"{BASE}/{listener}/irules", {"irules": irules}, status=400)
    assert told in answer["faultstring"]
    assert (await api.get(f"{BASE}/{listener}/irules"))["listener"]["irules"] == []


async def test_irules_of_a_listener_that_does_not_exist(api: Client) -> None:
    await api.get(f"{BASE}/4cdf1d5c-5d5b-4f0e-9a57-0e0b5a9d7c11/irules", status=404)
    await api.put(f"{BASE}/4cdf1d5c-5d5b-4f0e-9a57-0e0b5a9d7c11/irules", {"irules": []}, status=404)

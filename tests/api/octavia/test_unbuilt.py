"""Whole resources that are not built say so."""

import pytest

from tests.api.client import Client

ID = "00000000-0000-4000-8000-000000000000"


@pytest.mark.parametrize(
    ("method", "path", "feature"),
    [
        ("PUT", f"/loadbalancers/{ID}/failover", "failover"),
        ("GET", "/v2.0/octavia/amphorae", "amphorae"),
    ],
)
async def test_resource_that_is_not_built_is_refused_by_name(api: Client, method: str, path: str, feature: str) -> None:
    answer = await api.call(method, path, 501)
    assert feature in answer["faultstring"] and "not built" in answer["faultstring"]


async def test_providers_are_the_environments(api: Client) -> None:
    answer = await api.get("/providers")
    assert answer["providers"] == [{"name": "dev", "description": "noop devices"}]
    assert (await api.get("/providers?fields=name"))["providers"] == [{"name": "dev"}]

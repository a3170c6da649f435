"""Where clients begin."""

import pytest

from tests.api.client import Client


@pytest.mark.parametrize("path", ["/", "/v2", "/v2.0", "/v2/"])
async def test_versions_are_listed_all_at_v2_of_the_same_host(api: Client, path: str) -> None:
    versions = (await api.get(path, headers={"Host": "lb.example:9876"}))["versions"]
    assert [version["id"] for version in versions] == [f"v2.{minor}" for minor in range(31)]
    assert [version["status"] for version in versions] == ["SUPPORTED"] * 30 + ["CURRENT"]
    assert {link["href"] for version in versions for link in version["links"]} == {"http://lb.example:9876/v2"}


async def test_health_needs_the_database(api: Client) -> None:
    assert await api.get("/healthz") == {"status": "ok"}

"""Providers are the environments."""

from tests.api.client import Client


async def test_providers_are_the_environments(api: Client) -> None:
    answer = await api.get("/providers")
    assert answer["providers"] == [{"name": "dev", "description": "noop devices"}]
    assert (await api.get("/providers?fields=name"))["providers"] == [{"name": "dev"}]

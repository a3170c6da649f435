"""Who the caller is, in the operators' API."""

from collections.abc import AsyncIterator

import pytest

import evenkeel
from evenkeel.api.app import create_app
from evenkeel.core.ports import Store
from evenkeel.network.builtin import BuiltinNetwork
from evenkeel.store.sql_store import SqlStore
from tests.api.client import Client, Sink
from tests.api.gateway import gateway
from tests.api.operators.conftest import BASE
from tests.api.personas import MEMBER, SYSTEM_ADMIN, Persona


@pytest.fixture
async def behind_gateway(store: Store) -> AsyncIterator[Client]:
    async with gateway(store) as client:
        yield client


@pytest.mark.parametrize("persona", [MEMBER, SYSTEM_ADMIN], ids=str)
async def test_every_caller_gets_its_own_identity(behind_gateway: Client, persona: Persona) -> None:
    shown = (await behind_gateway.get(f"{BASE}/caller", headers=persona.headers))["caller"]
    assert shown == {
        "user": persona.name,
        "project_id": persona.project_id,
        "roles": sorted(persona.roles.split(",")),
        "version": evenkeel.__version__,
        "documentation_url": "",
    }


async def test_without_a_login_the_ways_to_log_in_are_in_the_challenge(behind_gateway: Client) -> None:
    answer = await behind_gateway.http.get(f"{BASE}/caller")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Gateway")


async def test_the_configured_documentation_is_named(store: SqlStore) -> None:
    url = "https://docs.example.org/even-keel/"
    network = BuiltinNetwork(store.operators)
    app = create_app(store=store, network=network, driver=Sink(), default_provider="dev", documentation_url=url)
    async with Client.of(app) as client:
        shown = (await client.get(f"{BASE}/caller"))["caller"]
    assert (shown["user"], shown["roles"], shown["documentation_url"]) == ("", ["admin"], url)

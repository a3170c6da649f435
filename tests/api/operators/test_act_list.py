"""The list of what operators can do, by which the dashboard offers it."""

from typing import Any

import pytest

from evenkeel.api.app import create_app
from evenkeel.api.identity.headers import TrustedHeaders
from evenkeel.cli.base import ApiCommand
from evenkeel.cli.main import COMMANDS
from evenkeel.core.control.acts import OPERATOR_ACTION_EFFECTS, operator_action_summary
from evenkeel.core.ports import Store
from evenkeel.devices.noop.capabilities import CAPABILITIES as NOOP
from evenkeel.network.builtin import BuiltinNetwork
from tests.api.client import Client, Sink
from tests.api.operators.conftest import BASE

WITHOUT_COMMAND = {"loadbalancer_failover", "loadbalancer_import", "move_finish", "move_back"}
"""Acts for which there is no command of their own: an option of another one, or the OpenStack client's."""


@pytest.fixture
def asked(store: Store) -> Client:
    application = create_app(
        store=store,
        driver=Sink(),
        network=BuiltinNetwork(store.operators),
        default_provider="dev",
        capabilities={"noop": NOOP},
        identity=TrustedHeaders(),
    )
    return Client.of(application)


async def acts_of(asked: Client, *roles: str) -> dict[str, dict[str, Any]]:
    asked.http.headers.update({"X-User-Id": "u-1", "X-Project-Id": "p1", "X-Roles": ",".join(roles)})
    return {act["name"]: act for act in (await asked.get(f"{BASE}/acts"))["acts"]}


async def test_an_operator_may_do_every_act(asked: Client) -> None:
    found = await acts_of(asked, "evenkeel_operator")
    assert sorted(found) == sorted(OPERATOR_ACTION_EFFECTS)
    # the OpenStack client's failover is for administrators, as in Octavia
    assert [name for name, act in found.items() if not act["allowed"]] == ["loadbalancer_failover"]
    drain = found["agent_drain"]
    assert (drain["method"], drain["path"]) == ("PUT", f"{BASE}/agents/{{id}}/drain")
    assert drain["effect"] == OPERATOR_ACTION_EFFECTS["agent_drain"]
    assert all(act["allowed"] for act in (await acts_of(asked, "admin")).values())


async def test_a_watcher_may_do_none_and_gets_the_roles_that_may(asked: Client) -> None:
    found = await acts_of(asked, "evenkeel_agent")
    assert not any(act["allowed"] for act in found.values())
    assert found["agent_drain"]["roles"] == ["evenkeel_operator", "admin", "load-balancer_admin"]


async def test_a_tenant_is_not_informed(asked: Client) -> None:
    asked.http.headers.update({"X-User-Id": "u-1", "X-Project-Id": "p1", "X-Roles": "load-balancer_member"})
    await asked.get(f"{BASE}/acts", 403)


async def test_the_document_says_the_same(asked: Client) -> None:
    paths = (await asked.get("/openapi.json"))["paths"]
    assert paths[f"{BASE}/agents/{{id}}/drain"]["put"]["summary"] == operator_action_summary("agent_drain")


def test_the_command_line_says_the_same() -> None:
    described = set()
    for command in COMMANDS.values():
        if issubclass(command, ApiCommand) and command.operator_action:
            described.add(command.operator_action)
            assert command(None, None).get_description().startswith(OPERATOR_ACTION_EFFECTS[command.operator_action])
    assert described == set(OPERATOR_ACTION_EFFECTS) - WITHOUT_COMMAND

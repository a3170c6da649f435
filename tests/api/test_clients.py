"""The stock clients as people start them, each a process of its own, and what openstacksdk makes of pages and faults.

Every command and every method: ``test_command_line_clients.py``, ``test_sdk_clients.py``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack import exceptions

from tests.api import bodies
from tests.api.client_process import openstack_process
from tests.api.stack import Stack

# the client warns of its own future, which is not ours
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.timeout(600)]


@pytest.fixture
def sdk(stack: Stack) -> Iterator[Any]:
    """openstacksdk's load balancer proxy, without Keystone."""
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth={"endpoint": stack.url}, region_name="x"
    )
    yield connection.load_balancer
    connection.close()


def test_sdk_creates_fully_populated_and_pages_through_lists(sdk: Any) -> None:
    body = bodies.populated(name="full", project_id="pages")["loadbalancer"]
    root = sdk.create_load_balancer(**body)
    others = [sdk.create_load_balancer(name=f"n-{n}", vip_subnet_id=bodies.SUBNET_ID, project_id="pages") for n in "ab"]
    assert len(root.listeners) == len(root.pools) == 1
    listed = [row.id for row in sdk.load_balancers(project_id="pages", limit=1)]
    assert listed == [root.id, *(other.id for other in others)]


def test_sdk_tells_the_fault(sdk: Any) -> None:
    with pytest.raises(exceptions.BadRequestException, match="VIP must contain one of"):
        sdk.create_load_balancer(name="x")
    with pytest.raises(exceptions.HttpException, match="vip_port_id") as caught:
        sdk.create_load_balancer(name="x", vip_port_id="q")
    assert caught.value.status_code == 501


async def command(url: str, home: Path, *words: str) -> Any:
    """Run ``openstack loadbalancer …``; its JSON output."""
    done = await openstack_process(home, {"OS_AUTH_TYPE": "none", "OS_ENDPOINT": url}, *words)
    assert done.code == 0, f"openstack loadbalancer {' '.join(words)}: {done.errors}"
    return done.shown


@pytest.mark.timeout(1800)
async def test_command_line_as_a_process_creates_waits_shows_and_deletes_by_name(stack: Stack, tmp_path: Path) -> None:
    shown = ("-f", "json")
    made = await command(
        stack.url, tmp_path, "create", "--name", "cli", "--vip-subnet-id", "blue", "--project", "p9", "--wait", *shown
    )
    assert (made["provisioning_status"], made["project_id"]) == ("ACTIVE", "p9")
    pool = ("--name", "cli-p", "--protocol", "HTTP", "--lb-algorithm", "ROUND_ROBIN", "--loadbalancer", "cli")
    await command(stack.url, tmp_path, "pool", "create", *pool, "--wait", *shown)
    member = ("--address", "10.20.0.1", "--protocol-port", "80", "--subnet-id", "blue")
    await command(stack.url, tmp_path, "member", "create", *member, "--wait", "cli-p", *shown)
    status = await command(stack.url, tmp_path, "status", "show", "cli")
    assert status["loadbalancer"]["listeners"] == []  # as in Octavia, which shows pools below listeners only
    await command(stack.url, tmp_path, "delete", "cli", "--cascade", "--wait")
    assert await command(stack.url, tmp_path, "list", "--project", "p9", *shown) == []

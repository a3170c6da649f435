"""A real Heat makes, changes, shows and deletes all ``OS::Octavia::*`` resources, in a cloud without Neutron."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openstack import exceptions

from tests.cloud.cloud import ADMIN, DEMO, Cloud, Login
from tests.cloud.conftest import IN_A_CLOUD
from tests.cloud.heat_stacks import Template, operator, tenant
from tests.services import heat
from tests.services.installation import NotInstallable
from tests.services.mariadb import SharedMariaDB
from tests.services.rabbitmq import SharedRabbitMQ

pytestmark = IN_A_CLOUD
STACK_SECONDS = 300
POLL_SECONDS = 0.3


@pytest.fixture(scope="module", autouse=True)
def orchestration(cloud: Cloud, rabbitmq_node: SharedRabbitMQ, mariadb: SharedMariaDB) -> Iterator[None]:
    """Heat, in the catalogue."""
    try:
        venv = heat.installed()
    except NotInstallable as error:
        pytest.skip(str(error))
    with rabbitmq_node.virtual_host() as host:
        yield from orchestrated(venv, cloud, host.url, mariadb)


def orchestrated(venv: Path, cloud: Cloud, bus: str, mariadb: SharedMariaDB) -> Iterator[None]:
    with cloud.connection(ADMIN) as admin:
        token, project_id = admin.auth_token, admin.current_project_id
    database = mariadb.create_database()
    server = heat.Heat(
        venv,
        cloud.keystone,
        database=database,
        bus=bus,
        region=cloud.region,
        token=token,
        project_id=project_id,
    )
    try:
        server.start()
        cloud.offer("orchestration", server.url)
        yield
    finally:
        server.close()
        mariadb.drop_database(database)


def brought(connection: Any, stack: Any, status: str) -> Any:
    """The stack, when that is its status. Raises with Heat's reasons if it fails."""
    try:
        return connection.orchestration.wait_for_status(
            connection.orchestration.get_stack(stack.id),
            status,
            failures=["CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED"],
            interval=POLL_SECONDS,
            wait=STACK_SECONDS,
        )
    except exceptions.ResourceFailure:
        rows = connection.orchestration.resources(connection.orchestration.get_stack(stack.id))
        raise AssertionError([(row.name, row.status_reason) for row in rows if "FAILED" in row.status]) from None


def outputs(stack: Any) -> dict[str, Any]:
    return {each["output_key"]: each["output_value"] for each in stack.outputs}


def gone(connection: Any, stack: Any) -> None:
    connection.orchestration.delete_stack(stack.id)
    connection.orchestration.wait_for_delete(
        connection.orchestration.get_stack(stack.id), interval=POLL_SECONDS, wait=STACK_SECONDS
    )


def life(cloud: Cloud, login: Login, name: str, first: Template, second: Template) -> Iterator[tuple[Any, Any]]:
    """The stack made of the first template and changed to the second; deleted at the end."""
    with cloud.connection(login) as connection:
        stack = connection.orchestration.create_stack(name=name, template=first)
        yield connection, brought(connection, stack, "CREATE_COMPLETE")
        connection.orchestration.update_stack(stack.id, template=second)
        yield connection, brought(connection, stack, "UPDATE_COMPLETE")
        gone(connection, stack)


def test_a_tenants_stack(cloud: Cloud) -> None:
    old = {"description": "first", "limit": 100, "algorithm": "ROUND_ROBIN", "weight": 1, "delay": 10, "host": "a"}
    new = {"description": "second", "limit": 5, "algorithm": "LEAST_CONNECTIONS", "weight": 9, "delay": 20, "host": "b"}
    known: dict[str, Any] = {}
    for number, (connection, stack) in enumerate(
        life(cloud, DEMO, "web", tenant(**old), tenant(**new, backends=3))  # type: ignore[arg-type]
    ):
        shown = outputs(stack)
        assert {name: type(value)(shown[name]) for name, value in (old, new)[number].items()} == (old, new)[number]
        root = connection.load_balancer.find_load_balancer("heat-root")
        assert (root.vip_address, root.provisioning_status) == (shown["address"], "ACTIVE")
        assert known.setdefault("root", root.id) == root.id  # changed, not replaced
        pools = {each.lb_algorithm: each for each in connection.load_balancer.pools()}
        assert shown["target"] == pools["SOURCE_IP"].id
        members = list(connection.load_balancer.members(pools[shown["algorithm"]]))
        assert len(members) == 2 + number
    with cloud.connection(DEMO) as connection:
        assert list(connection.load_balancer.load_balancers()) == []


def test_an_operators_stack(cloud: Cloud) -> None:
    for number, (connection, stack) in enumerate(
        life(cloud, ADMIN, "offers", operator(description="first"), operator(description="second"))
    ):
        description = ("first", "second")[number]
        assert outputs(stack) == {"flavor": description}
        assert connection.load_balancer.find_flavor("heat-gold").description == description
        assert connection.load_balancer.find_availability_zone("heat-zone").description == description
    with cloud.connection(ADMIN) as admin:
        assert admin.load_balancer.find_flavor("heat-gold") is None

"""Quotas, flavors and availability zones by the stock clients against a real server."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack import exceptions

from tests.api import bodies
from tests.api.live import LiveServer

COMMAND_SECONDS = 180.0

# the client warns of its own future, which is not ours
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose load balancers become ACTIVE at once."""
    with LiveServer.started(tmp_path_factory.mktemp("catalogue")) as server:
        yield server


@pytest.fixture
def sdk(live: LiveServer) -> Iterator[Any]:
    """openstacksdk's load balancer proxy, without Keystone."""
    connection = openstack.connect(
        load_envvars=False, load_yaml_config=False, auth_type="none", auth={"endpoint": live.url}, region_name="x"
    )
    yield connection.load_balancer
    connection.close()


def test_sdk_sets_shows_and_resets_quotas(sdk: Any) -> None:
    assert sdk.get_quota_default().load_balancers == -1
    assert sdk.update_quota("q1", load_balancer=1, member=5).members == 5
    assert sdk.get_quota("q1").load_balancers == 1
    assert "q1" in [row.project_id for row in sdk.quotas()]
    sdk.create_load_balancer(name="only", vip_subnet_id=bodies.SUBNET_ID, project_id="q1")
    with pytest.raises(exceptions.HttpException, match="Quota has been met for resources: Load Balancer") as caught:
        sdk.create_load_balancer(name="more", vip_subnet_id=bodies.SUBNET_ID, project_id="q1")
    assert caught.value.status_code == 403
    sdk.delete_quota("q1")
    assert sdk.get_quota("q1").load_balancers == -1


def test_sdk_offers_and_chooses_flavors_and_zones(sdk: Any) -> None:
    profile = sdk.create_flavor_profile(name="fp", provider_name="dev", flavor_data='{"a": 1}')
    flavor = sdk.create_flavor(name="gold", flavor_profile_id=profile.id, is_enabled=True)
    zones = sdk.create_availability_zone_profile(name="zp", provider_name="dev", availability_zone_data="{}")
    sdk.create_availability_zone(name="az", availability_zone_profile_id=zones.id)
    assert sdk.find_flavor("gold").id == flavor.id and sdk.find_flavor_profile("fp").id == profile.id
    assert [row.name for row in sdk.availability_zones()] == ["az"]
    assert [row.id for row in sdk.availability_zone_profiles()] == [zones.id]
    assert sdk.update_availability_zone("az", description="d").description == "d"
    assert sdk.update_flavor(flavor.id, description="d").description == "d"
    root = sdk.create_load_balancer(
        name="x", vip_subnet_id=bodies.SUBNET_ID, project_id="p", flavor_id=flavor.id, availability_zone="az"
    )
    assert (root.flavor_id, root.availability_zone) == (flavor.id, "az")
    assert [row.id for row in sdk.load_balancers(flavor_id=flavor.id)] == [root.id]
    with pytest.raises(exceptions.ConflictException, match="in use"):
        sdk.delete_flavor(flavor.id)
    sdk.delete_load_balancer(root.id)
    sdk.delete_flavor(flavor.id)
    sdk.delete_flavor_profile(profile.id)
    sdk.delete_availability_zone("az")
    sdk.delete_availability_zone_profile(zones.id)


# -- the command line


async def command(live: LiveServer, home: Path, *words: str, shown: bool = True) -> Any:
    """Run ``openstack loadbalancer …``; its JSON output."""
    program = Path(sys.executable).with_name("openstack")
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "OS_AUTH_TYPE": "none", "OS_ENDPOINT": live.url}
    process = await asyncio.create_subprocess_exec(
        program,
        "loadbalancer",
        *words,
        *(("-f", "json") if shown else ()),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(COMMAND_SECONDS):
        output, errors = await process.communicate()
    assert process.returncode == 0, f"openstack loadbalancer {' '.join(words)}: {errors.decode()}"
    return json.loads(output) if output.strip() else None


@pytest.mark.timeout(900)
async def test_command_line_quotas(live: LiveServer, tmp_path: Path) -> None:
    assert (await command(live, tmp_path, "quota", "defaults", "show"))["load_balancer"] == -1
    assert (await command(live, tmp_path, "quota", "set", "--loadbalancer", "3", "--l7rule", "4", "cli"))["l7rule"] == 4
    assert (await command(live, tmp_path, "quota", "show", "cli"))["load_balancer"] == 3
    listed = await command(live, tmp_path, "quota", "list")
    assert [row["load_balancer"] for row in listed if row["project_id"] == "cli"] == [3]
    await command(live, tmp_path, "quota", "unset", "--l7rule", "cli", shown=False)
    assert (await command(live, tmp_path, "quota", "show", "cli"))["l7rule"] == -1
    await command(live, tmp_path, "quota", "reset", "cli", shown=False)
    assert (await command(live, tmp_path, "quota", "show", "cli"))["load_balancer"] == -1


@pytest.mark.timeout(900)
async def test_command_line_flavors(live: LiveServer, tmp_path: Path) -> None:
    profile = ("flavorprofile", "create", "--name", "clifp", "--provider", "dev", "--flavor-data", '{"a": 1}')
    made = await command(live, tmp_path, *profile)
    flavor = await command(live, tmp_path, "flavor", "create", "--name", "clif", "--flavorprofile", "clifp", "--enable")
    assert flavor["flavor_profile_id"] == made["id"]
    await command(live, tmp_path, "flavor", "set", "clif", "--description", "d", shown=False)
    assert (await command(live, tmp_path, "flavor", "show", "clif"))["description"] == "d"
    assert "clif" in [row["name"] for row in await command(live, tmp_path, "flavor", "list")]
    await command(live, tmp_path, "flavor", "unset", "clif", "--description", shown=False)
    await command(live, tmp_path, "flavorprofile", "set", "clifp", "--name", "clifp2", shown=False)
    assert (await command(live, tmp_path, "flavorprofile", "show", "clifp2"))["flavor_data"] == '{"a": 1}'
    assert "clifp2" in [row["name"] for row in await command(live, tmp_path, "flavorprofile", "list")]
    await command(live, tmp_path, "flavor", "delete", "clif", shown=False)
    await command(live, tmp_path, "flavorprofile", "delete", "clifp2", shown=False)


@pytest.mark.timeout(900)
async def test_command_line_zones(live: LiveServer, tmp_path: Path) -> None:
    data = ("--availability-zone-data", '{"environment_group_number": 1}')
    profile = ("availabilityzoneprofile", "create", "--name", "clizp", "--provider", "dev", *data)
    made = await command(live, tmp_path, *profile)
    create = ("availabilityzone", "create", "--name", "cliz", "--availabilityzoneprofile", "clizp", "--enable")
    assert (await command(live, tmp_path, *create))["availability_zone_profile_id"] == made["id"]
    await command(live, tmp_path, "availabilityzone", "set", "cliz", "--description", "d", shown=False)
    assert (await command(live, tmp_path, "availabilityzone", "show", "cliz"))["description"] == "d"
    assert [row["name"] for row in await command(live, tmp_path, "availabilityzone", "list")] == ["cliz"]
    lb = ("create", "--name", "zoned", "--vip-subnet-id", "blue", "--availability-zone", "cliz", "--wait")
    assert (await command(live, tmp_path, *lb))["availability_zone"] == "cliz"
    await command(live, tmp_path, "delete", "zoned", "--wait", shown=False)
    await command(live, tmp_path, "availabilityzone", "unset", "cliz", "--description", shown=False)
    await command(live, tmp_path, "availabilityzoneprofile", "set", "clizp", "--name", "clizp2", shown=False)
    assert (await command(live, tmp_path, "availabilityzoneprofile", "show", "clizp2"))["provider_name"] == "dev"
    listed = await command(live, tmp_path, "availabilityzoneprofile", "list")
    assert "clizp2" in [row["name"] for row in listed]
    await command(live, tmp_path, "availabilityzone", "delete", "cliz", shown=False)
    await command(live, tmp_path, "availabilityzoneprofile", "delete", "clizp2", shown=False)

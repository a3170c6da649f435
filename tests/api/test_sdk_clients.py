"""Every method of openstacksdk's load balancer proxy, against controllers and an agent that run.

The methods are the installed SDK's own, so that one which nobody drives fails here.
"""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openstack
import pytest
from openstack import exceptions
from openstack.load_balancer.v2 import _proxy

from tests.api import bodies
from tests.api.stack import PROVIDER, Stack

QUICK = {"interval": 0.05, "wait": 60}
NO_AMPHORA = "00000000-0000-4000-8000-000000000000"
NOT_DRIVEN: dict[str, str] = {}
"""Public methods that no test here calls, each with the reason."""

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


def active(sdk: Any, **attributes: Any) -> Any:
    """A new load balancer, ACTIVE."""
    root = sdk.create_load_balancer(vip_subnet_id=bodies.SUBNET_ID, **attributes)
    return sdk.wait_for_load_balancer(root.id, **QUICK)


def gone(sdk: Any, root: Any) -> None:
    """It is deleted, and no longer shown."""
    sdk.delete_load_balancer(root.id, cascade=True)
    sdk.wait_for_delete(root, **QUICK)
    with pytest.raises(exceptions.NotFoundException):
        sdk.get_load_balancer(root.id)


def test_load_balancers(sdk: Any) -> None:
    root = active(sdk, name="sdk-web", project_id="sdk-roots", tags=["a"])
    assert (root.provisioning_status, root.provider, root.project_id) == ("ACTIVE", PROVIDER, "sdk-roots")
    assert sdk.find_load_balancer("sdk-web").id == sdk.find_load_balancer(root.id).id == root.id
    assert sdk.find_load_balancer("nobody") is None
    assert [row.id for row in sdk.load_balancers(project_id="sdk-roots", tags=["a"])] == [root.id]
    assert list(sdk.load_balancers(project_id="sdk-roots", not_tags=["a"])) == []
    sdk.update_load_balancer(root, name="sdk-web2", is_admin_state_up=False)
    changed = sdk.wait_for_status(sdk.get_load_balancer(root.id), "ACTIVE", attribute="provisioning_status", **QUICK)
    assert (changed.name, changed.is_admin_state_up) == ("sdk-web2", False)
    assert sdk.get_load_balancer_statistics(root.id).total_connections == 0
    gone(sdk, root)


def test_failover(sdk: Any) -> None:
    root = active(sdk, name="sdk-failover")
    sdk.failover_load_balancer(root.id)
    assert sdk.wait_for_load_balancer(root.id, **QUICK).provisioning_status == "ACTIVE"
    gone(sdk, root)


def test_listeners(sdk: Any) -> None:
    root = active(sdk)
    row = sdk.create_listener(name="sdk-l", load_balancer_id=root.id, protocol="HTTP", protocol_port=80)
    assert sdk.find_listener("sdk-l").id == sdk.get_listener(row.id).id == row.id
    assert [each.id for each in sdk.listeners(load_balancer_id=root.id)] == [row.id]
    changed = sdk.update_listener(row, connection_limit=5, allowed_cidrs=["10.9.8.7/8"])
    assert (changed.connection_limit, changed.allowed_cidrs) == (5, ["10.0.0.0/8"])
    assert sdk.get_listener_statistics(row.id).bytes_in == 0
    with pytest.raises(exceptions.ConflictException):
        sdk.create_listener(load_balancer_id=root.id, protocol="HTTP", protocol_port=80)
    sdk.delete_listener(row)
    gone(sdk, root)


def test_pools_and_members(sdk: Any) -> None:
    root = active(sdk)
    pool = sdk.create_pool(
        name="sdk-p",
        loadbalancer_id=root.id,
        protocol="HTTP",
        lb_algorithm="ROUND_ROBIN",
        session_persistence={"type": "APP_COOKIE", "cookie_name": "c"},
    )
    assert sdk.find_pool("sdk-p").id == sdk.get_pool(pool.id).id == pool.id
    assert [each.id for each in sdk.pools(loadbalancer_id=root.id)] == [pool.id]
    assert sdk.update_pool(pool, session_persistence=None).session_persistence is None
    member = sdk.create_member(pool, name="sdk-m", address="10.20.0.1", protocol_port=80, weight=3, backup=True)
    assert sdk.find_member("sdk-m", pool).id == sdk.get_member(member.id, pool).id == member.id
    assert [(each.address, each.weight) for each in sdk.members(pool)] == [("10.20.0.1", 3)]
    assert sdk.update_member(member, pool, monitor_address="10.20.0.9", monitor_port=81).monitor_port == 81
    sdk.delete_member(member, pool)
    sdk.delete_pool(pool)
    gone(sdk, root)


def test_health_monitors(sdk: Any) -> None:
    root = active(sdk)
    pool = sdk.create_pool(loadbalancer_id=root.id, protocol="HTTP", lb_algorithm="ROUND_ROBIN")
    row = sdk.create_health_monitor(pool_id=pool.id, name="sdk-h", type="HTTP", delay=5, timeout=3, max_retries=2)
    assert sdk.find_health_monitor("sdk-h").id == sdk.get_health_monitor(row.id).id == row.id
    assert row.id in [each.id for each in sdk.health_monitors()]
    assert sdk.update_health_monitor(row, url_path="/up", expected_codes="200-204").expected_codes == "200-204"
    sdk.delete_health_monitor(row)
    gone(sdk, root)


def test_l7_policies_and_rules(sdk: Any) -> None:
    root = active(sdk)
    listener = sdk.create_listener(load_balancer_id=root.id, protocol="HTTP", protocol_port=80)
    pool = sdk.create_pool(loadbalancer_id=root.id, protocol="HTTP", lb_algorithm="ROUND_ROBIN")
    policy = sdk.create_l7_policy(
        name="sdk-l7", listener_id=listener.id, action="REDIRECT_TO_POOL", redirect_pool_id=pool.id
    )
    assert sdk.find_l7_policy("sdk-l7").id == sdk.get_l7_policy(policy.id).id == policy.id
    assert [each.id for each in sdk.l7_policies(listener_id=listener.id)] == [policy.id]
    changed = sdk.update_l7_policy(policy, action="REDIRECT_TO_URL", redirect_url="https://example.com")
    assert (changed.redirect_pool_id, changed.redirect_url) == (None, "https://example.com")
    rule = sdk.create_l7_rule(policy, type="HOST_NAME", compare_type="EQUAL_TO", value="www.example.com")
    assert sdk.get_l7_rule(rule, policy).id == sdk.find_l7_rule(rule.id, policy).id == rule.id
    assert [each.id for each in sdk.l7_rules(policy)] == [rule.id]
    assert sdk.update_l7_rule(rule, policy, rule_value="a.example.com").rule_value == "a.example.com"
    sdk.delete_l7_rule(rule, policy)
    sdk.delete_l7_policy(policy)
    gone(sdk, root)


def test_quotas(sdk: Any) -> None:
    assert sdk.get_quota_default().load_balancers == -1
    assert sdk.update_quota("sdk-poor", load_balancer=1, member=5).members == 5
    assert sdk.get_quota("sdk-poor").load_balancers == 1
    assert "sdk-poor" in [row.project_id for row in sdk.quotas()]
    root = active(sdk, project_id="sdk-poor")
    with pytest.raises(exceptions.ForbiddenException, match="Quota has been met for resources: Load Balancer"):
        sdk.create_load_balancer(vip_subnet_id=bodies.SUBNET_ID, project_id="sdk-poor")
    sdk.delete_quota("sdk-poor")
    assert sdk.get_quota("sdk-poor").load_balancers == -1
    gone(sdk, root)


def test_providers(sdk: Any) -> None:
    assert [row.name for row in sdk.providers()] == [PROVIDER]
    assert [row.name for row in sdk.provider_flavor_capabilities(PROVIDER)] == ["amp_image_tag"]


def test_flavors(sdk: Any) -> None:
    profile = sdk.create_flavor_profile(name="sdk-fp", provider_name=PROVIDER, flavor_data='{"a": 1}')
    assert sdk.find_flavor_profile("sdk-fp").id == sdk.get_flavor_profile(profile.id).id == profile.id
    assert profile.id in [row.id for row in sdk.flavor_profiles()]
    assert sdk.update_flavor_profile(profile.id, name="sdk-fp2").name == "sdk-fp2"
    flavor = sdk.create_flavor(name="sdk-gold", flavor_profile_id=profile.id, is_enabled=True)
    assert sdk.find_flavor("sdk-gold").id == sdk.get_flavor(flavor.id).id == flavor.id
    assert flavor.id in [row.id for row in sdk.flavors()]
    assert sdk.update_flavor(flavor.id, description="d").description == "d"
    root = active(sdk, flavor_id=flavor.id)
    assert [row.id for row in sdk.load_balancers(flavor_id=flavor.id)] == [root.id]
    with pytest.raises(exceptions.ConflictException, match="in use"):
        sdk.delete_flavor(flavor.id)
    gone(sdk, root)
    sdk.delete_flavor(flavor.id)
    sdk.delete_flavor_profile(profile.id)


def test_availability_zones(sdk: Any) -> None:
    profile = sdk.create_availability_zone_profile(
        name="sdk-zp", provider_name=PROVIDER, availability_zone_data='{"environment_group_number": 1}'
    )
    assert sdk.find_availability_zone_profile("sdk-zp").id == profile.id
    assert sdk.get_availability_zone_profile(profile.id).name == "sdk-zp"
    assert profile.id in [row.id for row in sdk.availability_zone_profiles()]
    assert sdk.update_availability_zone_profile(profile.id, name="sdk-zp2").name == "sdk-zp2"
    sdk.create_availability_zone(name="sdk-az", availability_zone_profile_id=profile.id)
    assert sdk.find_availability_zone("sdk-az").name == sdk.get_availability_zone("sdk-az").name == "sdk-az"
    assert "sdk-az" in [row.name for row in sdk.availability_zones()]
    assert sdk.update_availability_zone("sdk-az", description="d").description == "d"
    root = active(sdk, availability_zone="sdk-az")
    assert root.availability_zone == "sdk-az"
    gone(sdk, root)
    sdk.delete_availability_zone("sdk-az")
    sdk.delete_availability_zone_profile(profile.id)


def test_amphorae_are_none(sdk: Any) -> None:
    assert list(sdk.amphorae(role="MASTER")) == []
    assert sdk.find_amphora(NO_AMPHORA) is None
    for ask in (sdk.get_amphora, sdk.configure_amphora, sdk.failover_amphora):
        with pytest.raises(exceptions.NotFoundException):
            ask(NO_AMPHORA)


def test_every_public_method_is_driven() -> None:
    own = {name for name, value in vars(_proxy.Proxy).items() if inspect.isfunction(value) and name[0] != "_"}
    here = ast.parse(Path(__file__).read_text())
    driven = {
        node.attr
        for node in ast.walk(here)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sdk"
    }
    assert own - driven == set(NOT_DRIVEN)

"""A story told with the bindings of one release of neutronclient, in its own environment: the URL is the argument, and
so is the subnet. It imports nothing of ours, and runs with whatever Python that environment has."""

import sys

from neutronclient.v2_0 import client

url, subnet = sys.argv[1:3]
neutron = client.Client(endpoint_url=url, auth_strategy="noauth")


def made(kind, body, *above, call=None):
    """What the create call of the kind answers."""
    return getattr(neutron, "create_" + (call or kind))(*above, {kind: body})[kind]["id"]


root = made("loadbalancer", {"name": "old", "vip_subnet_id": subnet})
listener = made("listener", {"loadbalancer_id": root, "protocol": "HTTP", "protocol_port": 80})
pool = made("pool", {"listener_id": listener, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}, call="lbaas_pool")
member = made("member", {"address": "10.20.0.1", "protocol_port": 80, "subnet_id": subnet}, pool, call="lbaas_member")
checks = {"pool_id": pool, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}
monitor = made("healthmonitor", checks, call="lbaas_healthmonitor")
assert root in [row["id"] for row in neutron.list_loadbalancers(name="old")["loadbalancers"]]
assert neutron.show_listener(listener)["listener"]["default_pool_id"] == pool
assert neutron.update_loadbalancer(root, {"loadbalancer": {"name": "new"}})["loadbalancer"]["name"] == "new"
assert [row["id"] for row in neutron.list_lbaas_members(pool)["members"]] == [member]
if hasattr(neutron, "create_lbaas_l7policy"):
    policy = made("l7policy", {"listener_id": listener, "action": "REJECT"}, call="lbaas_l7policy")
    rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/x"}
    made("rule", rule, policy, call="lbaas_l7rule")
    neutron.delete_lbaas_l7policy(policy)
if hasattr(neutron, "retrieve_loadbalancer_status"):
    tree = neutron.retrieve_loadbalancer_status(root)["statuses"]["loadbalancer"]
    assert tree["listeners"][0]["pools"][0]["members"][0]["id"] == member
if hasattr(neutron, "retrieve_loadbalancer_stats"):
    assert neutron.retrieve_loadbalancer_stats(root)["stats"]["bytes_in"] == 0
neutron.delete_lbaas_healthmonitor(monitor)
neutron.delete_lbaas_member(member, pool)
neutron.delete_lbaas_pool(pool)
neutron.delete_listener(listener)
neutron.delete_loadbalancer(root)

pool = made("pool", {"name": "v1", "protocol": "HTTP", "lb_method": "ROUND_ROBIN", "subnet_id": subnet})
vip = made("vip", {"pool_id": pool, "protocol": "HTTP", "protocol_port": 80, "subnet_id": subnet})
member = made("member", {"pool_id": pool, "address": "10.20.0.1", "protocol_port": 80})
monitor = made("health_monitor", {"type": "PING", "delay": 5, "timeout": 3, "max_retries": 2})
neutron.associate_health_monitor(pool, {"health_monitor": {"id": monitor}})
assert neutron.show_vip(vip)["vip"]["pool_id"] == pool
assert member in [row["id"] for row in neutron.list_members()["members"]]
assert neutron.update_pool(pool, {"pool": {"name": "v2"}})["pool"]["name"] == "v2"
neutron.disassociate_health_monitor(pool, monitor)
neutron.delete_health_monitor(monitor)
neutron.delete_member(member)
neutron.delete_vip(vip)
neutron.delete_pool(pool)
sys.stdout.write("done\n")

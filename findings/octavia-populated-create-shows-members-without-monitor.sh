#!/bin/sh
# Octavia 19.0.0: members that are created in one request with their pool's health monitor are NO_MONITOR.
#
# Seen: one POST /v2.0/lbaas/loadbalancers creates a load balancer, a listener, a pool, its health monitor and a member. The member's
# operating_status is NO_MONITOR, in the answer and in each later GET, though the pool has the monitor; a member that is added to the
# same pool afterwards begins as OFFLINE, which the API's reference names as the state of one that is not checked yet. So a client that
# takes NO_MONITOR for "in use" counts members of which nobody knows whether they answer, until the provider reports their status.
#
#   created in one request: NO_MONITOR
#   the same member, ACTIVE and read: NO_MONITOR
#   added to the same pool: OFFLINE
#
# The tables are made from Octavia's models in SQLite; the provider is Octavia's own that does nothing.
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check octavia==19.0.0 octavia-lib==3.12.0 SQLAlchemy==2.1.9 oslo.db==18.1.1
mkdir "$folder/providers-0.dist-info"
printf 'Metadata-Version: 2.1\nName: providers\nVersion: 0\n' >"$folder/providers-0.dist-info/METADATA"
printf '[octavia.api.drivers]\nnothing = octavia.api.drivers.noop_driver.driver:NoopProviderDriver\n' >"$folder/providers-0.dist-info/entry_points.txt"
cat >"$folder/octavia.conf" <<CONFIGURATION
[DEFAULT]
log_file = $folder/log
[api_settings]
auth_strategy = noauth
enabled_provider_drivers = nothing: does nothing
default_provider_driver = nothing
[database]
connection = sqlite:///$folder/octavia.db
[controller_worker]
network_driver = network_noop_driver
[oslo_policy]
enforce_scope = False
CONFIGURATION
cat >"$folder/ask_octavia.py" <<'PYTHON'
import json, sqlite3, sys, threading, urllib.request, uuid
from wsgiref.simple_server import WSGIRequestHandler, make_server

from octavia.api.app import setup_app
from octavia.common import constants
from octavia.db import api, base_models, models
from octavia.network.drivers.noop_driver import driver as network
from oslo_config import cfg

folder = sys.argv[1]
create_engine = network.create_engine
network.create_engine = lambda url: create_engine(f"sqlite:///{folder}/network.db")  # else a file in /tmp
application = setup_app(argv=["octavia-api", "--config-file", f"{folder}/octavia.conf"])
cfg.CONF.set_override("pool_timeout", None, group="database")  # SQLite's pool has none
base_models.BASE.metadata.create_all(api.get_engine())
with api.get_session() as session, session.begin():
    for model, names in (
        (models.ProvisioningStatus, constants.SUPPORTED_PROVISIONING_STATUSES),
        (models.OperatingStatus, constants.SUPPORTED_OPERATING_STATUSES),
        (models.Algorithm, constants.SUPPORTED_LB_ALGORITHMS),
        (models.HealthMonitorType, constants.SUPPORTED_HEALTH_MONITOR_TYPES),
        (models.Protocol, constants.SUPPORTED_PROTOCOLS),
        (models.LBTopology, constants.SUPPORTED_LB_TOPOLOGIES),
        (models.ClientAuthenticationMode, constants.SUPPORTED_CLIENT_AUTH_MODES),
        (models.L7PolicyAction, constants.SUPPORTED_L7POLICY_ACTIONS),
        (models.L7RuleType, constants.SUPPORTED_L7RULE_TYPES),
        (models.L7RuleCompareType, constants.SUPPORTED_L7RULE_COMPARE_TYPES),
    ):
        session.add_all(model(name=name) for name in names)


class Quiet(WSGIRequestHandler):
    def log_message(self, *words):
        pass


server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
threading.Thread(target=server.serve_forever, daemon=True).start()


def ask(method, path, body=None):
    url = f"http://127.0.0.1:{server.server_port}/v2.0/lbaas/{path}"
    headers = {"Content-Type": "application/json", "X-Project-Id": str(uuid.uuid5(uuid.NAMESPACE_DNS, "project"))}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
        return json.load(answer)


def applied():
    """What a provider does when its device has taken everything."""
    connection = sqlite3.connect(f"{folder}/octavia.db", timeout=10)
    for table in ("load_balancer", "listener", "pool", "member", "health_monitor"):
        connection.execute(f"UPDATE {table} SET provisioning_status = 'ACTIVE'")
    connection.commit()
    connection.close()


members = [{"address": "192.0.2.10", "protocol_port": 80}]
monitor = {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 3}
pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": members, "healthmonitor": monitor}
listener = {"name": "http", "protocol": "HTTP", "protocol_port": 80, "default_pool": pool}
body = {"name": "populated", "vip_subnet_id": str(uuid.uuid4()), "vip_address": "192.0.2.1", "listeners": [listener]}
created = ask("POST", "loadbalancers", {"loadbalancer": body})["loadbalancer"]
answered = created["pools"][0]["members"][0]["operating_status"]
print("created in one request:", answered)
applied()
pool_id = created["pools"][0]["id"]
listed = ask("GET", f"pools/{pool_id}/members")["members"][0]["operating_status"]
print("the same member, ACTIVE and read:", listed)
added = ask("POST", f"pools/{pool_id}/members", {"member": {"address": "192.0.2.11", "protocol_port": 80}})["member"]
print("added to the same pool:", added["operating_status"])
monitored = ask("GET", f"pools/{pool_id}")["pool"]["healthmonitor_id"] is not None
found = monitored and [answered, listed, added["operating_status"]] == ["NO_MONITOR", "NO_MONITOR", "OFFLINE"]
print("as found" if found else "changed")
sys.exit(0 if found else 1)
PYTHON
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -i '^octavia'
PYTHONPATH=$folder "$folder/venv/bin/python" -W ignore "$folder/ask_octavia.py" "$folder"

#!/bin/sh
# Octavia 19.0.0: a batch update of members enables a disabled member that it names by address and port alone.
#
# Seen: a member is disabled (admin_state_up false), a backup, has weight 7 and a monitor address and port of its own, a name and a tag.
# PUT /v2.0/lbaas/pools/ID/members with its address and protocol_port alone, as a client sends that lists its nodes, enables it, makes it
# no backup, and sets weight and monitor address and port to their defaults. Its name and its tags stay. PUT of that one member with
# nothing but a name changes the name alone: in the batch, an absent attribute is a changed one, but not for all attributes.
#
#   stays: name tags
#   changes to: {'admin_state_up': True, 'backup': False, 'monitor_address': None, 'monitor_port': None, 'weight': 1}
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
        return json.load(answer) if answer.status != 202 else None


def applied():
    """What a provider does when its device has taken everything."""
    connection = sqlite3.connect(f"{folder}/octavia.db", timeout=10)
    for table in ("load_balancer", "listener", "pool", "member", "health_monitor"):
        connection.execute(f"UPDATE {table} SET provisioning_status = 'ACTIVE'")
    connection.commit()
    connection.close()


body = {"name": "web", "vip_subnet_id": str(uuid.uuid4()), "vip_address": "192.0.2.1"}
root = ask("POST", "loadbalancers", {"loadbalancer": body})["loadbalancer"]["id"]
applied()
pool = {"protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": root}
pool_id = ask("POST", "pools", {"pool": pool})["pool"]["id"]
applied()
key = {"address": "192.0.2.10", "protocol_port": 80}
given = {"name": "drained", "tags": ["t"], "admin_state_up": False, "backup": True, "weight": 7}
given |= {"monitor_address": "192.0.2.99", "monitor_port": 99}
ask("POST", f"pools/{pool_id}/members", {"member": key | given})
applied()
ask("PUT", f"pools/{pool_id}/members", {"members": [key]})
now = ask("GET", f"pools/{pool_id}/members")["members"][0]
stays = sorted(name for name, value in given.items() if now[name] == value)
changes = {name: now[name] for name in sorted(given) if now[name] != given[name]}
print("stays:", *stays)
print("changes to:", changes)
default = {"admin_state_up": True, "backup": False, "monitor_address": None, "monitor_port": None, "weight": 1}
found = stays == ["name", "tags"] and changes == default
print("as found" if found else "changed")
sys.exit(0 if found else 1)
PYTHON
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -i '^octavia'
PYTHONPATH=$folder "$folder/venv/bin/python" -W ignore "$folder/ask_octavia.py" "$folder"

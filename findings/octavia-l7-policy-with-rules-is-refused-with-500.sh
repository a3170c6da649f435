#!/bin/sh
# Octavia 17.0.0, 18.0.0, 19.0.0: creating an L7 policy together with its rules in one request answers 500.
#
# Seen: POST /v2.0/lbaas/l7policies whose policy has `rules`, a list of new rules as the API reference documents it, answers 500
# "'dict' object has no attribute '_sa_instance_state'", whatever the provider, and nothing is created. The same policy without
# `rules`, and then its rule by POST l7policies/ID/rules, is created, and so is a policy with rules inside a new load balancer.
#
#   policy without rules: 201
#   then its rule: 201
#   policy with the same rule: 500 'dict' object has no attribute '_sa_instance_state'
#   policies afterwards: 1
#
# The repository's `create` gives the request's dictionaries for `rules` to the SQLAlchemy model, whose relationship takes models.
# The tables are made from Octavia's models in SQLite; 19.0.0 on a MariaDB that octavia-db-manage migrated answers the same.
# Exit code 0: still so. 1: the behaviour has changed.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check octavia==19.0.0 octavia-lib==3.12.0 SQLAlchemy==2.1.9 oslo.db==18.1.1
mkdir "$folder/recorder-0.dist-info"
printf 'Metadata-Version: 2.1\nName: recorder\nVersion: 0\n' >"$folder/recorder-0.dist-info/METADATA"
printf '[octavia.api.drivers]\nrecorder = recorder:Recorder\n' >"$folder/recorder-0.dist-info/entry_points.txt"
cat >"$folder/octavia.conf" <<CONFIGURATION
[DEFAULT]
log_file = $folder/log
[api_settings]
auth_strategy = noauth
enabled_provider_drivers = recorder: records what it is given
default_provider_driver = recorder
[database]
connection = sqlite:///$folder/octavia.db
[controller_worker]
network_driver = network_noop_driver
[oslo_policy]
enforce_scope = False
CONFIGURATION
cat >"$folder/recorder.py" <<'PYTHON'
from octavia_lib.api.drivers.provider_base import ProviderDriver


class Recorder(ProviderDriver):
    """Accepts what is created, and does nothing."""

    def loadbalancer_create(self, loadbalancer):
        pass

    def listener_create(self, listener):
        pass

    def l7policy_create(self, l7policy):
        pass

    def l7rule_create(self, l7rule):
        pass
PYTHON
cat >"$folder/ask_octavia.py" <<'PYTHON'
import json, sqlite3, sys, threading, urllib.error, urllib.request, uuid
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
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=60) as answer:
            found = answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        found = error.code, json.load(error)
    # the provider never reports: everything is made ACTIVE here, as if it had
    connection = sqlite3.connect(f"{folder}/octavia.db", timeout=10)
    for table in ("load_balancer", "listener", "l7policy"):
        connection.execute(f"UPDATE {table} SET provisioning_status = 'ACTIVE'")
    connection.commit()
    connection.close()
    return found


def create(kind, path, **attributes):
    status, answer = ask("POST", path, {kind: attributes})
    return status, answer.get(kind, {}).get("id"), answer.get("faultstring", "")


_, root, _ = create("loadbalancer", "loadbalancers", vip_subnet_id=str(uuid.uuid4()), vip_address="192.0.2.1")
_, listener, _ = create("listener", "listeners", protocol="HTTP", protocol_port=80, loadbalancer_id=root)
rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}
bare, policy, _ = create("l7policy", "l7policies", action="REJECT", listener_id=listener)
print("policy without rules:", bare)
ruled, _, _ = create("rule", f"l7policies/{policy}/rules", **rule)
print("then its rule:", ruled)
whole, _, fault = create("l7policy", "l7policies", action="REJECT", listener_id=listener, rules=[rule])
print("policy with the same rule:", whole, fault)
left = len(ask("GET", "l7policies")[1]["l7policies"])
print("policies afterwards:", left)
found = (bare, ruled, whole, left) == (201, 201, 500, 1) and "_sa_instance_state" in fault
print("as found" if found else "changed")
sys.exit(0 if found else 1)
PYTHON
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -i '^octavia'
PYTHONPATH=$folder "$folder/venv/bin/python" -W ignore "$folder/ask_octavia.py" "$folder"

#!/bin/sh
# Octavia 19.0.0: a provider driver is given the listeners of a fully populated load balancer without their L7 policies.
#
# Seen: one POST /v2.0/lbaas/loadbalancers creates a load balancer, a pool with a member, and a listener that has an L7 policy with a
# rule. The object that the driver's `loadbalancer_create` gets has the pool, its member and the listener, whose `l7policies` is an empty
# list: not Unset, but "no policies". Neither `l7policy_create` nor `l7rule_create` is called for them. The API's answer and the
# committed rows have the policy and its rule, and so has what driver-agent answers to `get_loadbalancer` afterwards, by the same data
# model. A driver that believes what `loadbalancer_create` gives it loses the policies of such a request.
#
#   calls of the driver: ['loadbalancer_create']
#   driver, create: listeners 1 members [1] l7policies []
#   API, answer to the POST: policies ['REJECT, 1 rule']
#   API, GET l7policies: ['REJECT, 1 rule']
#   database: [('REJECT', '/private')]
#   driver-agent, get_loadbalancer: policies ['REJECT, 1 rule']
#
# 17.0.0 and 18.0.0 with the same octavia-lib, SQLAlchemy and oslo.db give the driver the policy and its rule: there, the listeners
# controller's `_graph_create` puts the new policies into the listener that it returns; in 19.0.0 it does not.
# The tables are made from Octavia's models in SQLite; 19.0.0 on a MariaDB that octavia-db-manage migrated does the same.
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

calls = []  # name and object of each call
attributes = []  # l7policies of each listener given


class Recorder(ProviderDriver):
    def loadbalancer_create(self, loadbalancer):
        calls.append(("loadbalancer_create", loadbalancer.to_dict(recurse=True)))
        attributes.extend(repr(listener.l7policies) for listener in loadbalancer.listeners)

    def l7policy_create(self, l7policy):
        calls.append(("l7policy_create", l7policy.to_dict(recurse=True)))

    def l7rule_create(self, l7rule):
        calls.append(("l7rule_create", l7rule.to_dict(recurse=True)))
PYTHON
cat >"$folder/ask_octavia.py" <<'PYTHON'
import json, sqlite3, sys, threading, urllib.request, uuid
from wsgiref.simple_server import WSGIRequestHandler, make_server

from octavia.api.app import setup_app
from octavia.api.drivers.driver_agent.driver_get import process_get
from octavia.common import constants
from octavia.db import api, base_models, models
from octavia.network.drivers.noop_driver import driver as network
from oslo_config import cfg

import recorder

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
        return json.load(answer)


def rows(statement):
    connection = sqlite3.connect(f"{folder}/octavia.db", timeout=10)
    found = connection.execute(statement).fetchall()
    connection.close()
    return found


def told(listener, rules):
    return [f"{policy['action']}, {len(policy[rules])} rule" for policy in listener.get("l7policies") or []]


rule = {"type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}
policy = {"name": "private", "action": "REJECT", "rules": [rule]}
member = {"address": "192.0.2.10", "protocol_port": 80}
pool = {"name": "web", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": [member]}
listener = {"name": "http", "protocol": "HTTP", "protocol_port": 80, "default_pool": pool, "l7policies": [policy]}
body = {"name": "populated", "vip_subnet_id": str(uuid.uuid4()), "vip_address": "192.0.2.1", "listeners": [listener]}
created = ask("POST", "loadbalancers", {"loadbalancer": body})["loadbalancer"]
called = [name for name, _ in recorder.calls]
given = recorder.calls[0][1]
print("calls of the driver:", called)
members = [len(one["members"]) for one in given["pools"]]
print("driver, create: listeners", len(given["listeners"]), "members", members, "l7policies", *recorder.attributes)
answered = told(created["listeners"][0], "rules")
print("API, answer to the POST: policies", answered)
listed = ask("GET", "l7policies")["l7policies"]
read = [f"{one['action']}, {len(one['rules'])} rule" for one in listed]
print("API, GET l7policies:", read)
stored = rows("SELECT p.action, r.value FROM l7policy p JOIN l7rule r ON r.l7policy_id = p.id")
print("database:", stored)
got = process_get({"object": "loadbalancers", "id": created["id"]})  # driver-agent's half of DriverLibrary.get_loadbalancer
later = told(got["listeners"][0], "rules")
print("driver-agent, get_loadbalancer: policies", later)
one = ["REJECT, 1 rule"]
have = answered == read == later == one and stored == [("REJECT", "/private")] and members == [1]
lacks = called == ["loadbalancer_create"] and given["listeners"][0]["l7policies"] == [] and recorder.attributes == ["[]"]
print("as found" if have and lacks else "changed")
sys.exit(0 if have and lacks else 1)
PYTHON
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -i '^octavia'
PYTHONPATH=$folder "$folder/venv/bin/python" -W ignore "$folder/ask_octavia.py" "$folder"

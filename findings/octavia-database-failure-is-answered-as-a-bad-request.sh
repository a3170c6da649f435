#!/bin/sh
# Octavia 19.0.0: the create of a listener during a failure of the database is refused as the client's own mistake.
#
# Seen: while Octavia's database fails at the new row, POST listeners answers 400, faultcode Client, and names an attribute of the request
# that is right: "is not a valid option for protocol". The same request is 201 when the database is well again. The controller turns any
# error of the database into that text. Clients repeat a 500 or 503, but not a 400, so that what was right is given up. With a MariaDB that
# was killed during the request, listeners and health monitors ("for type") gave such answers.
#
#   the database fails: 400 Client: TCP is not a valid option for protocol
#   the same request again: 201
#
# The tables are made from Octavia's models in SQLite, where a trigger lets the INSERT fail; the provider is Octavia's own that does nothing.
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
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def applied():
    """What a provider does when its device has taken everything."""
    connection = sqlite3.connect(f"{folder}/octavia.db", timeout=10)
    for table in ("load_balancer", "listener", "pool", "member", "health_monitor"):
        connection.execute(f"UPDATE {table} SET provisioning_status = 'ACTIVE'")
    connection.commit()
    connection.close()


body = {"name": "web", "vip_subnet_id": str(uuid.uuid4()), "vip_address": "192.0.2.1"}
root = ask("POST", "loadbalancers", {"loadbalancer": body})[1]["loadbalancer"]["id"]
applied()
failing = sqlite3.connect(f"{folder}/octavia.db", timeout=10, isolation_level=None)
failing.execute("CREATE TRIGGER full BEFORE INSERT ON listener BEGIN SELECT RAISE(ABORT, 'no space left'); END")
wanted = {"listener": {"loadbalancer_id": root, "protocol": "TCP", "protocol_port": 80}}
status, answer = ask("POST", "listeners", wanted)
failing.execute("DROP TRIGGER full")
print(f"the database fails: {status} {answer['faultcode']}: {answer['faultstring']}")
again, _ = ask("POST", "listeners", wanted)
print(f"the same request again: {again}")
text = "TCP is not a valid option for protocol"
found = (status, answer["faultcode"], answer["faultstring"], again) == (400, "Client", text, 201)
print("as found" if found else "changed")
sys.exit(0 if found else 1)
PYTHON
"$folder/venv/bin/pip" list --disable-pip-version-check 2>/dev/null | grep -i '^octavia'
PYTHONPATH=$folder "$folder/venv/bin/python" -W ignore "$folder/ask_octavia.py" "$folder"

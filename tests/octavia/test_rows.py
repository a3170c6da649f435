"""Whole load balancers are read from Octavia's database with the same number of queries, however many they are."""

import json

from tests.octavia.conftest import IN_OCTAVIA
from tests.octavia.world import World

pytestmark = IN_OCTAVIA

COUNTING = """
import json, sys
import sqlalchemy
from octavia.common import config
config.init(["--config-file", sys.argv[1]])
from octavia.db import api
from evenkeel_octavia.convert import loadbalancer_body
from evenkeel_octavia.rows import OctaviaRows

statements = []
sqlalchemy.event.listen(api.get_engine(), "before_cursor_execute", lambda *given: statements.append(given[2]))
rows, found = OctaviaRows(), {}
ids = sys.argv[2:]
for some in (ids[:1], ids):
    statements.clear()
    snapshot = rows.trees(some)
    found[len(some)] = sum(text.startswith("SELECT") for text in statements)
bodies = {id: loadbalancer_body(tree) for id, tree in snapshot.trees.items()}
print(json.dumps({"counts": found, "bodies": bodies}))
"""


def test_many_load_balancers_take_as_many_queries_as_one(world: World) -> None:
    policy = {"action": "REJECT", "rules": [{"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}]}
    pool = {
        "name": "web",
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "session_persistence": {"type": "APP_COOKIE", "cookie_name": "c"},
        "members": [{"address": "198.51.100.7", "protocol_port": 80, "tags": ["m"]}],
        "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
    }
    listener = {
        "protocol": "HTTP",
        "protocol_port": 18083,
        "allowed_cidrs": ["198.51.100.0/24"],
        "insert_headers": {"X-Forwarded-For": "true"},
        "default_pool": pool,
        "l7policies": [policy],
    }
    ids = [world.create(name=f"read-{number}", listeners=[listener], tags=["t"])["id"] for number in range(3)]
    assert [world.settled(id) for id in ids] == ["ACTIVE"] * 3, world.logs()
    answer = json.loads(world.octavia.run(COUNTING, *ids))
    assert answer["counts"]["1"] == answer["counts"]["3"] <= 20
    body = answer["bodies"][ids[0]]
    made = body["listeners"][0]
    assert body["tags"] == ["t"] and made["allowed_cidrs"] == ["198.51.100.0/24"]
    assert made["insert_headers"] == {"X-Forwarded-For": "true"} and made["l7policies"][0]["rules"][0]["value"] == "/"
    assert body["pools"][0]["session_persistence"] == {"type": "APP_COOKIE", "cookie_name": "c"}
    assert body["pools"][0]["members"][0]["tags"] == ["m"] and made["default_pool_id"] == body["pools"][0]["id"]
    for id in ids:
        world.ask("DELETE", f"/loadbalancers/{id}?cascade=true")
    assert [world.settled(id) for id in ids] == ["DELETED"] * 3

"""``evenkeel loadbalancer tree``."""

import json
from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

ID = "7c1e2b90-0000-0000-0000-000000000001"
GOOD = {"provisioning_status": "ACTIVE", "operating_status": "ONLINE"}


def test_each_object_has_a_line_below_its_parent(stub: Stub, evenkeel: Run) -> None:
    rule = {"id": "r", "type": "PATH", **GOOD}
    policy = {"id": "y", "name": "moved", "action": "REJECT", "redirect_pool_id": None, "rules": [rule], **GOOD}
    limit = {"id": "t", "name": "", "metric": "REQUESTS", "threshold": 50, "interval": 10, **GOOD}
    limits = [{"id": "z", "name": "slow", "action": "DENY", "rate_limit_rules": [limit], **GOOD}]
    below = {"default_pool_id": None, "rate_limit_policies": limits, "l7policies": [policy]}
    listener = {"id": "l", "name": "web", "enhanced_services": ["rate-limit"], **below, **GOOD}
    member = {"id": "m", "name": "", "address": "10.0.0.2", "protocol_port": 80, **GOOD}
    monitor = {"id": "h", "name": "alive", "type": "PING", **GOOD}
    pool = {"id": "g", "name": "servers", "members": [member], "health_monitor": monitor, **GOOD}
    tree: dict[str, Any] = {"id": ID, "name": "site", "status_reason": "no agent", **GOOD}
    stub.on("GET", f"/loadbalancers/{ID}/tree", {"tree": {**tree, "listeners": [listener], "pools": [pool]}})
    ran = evenkeel("loadbalancer", "tree", ID, "-f", "json")
    assert "no agent" in ran.err
    assert [(row["object"], row["name"]) for row in json.loads(ran.out)] == [
        ("load balancer", "site"),
        ("  listener", "web"),
        ("    L7 policy", "moved"),
        ("      L7 rule", "PATH"),
        ("    enhanced service", "rate-limit"),
        ("    rate limit policy", "slow"),
        ("      rate limit rule", "50 REQUESTS in 10 s"),
        ("  pool", "servers"),
        ("    member", "10.0.0.2:80"),
        ("    health monitor", "alive"),
    ]
    narrow = evenkeel("loadbalancer", "tree", ID).out
    assert "|     member 10.0.0.2:80 " in narrow and "|   listener web " in narrow

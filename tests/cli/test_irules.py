"""``evenkeel irule``"""

import json

from tests.cli.conftest import Run
from tests.cli.stub import Stub

LISTENER = "11111111-2222-4333-8444-555555555555"
SHOWN = {"listener": {"id": LISTENER, "loadbalancer_id": "lb", "irules": ["/Common/b", "/Common/a"]}}


def test_irules_are_shown_set_and_detached(stub: Stub, evenkeel: Run) -> None:
    path = f"/listeners/{LISTENER}/irules"
    stub.on("GET", path, SHOWN)
    stub.on("PUT", path, SHOWN)
    assert json.loads(evenkeel("irule", "show", LISTENER, "-f", "json").out)["irules"] == "/Common/b, /Common/a"
    assert evenkeel("irule", "set", LISTENER, "/Common/b", "/Common/a").code == 0
    assert evenkeel("irule", "set", LISTENER).code == 0
    assert [body for method, _, body in stub.asked if method == "PUT"] == [
        {"irules": ["/Common/b", "/Common/a"]},
        {"irules": []},
    ]

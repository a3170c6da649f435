"""No text of a server, an agent or a tenant controls an operator's terminal."""

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

ID = "7c1e2b90-0000-0000-0000-000000000001"
HOSTILE = "not applied \x1b]0;title\x07\x1b[2J\u202e\r\x9b2J"
STATUSES = {"provisioning_status": "ERROR", "operating_status": "ERROR"}


def check(text: str) -> None:
    assert "not applied \\x1b]0;title\\x07\\x1b[2J\\u202e\\r\\x9b2J" in text
    assert not any(control in text for control in "\x1b\x07\u202e\r\x9b")


def test_a_reason_beside_the_output_is_escaped(stub: Stub, evenkeel: Run) -> None:
    tree = {"id": ID, "name": "n", "status_reason": HOSTILE, "listeners": [], "pools": [], **STATUSES}
    stub.on("GET", f"/loadbalancers/{ID}/tree", {"tree": tree})
    check(evenkeel("loadbalancer", "tree", ID).err)


@pytest.mark.parametrize("words", [("loadbalancer", "tree", ID), ("explain", ID), ("agent", "list")])
def test_an_error_is_escaped(stub: Stub, evenkeel: Run, words: tuple[str, ...]) -> None:
    for path in (f"/loadbalancers/{ID}/tree", f"/loadbalancers/{ID}/agent", f"/loadbalancers/{ID}/hosting", "/agents"):
        stub.on("GET", path, {"faultcode": "Client", "faultstring": HOSTILE}, status=409)
    ran = evenkeel(*words)
    assert ran.code != 0
    check(ran.err)


def test_lines_stay_lines(stub: Stub, evenkeel: Run) -> None:
    ran = evenkeel()
    assert ran.err.count("\n") > 1
    assert "\\n" not in ran.err

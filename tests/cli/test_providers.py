"""What a provider can do, on the command line."""

import json
from typing import Any

from tests.cli.conftest import Run
from tests.cli.stub import Stub

TABLE: dict[str, Any] = {
    "provider": "gold metal",
    "device_driver": "bigip",
    "protocol_pairs": {"HTTP": ["HTTP"]},
    "lb_algorithms": ["ROUND_ROBIN", "SOURCE_IP"],
    "refused_values": {},
}


def test_the_table_of_a_provider_is_shown(stub: Stub, evenkeel: Run) -> None:
    path = "/v2.0/lbaas/providers/gold%20metal/capabilities"
    stub.on("GET", path, {"capabilities": TABLE}, base="")
    ran = evenkeel("provider", "capabilities", "gold metal", "-f", "json")
    assert ran.code == 0, ran.err
    shown = json.loads(ran.out)
    assert shown == TABLE
    assert stub.asked == [("GET", path, None)]


def test_no_provider_is_reported_with_the_controllers_reason(stub: Stub, evenkeel: Run) -> None:
    path = "/v2.0/lbaas/providers/nobody/capabilities"
    stub.on("GET", path, {"faultstring": "Provider 'nobody' is not enabled."}, status=400, base="")
    ran = evenkeel("provider", "capabilities", "nobody")
    assert ran.code == 1 and "'nobody' is not enabled" in ran.err
    assert evenkeel("provider", "capabilities").code == 2

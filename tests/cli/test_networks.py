"""``evenkeel network`` and ``evenkeel subnet set``."""

import json

from tests.cli.conftest import Run
from tests.cli.stub import Stub

BLUE = {
    "id": "n1",
    "name": "blue",
    "network_type": "vlan",
    "physical_network": "physnet",
    "segmentation_id": 101,
    "mtu": None,
    "project_id": None,
    "shared": False,
    "external": False,
    "vteps": [],
}


def test_a_network_is_created_with_what_was_said_only(stub: Stub, evenkeel: Run) -> None:
    stub.on("POST", "/networks", {"network": BLUE}, status=201)
    ran = evenkeel(
        "network", "create", "blue", "--type", "vlan", "--segment", "101", "--physical-network", "physnet", "--shared"
    )
    assert ran.code == 0
    body = {"name": "blue", "network_type": "vlan", "segmentation_id": 101, "physical_network": "physnet"}
    assert stub.asked[0][2] == {"network": body | {"shared": True}}


def test_networks_are_listed_and_shown_by_name(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/networks", {"networks": [BLUE]})
    stub.on("GET", "/networks/n1", {"network": BLUE})
    (row,) = json.loads(evenkeel("network", "list", "-f", "json").out)
    assert (row["name"], row["segmentation_id"]) == ("blue", 101)
    assert json.loads(evenkeel("network", "show", "blue", "-f", "json").out)["physical_network"] == "physnet"
    assert evenkeel("network", "show", "green").code == 1


def test_a_network_is_changed_and_deleted(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/networks", {"networks": [BLUE]})
    stub.on("PUT", "/networks/n1", {"network": BLUE})
    stub.on("DELETE", "/networks/n1", status=204)
    assert evenkeel("network", "set", "blue", "--segment", "105", "--vtep", "192.0.2.1", "--no-shared").code == 0
    assert stub.asked[-1][2] == {"network": {"segmentation_id": 105, "vteps": ["192.0.2.1"], "shared": False}}
    assert evenkeel("network", "delete", "blue").code == 0


def test_addresses_for_devices_are_set(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/subnets", {"subnets": [{"id": "s1", "name": "web"}]})
    stub.on("PUT", "/subnets/s1", {"subnet": {"id": "s1", "name": "web"}})
    words = ("--device-addresses", "10.0.0.2", "--device-addresses", "10.0.0.4-10.0.0.9")
    assert evenkeel("subnet", "set", "web", *words).code == 0
    assert stub.asked[-1][2] == {"subnet": {"device_addresses": ["10.0.0.2", "10.0.0.4-10.0.0.9"]}}

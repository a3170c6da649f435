import json
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.stub import Stub

ID = "5a7da699-e093-4046-91ac-a5371622eb21"
WEB: dict[str, Any] = {
    "id": ID,
    "name": "web",
    "project_id": "p",
    "vip_address": "192.0.2.7",
    "provisioning_status": "ACTIVE",
    "operating_status": "ONLINE",
    "provider": "prod",
    "tags": ["blue", "green"],
    "listeners": [{"id": "l"}],
}


def test_list_of_all_projects_is_filtered_by_the_server(stub: Stub, evenkeel: Run) -> None:
    path = "/loadbalancers?project_id=p&provisioning_status=ACTIVE&limit=1000"
    stub.on("GET", path, {"loadbalancers": [WEB]}, base="/v2/lbaas")
    ran = evenkeel("loadbalancer", "list", "--project", "p", "--status", "ACTIVE", "-f", "json")
    assert ran.code == 0, ran.err
    (row,) = json.loads(ran.out)
    assert (row["id"], row["name"], row["provider"]) == (ID, "web", "prod")


@pytest.mark.parametrize("name", [ID, "web"])
def test_one_is_shown_by_id_or_name_and_json_is_json(name: str, stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/loadbalancers?name=web&fields=id", {"loadbalancers": [{"id": ID}]}, base="/v2/lbaas")
    stub.on("GET", f"/loadbalancers/{ID}", {"loadbalancer": WEB}, base="/v2/lbaas")
    assert json.loads(evenkeel("loadbalancer", "show", name, "-f", "json").out) == WEB
    assert "- id: l" in evenkeel("loadbalancer", "show", name, "-f", "yaml").out
    assert "blue, green" in evenkeel("loadbalancer", "show", name).out
    assert evenkeel("loadbalancer", "show", name, "-f", "value", "-c", "tags").out == "blue, green\n"
    assert 'listeners="[{\\"id\\": \\"l\\"}]"' in evenkeel("loadbalancer", "show", name, "-f", "shell").out


@pytest.mark.parametrize(
    ("found", "told"), [([], "no load balancer has the id or name"), ([{}, {}], "2 load balancers")]
)
def test_a_name_that_is_not_one(found: list[Any], told: str, stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/loadbalancers?name=web&fields=id", {"loadbalancers": found}, base="/v2/lbaas")
    ran = evenkeel("explain", "web")
    assert ran.code == 1 and told in ran.err


def test_shards_are_listed_with_names(stub: Stub, evenkeel: Run) -> None:
    shard = {"id": "s", "environment": "prod", "group_number": 1, "project_id": "p", "epoch": 4, "served": True}
    shard |= {"home_agent_id": "a1", "acting_agent_id": None, "halted": "", "handover_to": None}
    stub.on("GET", "/shards?environment=prod", {"shards": [shard]})
    stub.on("GET", "/agents", {"agents": [{"id": "a1", "host": "net-1"}]})
    ran = evenkeel("shard", "list", "--environment", "prod", "-f", "json")
    (row,) = json.loads(ran.out)
    assert (row["home"], row["owner"], row["epoch"]) == ("net-1", "", 4)

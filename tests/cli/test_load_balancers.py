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
    ("typed", "told"),
    [
        ("websit", "name 'websit'; did you mean website?"),
        ("SITE", "did you mean website, old-site?"),
        ("zzz", "name 'zzz'"),
        ("c0f", "name 'c0f'; the beginning of an id has 4 characters or more"),
    ],
)
def test_a_name_that_none_has_is_answered_with_those_like_it(typed: str, told: str, stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", f"/loadbalancers?name={typed}&fields=id", {"loadbalancers": []}, base="/v2/lbaas")
    rows = [{"id": ID, "name": name} for name in ("website", "", "old-site", "mail")]
    stub.on("GET", "/loadbalancers?fields=id&fields=name&limit=1000", {"loadbalancers": rows}, base="/v2/lbaas")
    ran = evenkeel("explain", typed)
    assert ran.code == 1 and ran.err.endswith(f"{told}\n")


def test_a_name_that_several_have_is_answered_with_the_candidates(stub: Stub, evenkeel: Run) -> None:
    other = WEB | {"id": "b" + ID[1:], "vip_address": "192.0.2.8"}
    stub.on("GET", "/loadbalancers?name=web&fields=id", {"loadbalancers": [WEB, other]}, base="/v2/lbaas")
    stub.on("GET", "/loadbalancers?name=web&limit=10", {"loadbalancers": [WEB, other]}, base="/v2/lbaas")
    ran = evenkeel("explain", "web")
    assert ran.code == 1 and "2 load balancers have the name 'web'" in ran.err
    assert f"\n  {other['id']}  192.0.2.8  project p  ACTIVE\n" in ran.err


@pytest.mark.parametrize("words", [("--status", "BROKEN"), ("--operating-status", "UP")])
def test_a_status_that_does_not_exist_is_an_error_that_names_those_that_do(
    words: tuple[str, ...], stub: Stub, evenkeel: Run
) -> None:
    ran = evenkeel("loadbalancer", "list", *words)
    assert ran.code == 2 and f"invalid choice: '{words[1]}'" in ran.err and "'ERROR'" in ran.err
    assert not stub.asked


def test_a_status_may_be_typed_in_small_letters(stub: Stub, evenkeel: Run) -> None:
    stub.on("GET", "/loadbalancers?provisioning_status=ERROR&limit=1000", {"loadbalancers": []}, base="/v2/lbaas")
    assert evenkeel("loadbalancer", "list", "--status", "error").code == 0


def test_an_environment_that_does_not_exist_is_an_error_that_names_those_that_do(stub: Stub, evenkeel: Run) -> None:
    for name in ("prd", "prod"):
        stub.on("GET", f"/loadbalancers?provider={name}&limit=1000", {"loadbalancers": []}, base="/v2/lbaas")
    stub.on("GET", "/environments", {"environments": [{"name": "prod"}, {"name": "gold"}]})
    ran = evenkeel("loadbalancer", "list", "--environment", "prd")
    assert ran.code == 1
    assert ran.err == "no environment has the name 'prd'; there are: prod, gold\n"
    assert evenkeel("loadbalancer", "list", "--environment", "prod").code == 0


def test_shards_are_listed_with_names(stub: Stub, evenkeel: Run) -> None:
    shard = {"id": "s", "environment": "prod", "group_number": 1, "project_id": "p", "epoch": 4, "served": True}
    shard |= {"home_agent_id": "a1", "acting_agent_id": None, "halted": "", "handover_to": None}
    stub.on("GET", "/shards?environment=prod", {"shards": [shard]})
    stub.on("GET", "/agents", {"agents": [{"id": "a1", "host": "net-1"}]})
    ran = evenkeel("shard", "list", "--environment", "prod", "-f", "json")
    (row,) = json.loads(ran.out)
    assert (row["home"], row["owner"], row["epoch"]) == ("net-1", "", 4)

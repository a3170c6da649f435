"""Documents of LBaaS v2: from its API and from its database, with what F5's agent and driver added."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from evenkeel.cli.moving_in.foreign import ForeignLoadBalancer, InvalidSourceData
from evenkeel.cli.moving_in.lbaas_v2 import LbaasDocuments, convert_load_balancers
from tests.cli.conftest import Run
from tests.cli.stub import Stub

LB, LISTENER, POOL, MEMBER, MONITOR, POLICY, RULE = (f"{at:08x}-0000-4000-8000-000000000000" for at in range(1, 8))

API: dict[str, Any] = {
    "loadbalancers": [
        {
            "id": LB,
            "tenant_id": "p1",
            "name": "web",
            "description": "a site",
            "vip_subnet_id": "sub-1",
            "vip_address": "10.0.0.9",
            "vip_port_id": "port-1",
            "admin_state_up": True,
            "provider": "f5networks",
            "provisioning_status": "ACTIVE",
            "operating_status": "ONLINE",
            "listeners": [{"id": LISTENER}],
            "pools": [{"id": POOL}],
        }
    ],
    "listeners": [
        {
            "id": LISTENER,
            "tenant_id": "p1",
            "name": "l",
            "description": "",
            "protocol": "TERMINATED_HTTPS",
            "protocol_port": 443,
            "connection_limit": -1,
            "default_pool_id": POOL,
            "default_tls_container_ref": "https://keys/v1/containers/c-1",
            "sni_container_refs": ["https://keys/v1/containers/c-2"],
            "admin_state_up": True,
            "loadbalancers": [{"id": LB}],
            "l7policies": [{"id": POLICY}],
        }
    ],
    "pools": [
        {
            "id": POOL,
            "tenant_id": "p1",
            "name": "",
            "description": "",
            "protocol": "HTTP",
            "lb_algorithm": "LEAST_CONNECTIONS",
            "session_persistence": {"type": "APP_COOKIE", "cookie_name": "sid"},
            "admin_state_up": True,
            "healthmonitor_id": MONITOR,
            "members": [{"id": MEMBER}],
            "listeners": [{"id": LISTENER}],
            "loadbalancers": [{"id": LB}],
        }
    ],
    "members": [
        {
            "id": MEMBER,
            "tenant_id": "p1",
            "name": "m",
            "address": "10.0.0.20",
            "protocol_port": 8080,
            "weight": 3,
            "subnet_id": "sub-1",
            "admin_state_up": False,
        }
    ],
    "healthmonitors": [
        {
            "id": MONITOR,
            "tenant_id": "p1",
            "name": "",
            "type": "HTTP",
            "delay": 5,
            "timeout": 3,
            "max_retries": 2,
            "http_method": "GET",
            "url_path": "/up",
            "expected_codes": "200-204",
            "admin_state_up": True,
            "pools": [{"id": POOL}],
        }
    ],
    "l7policies": [
        {
            "id": POLICY,
            "tenant_id": "p1",
            "name": "to-pool",
            "description": "",
            "listener_id": LISTENER,
            "action": "REDIRECT_TO_POOL",
            "redirect_pool_id": POOL,
            "redirect_url": None,
            "position": 1,
            "admin_state_up": True,
            "rules": [{"id": RULE}],
        }
    ],
    "rules": [
        {
            "id": RULE,
            "tenant_id": "p1",
            "type": "PATH",
            "compare_type": "STARTS_WITH",
            "key": None,
            "value": "/api",
            "invert": False,
            "admin_state_up": True,
        }
    ],
}


def whole(*documents: Any, **options: Any) -> ForeignLoadBalancer:
    """The only load balancer."""
    made = LbaasDocuments()
    for document in documents:
        made.add(document, "file")
    (found,) = convert_load_balancers(made, **options)
    return found


def changed(kind: str, **attributes: Any) -> dict[str, Any]:
    document = copy.deepcopy(API)
    document[kind][0] |= attributes
    return document


def test_tree_of_the_apis_lists_has_all_attributes_and_ids() -> None:
    found = whole(API)
    assert (found.id, found.name, found.project_id, found.provider, found.lost) == (LB, "web", "p1", "f5networks", ())
    assert found.body == {
        "project_id": "p1",
        "name": "web",
        "description": "a site",
        "admin_state_up": True,
        "vip_address": "10.0.0.9",
        "vip_subnet_id": "sub-1",
        "vip_port_id": "port-1",
        "listeners": [
            {
                "id": LISTENER,
                "name": "l",
                "description": "",
                "admin_state_up": True,
                "protocol": "TERMINATED_HTTPS",
                "protocol_port": 443,
                "connection_limit": -1,
                "default_pool_id": POOL,
                "default_tls_container_ref": "https://keys/v1/containers/c-1",
                "sni_container_refs": ["https://keys/v1/containers/c-2"],
                "l7policies": [
                    {
                        "id": POLICY,
                        "name": "to-pool",
                        "description": "",
                        "admin_state_up": True,
                        "action": "REDIRECT_TO_POOL",
                        "position": 1,
                        "redirect_pool_id": POOL,
                        "rules": [
                            {
                                "id": RULE,
                                "admin_state_up": True,
                                "type": "PATH",
                                "compare_type": "STARTS_WITH",
                                "value": "/api",
                                "invert": False,
                            }
                        ],
                    }
                ],
            }
        ],
        "pools": [
            {
                "id": POOL,
                "name": "",
                "description": "",
                "admin_state_up": True,
                "protocol": "HTTP",
                "lb_algorithm": "LEAST_CONNECTIONS",
                "session_persistence": {"type": "APP_COOKIE", "cookie_name": "sid"},
                "members": [
                    {
                        "id": MEMBER,
                        "name": "m",
                        "admin_state_up": False,
                        "address": "10.0.0.20",
                        "protocol_port": 8080,
                        "weight": 3,
                        "subnet_id": "sub-1",
                    }
                ],
                "healthmonitor": {
                    "id": MONITOR,
                    "name": "",
                    "admin_state_up": True,
                    "type": "HTTP",
                    "delay": 5,
                    "timeout": 3,
                    "max_retries": 2,
                    "http_method": "GET",
                    "url_path": "/up",
                    "expected_codes": "200-204",
                },
            }
        ],
    }


def test_rows_of_the_database_make_the_same_tree_as_the_api() -> None:
    def row(kind: str, *without: str, **more: Any) -> dict[str, Any]:
        found = {name: value for name, value in API[kind][0].items() if name not in ("tenant_id", *without)}
        numbers = {name: int(value) for name, value in found.items() if isinstance(value, bool)}
        return {**found, **numbers, "project_id": "p1", **more}

    refs = ("default_tls_container_ref", "sni_container_refs", "loadbalancers", "l7policies")
    database = {
        "lbaas_loadbalancers": [row("loadbalancers", "listeners", "pools", "provider")],
        "lbaas_listeners": [
            row("listeners", *refs, loadbalancer_id=LB, default_tls_container_id="https://keys/v1/containers/c-1")
        ],
        "lbaas_pools": [
            row("pools", "session_persistence", "members", "listeners", "loadbalancers", loadbalancer_id=LB)
        ],
        "lbaas_members": [row("members", pool_id=POOL)],
        "lbaas_healthmonitors": [row("healthmonitors", "pools")],
        "lbaas_l7policies": [row("l7policies", "rules")],
        "lbaas_l7rules": [row("rules", l7policy_id=POLICY)],
        "lbaas_sessionpersistences": [{"pool_id": POOL, "type": "APP_COOKIE", "cookie_name": "sid"}],
        "lbaas_sni": [{"listener_id": LISTENER, "tls_container_id": "https://keys/v1/containers/c-2", "position": 0}],
        "providerresourceassociations": [{"resource_id": LB, "provider_name": "f5networks"}],
    }
    assert whole(database) == whole(API)
    # in any distribution over files
    assert whole(*({name: rows} for name, rows in database.items())) == whole(API)


def test_f5s_extensions_are_carried_over_or_named() -> None:
    document = changed(
        "listeners",
        mutual_authentication_up=True,
        ca_container_id="https://keys/v1/containers/ca",
        tls_protocols="TLS1.2,TLS1.3",
        http2=True,
        transparent=True,
        redirect_up=False,
        keepalive_timeout=-1,
        cipher_suites="ECDHE",
    )
    document["loadbalancers"][0] |= {"bandwidth": 10, "flavor": 3, "max_concurrency": None}
    found = whole(document)
    listener = found.body["listeners"][0]
    assert listener["client_authentication"] == "MANDATORY"
    assert listener["client_ca_tls_container_ref"] == "https://keys/v1/containers/ca"
    assert listener["tls_versions"] == ["TLSv1.2", "TLSv1.3"] and listener["alpn_protocols"] == ["h2", "http/1.1"]
    assert tuple(map(str, found.lost)) == (
        f"load balancer {LB}: bandwidth 10",
        f"load balancer {LB}: flavor 3",
        f"listener {LISTENER}: cipher_suites ECDHE",
        f"listener {LISTENER}: transparent True",
    )


@pytest.mark.parametrize(
    ("given", "option", "seconds"), [(None, None, None), (None, 1800, 1800), (60, 1800, 60), ("90", None, 90)]
)
def test_persistence_of_source_addresses_keeps_its_time_out(given: Any, option: int | None, seconds: Any) -> None:
    document = changed("pools", session_persistence={"type": "SOURCE_IP", "persistence_timeout": given})
    persistence = whole(document, persistence_seconds=option).body["pools"][0]["session_persistence"]
    assert persistence.get("persistence_timeout") == seconds


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "a JSON object is needed"),
        ({"statuses": {}}, "a status tree has neither"),
        ({"vips": []}, "has none of"),
        ({"pools": {}}, "pools: a list of objects"),
        ({"pools": [{"name": "x"}]}, "an object has no id"),
        ({**API, "members": []}, f"member {MEMBER}, to which {POOL} refers, is in no document"),
        ({**API, "healthmonitors": []}, f"health monitor {MONITOR}, to which {POOL} refers"),
        ({"loadbalancers": [{"id": LB}]}, "has no project_id"),
    ],
)
def test_document_that_is_not_complete_is_refused_with_the_place(document: Any, words: str) -> None:
    with pytest.raises(InvalidSourceData) as refusal:
        whole(document)
    assert words in str(refusal.value)


def file_of(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def test_import_plans_first_and_shows_what_is_lost(stub: Stub, evenkeel: Run, tmp_path: Path) -> None:
    path = file_of(tmp_path / "lbaas.json", changed("listeners", transparent=True))
    outcomes: list[Any] = [
        {"import": {"id": LB, "outcome": each, "differences": []}} for each in ("new", "imported", "present")
    ]
    stub.on("PUT", f"/imports/loadbalancers/{LB}", *outcomes)
    ran = evenkeel("import", "lbaas", path, "--environment", "gold")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"new      {LB} web",
        f"  not carried over: listener {LISTENER}: transparent True",
        "1 load balancer: 1 new",
        "nothing is stored yet: --yes imports them",
    ]
    assert (
        evenkeel("import", "lbaas", path, "--environment", "gold", "--yes").out.splitlines()[0].startswith("imported")
    )
    assert evenkeel("import", "lbaas", path, "--environment", "gold", "--yes").out.splitlines() == [
        f"present  {LB} web",
        "1 load balancer: 1 present",
    ]
    bodies = [body for method, _, body in stub.asked if method == "PUT"]
    assert [body["apply"] for body in bodies] == [False, True, True]
    assert bodies[0]["loadbalancer"]["provider"] == "gold"


def test_refused_and_differing_load_balancers_are_named_and_the_others_imported(
    stub: Stub, evenkeel: Run, tmp_path: Path
) -> None:
    other, third = (LB.replace("00000001", f"0000000{at}") for at in "ab")
    document = copy.deepcopy(API)
    bare = {"tenant_id": "p2", "vip_address": "10.0.0.8", "vip_subnet_id": "s", "vip_port_id": "p", "provider": "x"}
    document["loadbalancers"] += [{"id": other, **bare}, {"id": third, **bare}]
    path = file_of(tmp_path / "lbaas.json", document)
    stub.on("PUT", f"/imports/loadbalancers/{LB}", {"faultstring": "vip_port_id: none"}, status=400)
    stub.on(
        "PUT",
        f"/imports/loadbalancers/{other}",
        {"import": {"id": other, "outcome": "differs", "differences": ["name"]}},
    )
    stub.on("PUT", f"/imports/loadbalancers/{third}", {"import": {"id": third, "outcome": "new", "differences": []}})
    ran = evenkeel("import", "lbaas", path, "--environment", "gold")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        f"refused  {LB} web",
        "  because: vip_port_id: none",
        f"differs  {other}",
        "  differs: name",
        f"new      {third}",
        "3 load balancers: 1 differs, 1 new, 1 refused",
        "nothing is stored yet: --yes imports them",
    ]
    shown = json.loads(evenkeel("import", "lbaas", path, "--environment", "gold", "--project", "p1", "--json").out)
    assert [(row["id"], row["outcome"]) for row in shown["loadbalancers"]] == [(LB, "refused")]
    assert "0 load balancers" in evenkeel("import", "lbaas", path, "--environment", "gold", "--provider", "none").out


@pytest.mark.parametrize(
    ("content", "words"), [("{", "is not JSON"), ("[]", "a JSON object is needed"), (None, "No such")]
)
def test_file_that_cannot_be_used_is_a_usage_error(
    stub: Stub, evenkeel: Run, tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "lbaas.json"
    if content is not None:
        path.write_text(content)
    ran = evenkeel("import", "lbaas", str(path), "--environment", "gold")
    assert ran.code == 2 and words in ran.err and not stub.asked

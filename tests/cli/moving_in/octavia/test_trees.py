"""Trees in the form of our import API, of what an Octavia shows."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from evenkeel.api.usecases.mirror_requests import ImportedLoadBalancer
from evenkeel.cli.moving_in.foreign import ForeignLoadBalancer
from evenkeel.cli.moving_in.octavia.source import LoadBalancerFilter, OctaviaApi
from evenkeel.cli.moving_in.octavia.trees import CatalogueReplacements, EntryReplacement, convert_load_balancers
from tests.cli.moving_in.octavia.recorded import (
    FLAVOR,
    HTTP,
    HTTP_POOL,
    LB,
    MEMBER,
    TCP,
    TLS,
    RecordedOctavia,
    uid,
)

OURS = CatalogueReplacements(
    flavor=lambda _: EntryReplacement("our-flavor"), availability_zone=lambda _: EntryReplacement("our-zone")
)
NONE = CatalogueReplacements(
    flavor=lambda _: EntryReplacement(reason="none"), availability_zone=lambda _: EntryReplacement(reason="none")
)
Make = Callable[..., ForeignLoadBalancer]


@pytest.fixture
def made(api: OctaviaApi) -> Make:
    """The only load balancer."""

    def make(choices: CatalogueReplacements = OURS) -> ForeignLoadBalancer:
        (found,) = convert_load_balancers(api.read(LoadBalancerFilter()), choices)
        return found

    return make


def by_id(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows}


def test_load_balancer_keeps_its_vips_and_its_attributes(made: Make) -> None:
    found = made()
    assert (found.id, found.name, found.project_id, found.provider) == (LB, "w", "p1", "amphora")
    assert (found.lost, found.remarks, found.not_importable_reason) == ((), (), "")
    root = {name: value for name, value in found.body.items() if name not in ("listeners", "pools")}
    assert root == {
        "project_id": "p1",
        "name": "w",
        "description": "",
        "admin_state_up": True,
        "tags": ["a"],
        "vip_address": "10.0.0.9",
        "vip_subnet_id": "0d1e2f3a-0000-4000-8000-00000000000a",
        "vip_network_id": "1a29fe79-be1e-4058-9ae9-16c7565e7266",
        "vip_port_id": "f8c1aa79-87cf-4e17-8f51-6ccda1d1c34c",
        "vip_sg_ids": [],
        "additional_vips": [{"subnet_id": "0d1e2f3a-0000-4000-8000-00000000000b", "ip_address": "10.1.0.10"}],
        "flavor_id": "our-flavor",
    }


def test_whole_tree_is_one_that_the_import_api_takes(made: Make) -> None:
    decoded = msgspec.convert({**made().body, "provider": "gold"}, ImportedLoadBalancer)
    assert decoded.listeners is not None and len(decoded.listeners) == 4


def test_listeners_keep_tls_policies_in_their_order_and_pools(made: Make) -> None:
    listeners = by_id(made().body["listeners"])
    assert listeners[TLS]["sni_container_refs"] == ["http://k/v1/containers/bbb"]
    assert listeners[TLS]["hsts_max_age"] == 100 and listeners[TLS]["alpn_protocols"] == ["h2", "http/1.1", "http/1.0"]
    assert "tls_versions" not in listeners[TCP]  # null is the default
    assert listeners[HTTP]["allowed_cidrs"] == ["10.0.0.0/8"]
    assert listeners[HTTP]["insert_headers"] == {"X-Forwarded-For": "true"}
    assert listeners[HTTP]["default_pool_id"] == HTTP_POOL
    policies = listeners[HTTP]["l7policies"]
    assert [(each["action"], each["position"]) for each in policies] == [("REJECT", 1), ("REDIRECT_TO_URL", 2)]
    (rule,) = policies[1]["rules"]
    assert (rule["key"], rule["value"], rule["invert"]) == ("X-A", "1", True)


def test_pools_keep_members_persistence_and_monitors(made: Make) -> None:
    pool = by_id(made().body["pools"])[HTTP_POOL]
    assert pool["session_persistence"] == {"type": "SOURCE_IP"}
    assert pool["members"] == [
        {
            "id": MEMBER,
            "name": "",
            "admin_state_up": True,
            "tags": ["x"],
            "address": "10.0.1.1",
            "protocol_port": 80,
            "weight": 0,
            "backup": True,
            "monitor_address": "10.0.1.9",
            "monitor_port": 81,
        }
    ]
    assert (pool["healthmonitor"]["http_version"], pool["healthmonitor"]["domain_name"]) == (1.1, "a.example")


def test_flavors_and_zones_without_an_equal_are_lost_with_the_reason(made: Make, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0]["availability_zone"] = "east"
    found = made(NONE)
    assert "flavor_id" not in found.body and "availability_zone" not in found.body
    assert [str(each) for each in found.lost] == [
        f"load balancer {LB}: flavor_id {FLAVOR} (none)",
        f"load balancer {LB}: availability_zone east (none)",
    ]
    assert made(OURS).body["availability_zone"] == "our-zone"


def test_attribute_of_another_release_is_lost_if_it_has_an_effect(made: Make, octavia: RecordedOctavia) -> None:
    octavia.rows("/listeners")[0] |= {"of_tomorrow": "yes", "without_effect": None}
    octavia.rows(f"/pools/{HTTP_POOL}/members")[0]["speed"] = 9
    lost = made().lost
    assert [(each.kind, each.id, each.attribute, each.value) for each in lost] == [
        ("listener", TCP, "of_tomorrow", "yes"),
        ("member", MEMBER, "speed", 9),
    ]


def test_ports_of_sriov_are_requested_again(made: Make, octavia: RecordedOctavia) -> None:
    octavia.rows(f"/pools/{HTTP_POOL}/members")[0]["vnic_type"] = "direct"
    octavia.rows("/loadbalancers")[0]["vip_vnic_type"] = "direct"
    assert by_id(made().body["pools"])[HTTP_POOL]["members"][0]["request_sriov"] is True
    assert [each.attribute for each in made(NONE).lost] == ["flavor_id", "vip_vnic_type"]
    assert made(OURS).lost == ()


@pytest.mark.parametrize("status", ["PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "DELETED"])
@pytest.mark.parametrize(
    "path",
    [
        *("/loadbalancers", "/listeners", "/pools", "/healthmonitors", "/l7policies"),
        *(f"/pools/{HTTP_POOL}/members", f"/l7policies/{uid('e')}/rules"),
    ],
)
def test_load_balancer_that_the_source_is_changing_is_unfit(
    made: Make, octavia: RecordedOctavia, path: str, status: str
) -> None:
    row = octavia.rows(path)[0]
    row["provisioning_status"] = status
    found = made()
    assert found.body == {} and row["id"] in found.not_importable_reason
    assert status in found.not_importable_reason or "deleted" in found.not_importable_reason


def test_load_balancer_in_error_is_imported_with_a_remark(made: Make, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0]["provisioning_status"] = "ERROR"
    octavia.rows("/pools")[0]["provisioning_status"] = "ERROR"
    found = made()
    assert (found.not_importable_reason, len(found.body["pools"])) == ("", 3)
    assert found.remarks == ("it is ERROR at the source, whose amphorae may serve something else",)


@pytest.mark.parametrize("name", ["vip_address", "vip_subnet_id", "project_id"])
def test_load_balancer_that_is_not_complete_is_unfit(made: Make, octavia: RecordedOctavia, name: str) -> None:
    octavia.rows("/loadbalancers")[0][name] = None
    assert made().not_importable_reason == f"the source shows no {name} of it"


def test_load_balancer_whose_objects_do_not_fit_together_is_unfit(made: Make, octavia: RecordedOctavia) -> None:
    members = octavia.rows(f"/pools/{HTTP_POOL}/members")
    members.append({**members[0], "id": uid("1", 5)})
    assert "members of pool" in made().not_importable_reason
    members.pop()
    octavia.rows("/healthmonitors").clear()
    assert "the source does not show health monitor" in made().not_importable_reason


def test_malformed_attributes_are_left_to_our_api(made: Make, octavia: RecordedOctavia) -> None:
    octavia.rows("/loadbalancers")[0] |= {"additional_vips": ["x"], "tags": None}
    octavia.rows("/pools")[1]["session_persistence"] = "SOURCE_IP"
    found = made()
    assert found.body["additional_vips"] == ["x"] and found.body["pools"][1]["session_persistence"] == "SOURCE_IP"

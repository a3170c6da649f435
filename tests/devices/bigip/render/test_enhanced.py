"""Enhanced services on virtual servers: tag by tag, by protocol, and what contradicts the listener."""

from typing import Any

import pytest

from evenkeel.config.esd.definition import Definition
from evenkeel.core.devices.service import ServiceCertificate
from evenkeel.core.resources.enhanced_services import PER_LISTENER_MAX
from evenkeel.core.resources.model import SessionPersistence
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import RenderedObjects
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from tests.devices.services import listener, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"


def esd(
    name: str = "web", types: dict[str, str] | None = None, problem: str = "", **tags: str | list[str]
) -> Definition:
    """A definition of ``lbaas_<tag>``: one object, a list of them, or an empty text for none."""
    paths = {
        f"lbaas_{tag}": tuple(f"/Common/{one}" for one in ([value] if isinstance(value, str) else value) if one)
        for tag, value in tags.items()
    }
    return Definition(name=name, file="a.json", tags=paths, types=types or {}, problem=problem)


def rendered(*definitions: Definition, pool_changes: dict[str, Any] | None = None, **changes: Any) -> RenderedObjects:
    names = tuple(one.name for one in definitions)
    one = service(
        members=1,
        listeners=(listener(enhanced_services=names, **changes),),
        pools=(pool(members=1, **(pool_changes or {})),),
    )
    return render_load_balancer(one, NAMES, enhanced={definition.name: definition for definition in definitions})


def objects(*definitions: Definition, **changes: Any) -> dict[str, dict[str, Any]]:
    found = rendered(*definitions, **changes)
    assert not found.problem
    return {f"{item.key.type} {item.key.name}": dict(item.attributes) for item in found.objects}


def virtual(*definitions: Definition, **changes: Any) -> dict[str, Any]:
    return objects(*definitions, **changes)["ltm/virtual dev_listener-1"]


def profiles(*definitions: Definition, **changes: Any) -> dict[str, str]:
    return {one["name"]: one["context"] for one in virtual(*definitions, **changes)["profiles"]}


HTTP_USUAL = {"/Common/http": "all", "/Common/tcp": "all", "/Common/oneconnect": "all"}
TCP: dict[str, Any] = {"protocol": "TCP", "pool_changes": {"protocol": "TCP"}}
HTTPS: dict[str, Any] = {"protocol": "HTTPS", "pool_changes": {"protocol": "HTTPS"}}


def test_a_service_without_tags_changes_nothing() -> None:
    assert profiles(esd()) == HTTP_USUAL
    assert virtual(esd()) == virtual()


def test_without_enhanced_services_what_they_set_is_empty() -> None:
    found = virtual()
    assert (found["policies"], found["fallbackPersistence"]) == ([], "")


# -- profiles


def test_a_client_profile_alone_is_for_both_sides() -> None:
    assert profiles(esd(ctcp="tcp-wan")) == {
        "/Common/http": "all",
        "/Common/oneconnect": "all",
        "/Common/tcp-wan": "all",
    }


def test_a_server_profile_alone_leaves_the_clients_the_usual_one() -> None:
    found = profiles(esd(stcp="tcp-lan"))
    assert (found["/Common/tcp"], found["/Common/tcp-lan"]) == ("clientside", "serverside")


def test_both_tcp_profiles_have_their_sides() -> None:
    found = profiles(esd(ctcp="tcp-wan", stcp="tcp-lan"))
    assert (found["/Common/tcp-wan"], found["/Common/tcp-lan"]) == ("clientside", "serverside")
    assert "/Common/tcp" not in found


@pytest.mark.parametrize(
    "tags", [{"ctcp": "tcp-wan"}, {"stcp": "tcp-lan"}, {"irule": ["r"]}, {"policy": ["p"]}, {"cssl_profile": "c"}]
)
def test_enhanced_service_that_reads_the_stream_replaces_fast_l4(tags: dict[str, Any]) -> None:
    assert "/Common/fastL4" in profiles(**TCP)
    assert "/Common/fastL4" not in profiles(esd(**tags), **TCP)


def test_an_empty_fast_l4_makes_a_full_proxy() -> None:
    assert profiles(esd(fastl4=""), **TCP) == {"/Common/tcp": "all"}


def test_another_fast_l4_profile_stays_fast() -> None:
    assert profiles(esd(fastl4="fastL4-loose"), **TCP) == {"/Common/fastL4-loose": "all"}
    assert profiles(esd(fastl4="fastL4-loose")) == HTTP_USUAL


def test_time_outs_of_a_fast_l4_listener_move_to_its_tcp_profile() -> None:
    found = objects(esd(irule=["r"]), timeout_client_data=120_000, **TCP)
    assert found["ltm/profile/tcp dev_tcp_listener-1"] == {
        "defaultsFrom": "/Common/tcp",
        "idleTimeout": "120",
        "description": "evenkeel:dev/1:tcp:lb-1:listener-1",
    }
    assert not any(key.startswith("ltm/profile/fastl4") for key in found)
    assert found["ltm/virtual dev_listener-1"]["profiles"] == [{"name": f"{PART}/dev_tcp_listener-1", "context": "all"}]


def test_an_http_profile_replaces_the_built_in_one() -> None:
    assert "/Common/http" not in profiles(esd(http_profile="http-x"))
    assert profiles(esd(http_profile="http-x"))["/Common/http-x"] == "all"


def test_the_listeners_own_http_profile_inherits_from_the_operators() -> None:
    headers = {"X-Forwarded-For": "true"}
    found = objects(esd(http_profile="http-x"), insert_headers=headers)
    ((key, own),) = ((key, value) for key, value in found.items() if key.startswith("ltm/profile/http "))
    assert own["defaultsFrom"] == "/Common/http-x"
    assert own["insertXforwardedFor"] == "enabled"
    assert key.endswith("_listener-1")
    assert key != "ltm/profile/http dev_http_listener-1"  # a device may not change a profile's parent in place
    names = [one["name"] for one in found["ltm/virtual dev_listener-1"]["profiles"]]
    assert f"{PART}/{key.split()[1]}" in names


def test_a_tcp_listener_may_get_http() -> None:
    found = profiles(esd(http_profile="http-x", oneconnect_profile="oc", http_compression="zip"), **TCP)
    assert found == {"/Common/tcp": "all", "/Common/http-x": "all", "/Common/oc": "all", "/Common/zip": "all"}


def test_one_connect_is_replaced_or_removed() -> None:
    assert "/Common/oneconnect" not in profiles(esd(oneconnect_profile="oc"))
    assert profiles(esd(oneconnect_profile="")) == {"/Common/http": "all", "/Common/tcp": "all"}


def test_tls_profiles_have_their_sides() -> None:
    found = profiles(esd(cssl_profile="c", sssl_profile="s"))
    assert (found["/Common/c"], found["/Common/s"]) == ("clientside", "serverside")
    assert profiles(esd(cssl_profile="c", sssl_profile="s"), **HTTPS) == {
        "/Common/tcp": "all",
        "/Common/c": "clientside",
        "/Common/s": "serverside",
    }


# -- code, policies, persistence


def test_the_operators_irules_come_after_ours() -> None:
    found = virtual(esd(irule=["b", "a"]), insert_headers={"X-Forwarded-Port": "true", "X-Forwarded-Proto": "true"})
    assert found["rules"] == [f"{PART}/dev_rule_listener-1", "/Common/b", "/Common/a"]


def test_policies_are_named_on_the_virtual_server() -> None:
    assert virtual(esd(policy=["p", "folder/q"]))["policies"] == [
        {"name": "/Common/p"},
        {"name": "/Common/folder/q"},
    ]


def test_persistence_and_fallback() -> None:
    types = {"lbaas_persist": "ltm/persistence/hash", "lbaas_fallback_persist": "ltm/persistence/source-addr"}
    found = virtual(esd(persist="hash", fallback_persist="source_addr", types=types))
    assert found["persist"] == [{"name": "/Common/hash", "tmDefault": "yes"}]
    assert found["fallbackPersistence"] == "/Common/source_addr"


def test_persistence_by_address_leaves_fast_l4() -> None:
    types = {"lbaas_persist": "ltm/persistence/dest-addr"}
    assert profiles(esd(persist="dest_addr", types=types), **TCP) == {"/Common/fastL4": "all"}


def test_a_fallback_goes_with_the_pools_persistence() -> None:
    sticky = {"session_persistence": SessionPersistence(type="HTTP_COOKIE")}
    assert virtual(esd(fallback_persist="source_addr"), pool_changes=sticky)["fallbackPersistence"]


# -- several


def test_the_first_service_that_has_a_tag_decides_it() -> None:
    first = esd("first", ctcp="a", irule=["one"])
    second = esd("second", ctcp="b", stcp="c", irule=["two"])
    found = virtual(first, second)
    names = {one["name"] for one in found["profiles"]}
    assert {"/Common/a", "/Common/c"} <= names
    assert "/Common/b" not in names
    assert found["rules"] == ["/Common/one"]


def test_the_identity_of_settings_changes_with_them() -> None:
    assert rendered().settings == ""
    assert rendered(esd(ctcp="a")).settings != rendered(esd(ctcp="b")).settings


# -- problems


TERMINATED: dict[str, Any] = {"protocol": "TERMINATED_HTTPS"}


@pytest.mark.parametrize(
    ("tags", "changes", "said"),
    [
        ({"http_profile": "h"}, HTTPS, "lbaas_http_profile /Common/h: the listener's protocol is HTTPS; allowed are"),
        ({"cudp": "u"}, {}, "lbaas_cudp /Common/u: the listener's protocol is HTTP; allowed are UDP"),
        ({"cssl_profile": "c"}, HTTPS, "lbaas_sssl_profile is needed"),
        ({"sssl_profile": "s"}, HTTPS, "lbaas_cssl_profile is needed"),
        ({"sssl_profile": "s"}, {"pool_changes": {"tls_enabled": True}}, "TLS settings of its own"),
        ({"oneconnect_profile": "oc"}, TCP, "a TCP listener needs lbaas_http_profile too"),
        ({"http_compression": "zip"}, TCP, "a TCP listener needs lbaas_http_profile too"),
        ({"ctcp": "t"}, {"timeout_client_data": 1_000}, "timeout_client_data 1000 cannot be set beside it"),
        ({"fastl4": "f"}, {**TCP, "timeout_member_data": 1_000}, "timeout_member_data 1000 cannot be set beside it"),
        (
            {"persist": "hash"},
            {"pool_changes": {"session_persistence": SessionPersistence(type="SOURCE_IP")}},
            "has session persistence of its own",
        ),
        ({"persist": "hash"}, {"pool_changes": {"lb_algorithm": "SOURCE_IP"}}, "has session persistence of its own"),
        ({"fallback_persist": "source_addr"}, {}, "it needs session persistence"),
    ],
)
def test_enhanced_service_that_contradicts_the_listener_is_a_problem(
    tags: dict[str, Any], changes: dict[str, Any], said: str
) -> None:
    found = rendered(esd(**tags), **changes)
    assert found.objects == ()
    assert found.problem.startswith("listener listener-1: enhanced service 'web': ")
    assert said in found.problem


def test_certificates_of_a_listener_are_not_replaced() -> None:
    one = service(
        members=1,
        listeners=(listener(enhanced_services=("web",), default_tls_container_ref="ref", **TERMINATED),),
        certificates=(ServiceCertificate(reference="ref", kind=CertificateKind.CERTIFICATE, sha256="a" * 64),),
    )
    found = render_load_balancer(one, NAMES, enhanced={"web": esd(cssl_profile="c")})
    assert "has certificates of its own" in found.problem


def test_cookie_persistence_needs_http() -> None:
    types = {"lbaas_persist": "ltm/persistence/cookie"}
    found = rendered(esd(persist="cookie", types=types), **TCP)
    assert "a TCP listener needs lbaas_http_profile too" in found.problem


def test_a_definition_with_a_problem_is_the_load_balancers_problem() -> None:
    assert rendered(esd(problem="a.json: enhanced service 'web': no such tag")).problem == (
        "a.json: enhanced service 'web': no such tag"
    )


def test_an_unknown_service_is_a_problem() -> None:
    one = service(listeners=(listener(enhanced_services=("gone",)),))
    assert "enhanced service 'gone'" in render_load_balancer(one, NAMES).problem


def test_services_of_one_listener_are_bounded() -> None:
    found = rendered(*(esd(f"e{number}") for number in range(PER_LISTENER_MAX + 1)))
    assert f"at most {PER_LISTENER_MAX} are allowed" in found.problem


def test_optional_names_without_a_definition_have_no_effect() -> None:
    web = esd(irule=["r"])
    names = ("?blue", "?web", *(f"?tag-{number}" for number in range(PER_LISTENER_MAX)))
    one = service(members=1, listeners=(listener(enhanced_services=names),), pools=(pool(members=1),))
    plain = service(members=1, listeners=(listener(),), pools=(pool(members=1),))
    found = render_load_balancer(one, NAMES, enhanced={"?web": web})
    assert not found.problem and any(item.attributes.get("rules") == ["/Common/r"] for item in found.objects)
    assert (
        render_load_balancer(one, NAMES, enhanced={}).objects == render_load_balancer(plain, NAMES, enhanced={}).objects
    )

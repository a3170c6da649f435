"""Parts of enhanced services as an iRule; test_enhanced_services.py shows what clients see of them."""

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import Parts
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.services.rule import enhanced_service_objects
from evenkeel.devices.bigip.render.services.texts import RuleTexts
from evenkeel.devices.esd.support import check_supported_parts
from tests.devices.services import listener, member, policy, pool, rule, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)


def parts(**content: Any) -> Parts:
    return msgspec.convert(content, Parts)


def code(**content: Any) -> str:
    _, rule_parts = enhanced_service_objects(service(), listener(), parts(**content), NAMES)
    return "\n".join(line for part in rule_parts for line in part.lines)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=60))
def test_no_text_of_a_definition_becomes_code(text: str) -> None:
    value = text.replace("{", "{{").replace("}", "}}")
    plain = code(request_headers={"set": {"X-A": "a"}}, maintenance={"body": "a"})
    assert code(request_headers={"set": {"X-A": value}}, maintenance={"body": text}).count("\n") == plain.count("\n")
    texts = RuleTexts("/p/g", over_tls=False)
    assert re.fullmatch(r'"(\[URI::decode \[class lookup "\d+" /p/g\]\])+"', texts.header_value_code(value))
    assert not set("".join(texts.records.values())) & set(" \"'[]{}$;\\#\n")


def test_networks_are_data_groups_and_their_order_is_no_change() -> None:
    made = [
        enhanced_service_objects(service(), listener(), parts(deny=networks), NAMES)
        for networks in (["192.0.2.0/24", "10.0.0.0/8"], ["10.0.0.0/8", "192.0.2.0/24"])
    ]
    assert made[0] == made[1]
    ((group,), _) = made[0]
    assert (group.key.name, group.attributes["type"]) == ("dev_deny_listener-1", "ip")


def test_listener_with_tls_is_not_redirected() -> None:
    _, rule_parts = enhanced_service_objects(
        service(), listener(protocol="TERMINATED_HTTPS"), parts(https_redirect={}), NAMES
    )
    assert rule_parts == []


def test_the_rule_joins_that_of_the_listeners_l7_policies() -> None:
    known = {"web": Definition(name="web", file="a.json", parts=parts(maintenance={"body": "later"}))}
    rejecting = policy(1, action="REJECT", rules=(rule(1),))
    wanted = listener(enhanced_services=("web",), l7policies=(rejecting,))
    rendered = render_load_balancer(service(listeners=(wanted,), pools=(pool(),)), NAMES, enhanced=known)
    assert rendered.problem == ""
    (rule_text,) = (str(one.attributes["apiAnonymous"]) for one in rendered.objects if one.key.type == "ltm/rule")
    assert rule_text.count("when HTTP_REQUEST {") == 1
    assert rule_text.index("HTTP::respond 503") < rule_text.index("l7_")


def test_access_log_has_a_pool_in_the_route_domain_of_members_and_counts_by_listener() -> None:
    log = {"target": "10.1.0.9:514", "lines_per_second": 7}
    ((pool_object,), rule_parts) = enhanced_service_objects(service(), listener(), parts(access_log=log), NAMES)
    assert (pool_object.key.name, [one.key.name for one in pool_object.members]) == (
        "dev_accesslog_listener-1",
        ["10.1.0.9:514"],
    )
    assert [part.event for part in rule_parts] == ["CLIENT_ACCEPTED", "HTTP_REQUEST", "HTTP_RESPONSE"]
    text = code(access_log=log)
    assert 'set service_log_key "log:listener-1"' in text and "<= 7 }" in text
    # the name is in a variable, else the pool's status would become the virtual server's
    assert "HSL::open -proto UDP -pool $service_log_pool" in text


def test_parts_and_settings_that_no_bigip_has_are_refused_by_name() -> None:
    wanted = parts(timeouts={"request": 5, "keep_alive": 6, "tunnel": 7}, drain=60, haproxy_lines=["mode http"])
    found = check_supported_parts(Definition(name="web", file="a.json", parts=wanted), CAPABILITIES)
    refused, _, _ = found.problem.partition(": not possible")
    for name in ("timeouts.request", "timeouts.keep_alive", "drain", "haproxy_lines"):
        assert f"{name} ({CAPABILITIES.service_refusals[name]})" in refused
    assert "timeouts.tunnel" not in refused
    assert "timeouts.tunnel" in found.problem.partition("allowed: ")[2].split(", ")
    tunnel_only = Definition(name="ws", file="a.json", parts=parts(timeouts={"tunnel": 7}))
    assert check_supported_parts(tunnel_only, CAPABILITIES) is tunnel_only


def test_compressed_types_are_patterns_of_the_listeners_profile() -> None:
    types = ["text/plain; charset=utf-8", "image/svg+xml"]
    known = {"web": Definition(name="web", file="a.json", parts=parts(compression={"types": types}))}
    wanted = listener(enhanced_services=("web",))
    rendered = render_load_balancer(service(listeners=(wanted,), pools=(pool(),)), NAMES, enhanced=known)
    (profile,) = (one for one in rendered.objects if one.key.type == "ltm/profile/http-compression")
    assert profile.attributes["contentTypeInclude"] == ["text/plain", "image/svg[+]xml"]
    (virtual,) = (one for one in rendered.objects if one.key.type == "ltm/virtual")
    assert profile.key.name in {entry["name"].rpartition("/")[2] for entry in virtual.attributes["profiles"]}


def test_lowest_limit_of_connections_is_the_pools_and_its_members() -> None:
    limits = {"low": {"connections": 5, "queue": 7, "wait": 3}, "high": {"connections": 50}}
    known = {
        name: Definition(name=name, file="a.json", parts=parts(member_connection_limit=limit))
        for name, limit in limits.items()
    }
    listeners = (
        listener(1, enhanced_services=("high",)),
        listener(2, enhanced_services=("low",), protocol_port=81, default_pool_id="pool-1"),
    )
    rendered = render_load_balancer(
        service(listeners=listeners, pools=(pool(members=(member(),)),)), NAMES, enhanced=known
    )
    (found,) = (one for one in rendered.objects if one.key.type == "ltm/pool")
    queue = {name: found.attributes[name] for name in found.attributes if name.startswith("queue")}
    assert queue == {"queueOnConnectionLimit": "enabled", "queueDepthLimit": 7, "queueTimeLimit": 3000}
    assert [one.attributes["connectionLimit"] for one in found.members] == [5]
    tcp = listener(enhanced_services=("low",), protocol="TCP")
    refused = render_load_balancer(service(listeners=(tcp,), pools=(pool(protocol="TCP"),)), NAMES, enhanced=known)
    assert refused.problem.endswith(
        "member_connection_limit: protocol TCP: HTTP and TERMINATED_HTTPS are possible on BIG-IPs"
    )


def test_pages_and_security_headers_are_in_all_responses_of_the_listeners_rule() -> None:
    pages = {status: {"body": f"page {status}"} for status in ("403", "429", "503")}
    service_parts = parts(error_pages=pages, rate_limit={"requests": 1}, security_headers="basic")
    known = {"web": Definition(name="web", file="a.json", parts=service_parts)}
    wanted = listener(enhanced_services=("web",), l7policies=(policy(1, action="REJECT", rules=(rule(1),)),))
    rendered = render_load_balancer(service(listeners=(wanted,), pools=(pool(),)), NAMES, enhanced=known)
    assert rendered.problem == ""
    (text,) = (str(one.attributes["apiAnonymous"]) for one in rendered.objects if one.key.type == "ltm/rule")
    answers = [line.strip() for line in text.splitlines() if "HTTP::respond" in line]
    for status in ("403", "429", "503"):
        found = [line for line in answers if line.startswith(f"HTTP::respond {status} ")]
        assert found and all("content [URI::decode [class lookup" in line for line in found)
    assert "Forbidden" not in text and "when LB_FAILED {" in text
    (records,) = (one.attributes["records"] for one in rendered.objects if one.key.name == "dev_services_listener-1")
    frame = next(record["name"] for record in records if record["data"] == "X-Frame-Options")
    assert all(f'[class lookup "{frame}" ' in line for line in answers)


def test_maintenance_keeps_its_own_page() -> None:
    pages = {"503": {"body": "other"}}
    text = code(error_pages=pages, maintenance={"body": "back at noon"})
    plain = code(maintenance={"body": "back at noon"})
    assert text.startswith(plain) and text.count("HTTP::respond 503") == 2


@pytest.mark.parametrize("hostile", ['a"[exit]', "a$static::b", "a}\nwhen RULE_INIT {", "a\\", "a b;exit"])
def test_no_id_of_a_definition_becomes_code(hostile: str) -> None:
    every = parts(
        connection_limit_per_source=5,
        rate_limit={"requests": 5},
        access_log={"target": "192.0.2.1:514"},
        deny=["192.0.2.0/24"],
        security_headers="basic",
    )
    definition = service(load_balancer_id=LoadBalancerId(hostile))
    _, rule_parts = enhanced_service_objects(definition, listener(id=hostile), every, NAMES)
    assert not [line for part in rule_parts for line in part.lines if hostile in line]

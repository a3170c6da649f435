"""TLS at listeners and towards members, attribute by attribute."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from evenkeel.core.devices.capabilities import INSERT_HEADERS, TLS_INSERT_HEADERS
from evenkeel.core.devices.service import ServiceDefinition, ServiceListener
from evenkeel.core.tls.certificates import CertificateContent
from evenkeel.devices.bigip.naming import BigIpNames
from evenkeel.devices.bigip.objects import WantedObject
from evenkeel.devices.bigip.render.load_balancer import render_load_balancer
from evenkeel.devices.bigip.render.tls import CIPHERS
from icontrol_emulator.config.ciphers import choices
from tests.certificates import referring
from tests.devices.bigip.certificates import (
    authority,
    certificate,
    revocation_list,
    tls_listener,
    tls_service,
)
from tests.devices.services import listener, monitor, pool, service

NAMES = BigIpNames(environment="dev", prefix="dev", group=1)
PART = "/dev_a3f1c2"
A, B = certificate("a.example"), certificate("b.example")
CA, CRL = authority(), revocation_list()
KNOWN = {"ref-a": A, "ref-b": B, "ref-ca": CA, "ref-crl": CRL}


def objects(definition: ServiceDefinition) -> dict[str, list[WantedObject]]:
    rendered = render_load_balancer(definition, NAMES)
    assert not rendered.problem
    found: dict[str, list[WantedObject]] = {}
    for item in rendered.objects:
        found.setdefault(item.key.type.removeprefix("ltm/"), []).append(item)
    return found


def of(*listeners: ServiceListener, **changes: Any) -> dict[str, list[WantedObject]]:
    return objects(tls_service(names=KNOWN, listeners=listeners or (tls_listener(),), **changes))


def only(found: dict[str, list[WantedObject]], kind: str) -> dict[str, Any]:
    (item,) = found[kind]
    return dict(item.attributes)


def path(content: CertificateContent, suffix: str) -> str:
    return f"{PART}/dev_{content.sha256}{suffix}"


def pair(content: CertificateContent) -> list[dict[str, str]]:
    return [
        {
            "name": "pair-0",
            "cert": path(content, ".crt"),
            "key": path(content, ".key"),
            "chain": path(content, "-chain.crt"),
        }
    ]


def test_a_usual_listener_where_tls_ends() -> None:
    found = of()
    (profile,) = found["profile/client-ssl"]
    assert re.fullmatch(r"dev_clientssl-[0-9a-f]{20}_listener-1", profile.key.name)
    assert profile.attributes == {
        "defaultsFrom": "/Common/clientssl",
        "certKeyChain": pair(A),
        "serverName": "none",
        "sniDefault": "true",
        "tmOptions": "{ dont-insert-empty-fragments no-sslv3 no-tlsv1 no-tlsv1.1 }",
        "cipherGroup": f"{PART}/dev_ciphers_listener-1",
        "ciphers": "none",
        "peerCertMode": "ignore",
        "caFile": "none",
        "clientCertCa": "none",
        "crlFile": "none",
        "renegotiation": "disabled",
        "ocspStapling": "disabled",
        "description": "evenkeel:dev/1:clientssl:lb-1:listener-1",
    }
    assert only(found, "cipher/rule")["cipher"] == (
        "TLS13-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"
    )
    assert only(found, "cipher/group")["allow"] == [{"name": f"{PART}/dev_ciphers_listener-1"}]
    virtual = only(found, "virtual")
    assert virtual["rules"] == []
    assert virtual["profiles"] == [
        {"name": "/Common/http", "context": "all"},
        {"name": "/Common/tcp", "context": "all"},
        {"name": "/Common/oneconnect", "context": "all"},
        {"name": f"{PART}/{profile.key.name}", "context": "clientside"},
        {"name": "/Common/http2", "context": "clientside"},
    ]


def test_needs_are_all_certificates_that_the_definition_refers_to() -> None:
    definition = tls_service(
        names=KNOWN,
        listeners=(
            tls_listener(
                sni_container_refs=("ref-b",), client_ca_tls_container_ref="ref-ca", client_authentication="MANDATORY"
            ),
        ),
    )
    needs = {(need.kind, need.sha256) for need in render_load_balancer(definition, NAMES).needs}
    assert needs == {(one.kind, one.sha256) for one in (A, B, CA)}


def test_one_profile_a_certificate_of_which_one_is_the_default() -> None:
    for default, more, expected in (
        ("ref-a", ("ref-b", "ref-a", "ref-b"), {A.sha256: "true", B.sha256: "false"}),
        (None, ("ref-b", "ref-a"), {B.sha256: "true", A.sha256: "false"}),
    ):
        profiles = of(tls_listener(default_tls_container_ref=default, sni_container_refs=more))["profile/client-ssl"]
        found = {item.attributes["certKeyChain"][0]["cert"]: item.attributes["sniDefault"] for item in profiles}
        assert found == {f"{PART}/dev_{sha256}.crt": switch for sha256, switch in expected.items()}
        assert len({item.key for item in profiles}) == 2


def test_certificates_of_the_same_names_share_a_profile_if_their_keys_are_of_different_types() -> None:
    kinds = {"one": ("rsa", "x"), "two": ("ecdsa", "x"), "three": ("rsa", "x"), "four": ("rsa", "y"), "five": ("", "")}
    known = tuple(
        replace(each, key_type=kinds[each.reference][0], names_sha256=kinds[each.reference][1])
        for each in referring(service(), {name: certificate(f"{name}.example") for name in kinds}).certificates
    )
    wanted = tls_listener(default_tls_container_ref="four", sni_container_refs=("one", "two", "three", "five"))
    found = objects(replace(service(listeners=(wanted,)), certificates=known))["profile/client-ssl"]
    pairs = [[pair["cert"] for pair in item.attributes["certKeyChain"]] for item in found]
    paths = {name: path(certificate(f"{name}.example"), ".crt") for name in kinds}
    assert pairs == [[paths["four"]], [paths["one"], paths["two"]], [paths["three"]], [paths["five"]]]
    assert [item.attributes["sniDefault"] for item in found] == ["true", "false", "false", "false"]
    assert [one["name"] for one in found[1].attributes["certKeyChain"]] == ["pair-0", "pair-1"]


def test_a_renewal_changes_the_profile_and_nothing_else() -> None:
    before, after = (
        {item.key: item for item in render_load_balancer(tls_service(names={"ref-a": content}), NAMES).objects}
        for content in (A, B)
    )
    assert before.keys() == after.keys()
    assert [key.type for key in before if before[key] != after[key]] == ["ltm/profile/client-ssl"]


@pytest.mark.parametrize(("mode", "peer"), [("OPTIONAL", "request"), ("MANDATORY", "require"), ("NONE", "ignore")])
def test_certificates_of_clients(mode: Any, peer: str) -> None:
    found = of(
        tls_listener(
            client_authentication=mode,
            client_ca_tls_container_ref="ref-ca",
            client_crl_container_ref="ref-crl",
            insert_headers=dict.fromkeys(TLS_INSERT_HEADERS, "true"),
        )
    )
    profile = only(found, "profile/client-ssl")
    wanted = ("none", "none", "none") if mode == "NONE" else (path(CA, "-ca.crt"),) * 2 + (path(CRL, ".crl"),)
    assert (profile["caFile"], profile["clientCertCa"], profile["crlFile"]) == wanted
    assert profile["peerCertMode"] == peer
    code = only(found, "rule")["apiAnonymous"]
    assert ("reject" in code) == (mode == "OPTIONAL")
    assert all(f'HTTP::header insert "{name}"' in code for name in TLS_INSERT_HEADERS)
    assert only(found, "virtual")["rules"] == [f"{PART}/dev_rule_listener-1"]


def test_an_irule_begins_with_its_mark_removes_what_clients_say_and_names_nothing_of_tenants() -> None:
    headers = {"X-Forwarded-Proto": "true", "X-Forwarded-Port": "true", "X-Forwarded-For": "true"}
    found = of(tls_listener(insert_headers=headers))
    code = only(found, "rule")["apiAnonymous"]
    assert code.startswith("# evenkeel:dev/1:rule:lb-1:listener-1\nwhen HTTP_REQUEST {")
    assert '"x-forwarded-port" { HTTP::header remove $name }' in code
    assert '"x-forwarded-for" { if { [string tolower $name] ne "x-forwarded-for" } {' in code
    assert code.index("HTTP::header remove") < code.index('HTTP::header insert "X-Forwarded-Proto" "https"')
    assert 'HTTP::header insert "X-Forwarded-Port" "443"' in code
    assert only(found, "profile/http")["insertXforwardedFor"] == "enabled"
    assert only(found, "profile/http")["headerInsert"] == "none"


@given(
    headers=st.dictionaries(st.sampled_from(INSERT_HEADERS + TLS_INSERT_HEADERS), st.sampled_from(["true", "false"])),
    mode=st.sampled_from(["NONE", "OPTIONAL", "MANDATORY"]),
    reencrypted=st.booleans(),
)
def test_the_code_of_an_irule_is_balanced(headers: dict[str, str], mode: Any, reencrypted: bool) -> None:
    found = of(
        tls_listener(insert_headers=headers, client_authentication=mode, client_ca_tls_container_ref="ref-ca"),
        pools=(pool(tls_enabled=reencrypted),),
    )
    for item in found.get("rule", ()):
        code = item.attributes["apiAnonymous"]
        for opening, closing in ("{}", "[]", '""'):
            assert code.count(opening) == code.count(closing)
        events = re.findall(r"^when (\w+) \{$", code, re.MULTILINE)
        assert len(events) == len(set(events)) and events


def test_headers_that_a_tls_listener_inserts_are_believed_from_nobody_else() -> None:
    plain = listener(2, id="listener-2", default_pool_id="pool-1")
    found = of(tls_listener(insert_headers={"X-SSL-Client-CN": "true", "X-Forwarded-Proto": "true"}), plain)
    code = {item.key.name: item.attributes["apiAnonymous"] for item in found["rule"]}["dev_rule_listener-2"]
    assert all(name.lower() in code for name in (*TLS_INSERT_HEADERS, "X-Forwarded-Proto"))
    assert "insert" not in code


def test_strict_transport_security() -> None:
    profile = only(of(tls_listener(hsts_max_age=300, hsts_include_subdomains=True, hsts_preload=False)), "profile/http")
    assert profile["hsts"] == {
        "mode": "enabled",
        "maximumAge": 300,
        "includeSubdomains": "enabled",
        "preload": "disabled",
    }
    assert profile["headerInsert"] == "none"


def test_the_parent_is_an_option() -> None:
    definition = tls_service(names=KNOWN)
    rendered = render_load_balancer(definition, NAMES, parent_ssl_profile="/Common/site-clientssl")
    (profile,) = (item for item in rendered.objects if item.key.type == "ltm/profile/client-ssl")
    assert profile.attributes["defaultsFrom"] == "/Common/site-clientssl"
    assert profile.immutables == {"defaultsFrom"}


# -- ciphers


@pytest.mark.parametrize(
    ("asked", "versions", "expected"),
    [
        (
            "ECDHE-RSA-AES128-SHA:ECDHE-RSA-CHACHA20-POLY1305:AES128-SHA",
            ("TLSv1.2",),
            "ECDHE-RSA-AES128-CBC-SHA:ECDHE-RSA-CHACHA20-POLY1305-SHA256:AES128-SHA",
        ),
        # as with OpenSSL, ciphers of older versions do not limit TLS 1.3
        (
            "AES128-SHA",
            ("TLSv1.2", "TLSv1.3"),
            "TLS13-AES128-GCM-SHA256:TLS13-AES256-GCM-SHA384:TLS13-CHACHA20-POLY1305-SHA256:AES128-SHA",
        ),
        ("TLS_AES_256_GCM_SHA384", ("TLSv1.3",), "TLS13-AES256-GCM-SHA384"),
    ],
)
def test_ciphers_are_spelled_as_the_device_does(asked: str, versions: Any, expected: str) -> None:
    found = of(tls_listener(tls_ciphers=asked, tls_versions=versions))
    assert only(found, "cipher/rule")["cipher"] == expected


def test_http_2_without_the_cipher_that_a_device_insists_on() -> None:
    found = of(tls_listener(tls_ciphers="TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"))
    assert only(found, "profile/http2")["enforceTlsRequirements"] == "disabled"
    assert {"name": f"{PART}/dev_http2_listener-1", "context": "clientside"} in only(found, "virtual")["profiles"]
    for changes in ({"tls_ciphers": None}, {"tls_ciphers": "AES128-SHA", "alpn_protocols": ("http/1.1",)}):
        assert "profile/http2" not in of(tls_listener(**changes))


def test_without_ciphers_the_devices_default_group_is_used() -> None:
    found = of(tls_listener(tls_ciphers=None))
    assert "cipher/rule" not in found and "cipher/group" not in found
    assert only(found, "profile/client-ssl")["cipherGroup"] == "/Common/f5-default"


@pytest.mark.parametrize("name", CIPHERS.values())
def test_every_cipher_is_one_that_the_stand_in_knows(name: str) -> None:
    assert choices(name)


@pytest.mark.parametrize(
    ("versions", "switches"),
    [
        (("TLSv1.2",), "no-sslv3 no-tlsv1 no-tlsv1.1 no-tlsv1.3"),
        (("TLSv1.3",), "no-sslv3 no-tlsv1 no-tlsv1.1 no-tlsv1.2"),
        (("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"), "no-sslv3"),
        ((), "no-sslv3 no-tlsv1 no-tlsv1.1"),
    ],
)
def test_versions_are_what_is_not_switched_off(versions: Any, switches: str) -> None:
    profile = only(of(tls_listener(tls_versions=versions)), "profile/client-ssl")
    assert profile["tmOptions"] == f"{{ dont-insert-empty-fragments {switches} }}"


# -- towards members


def test_members_are_spoken_to_over_tls() -> None:
    members = pool(
        tls_enabled=True,
        tls_container_ref="ref-b",
        ca_tls_container_ref="ref-ca",
        crl_container_ref="ref-crl",
        tls_versions=("TLSv1.2",),
        tls_ciphers="ECDHE-RSA-AES128-GCM-SHA256",
        alpn_protocols=("h2", "http/1.1"),
    )
    found = of(pools=(members,))
    (profile,) = found["profile/server-ssl"]
    assert profile.key.name == "dev_serverssl_pool-1"
    assert profile.attributes == {
        "defaultsFrom": "/Common/serverssl",
        "tmOptions": "{ dont-insert-empty-fragments no-sslv3 no-tlsv1 no-tlsv1.1 no-tlsv1.3 }",
        "cipherGroup": f"{PART}/dev_ciphers_pool-1",
        "ciphers": "none",
        "peerCertMode": "require",
        "caFile": path(CA, "-ca.crt"),
        "crlFile": path(CRL, ".crl"),
        "cert": path(B, ".crt"),
        "key": path(B, ".key"),
        "chain": path(B, "-chain.crt"),
        "description": "evenkeel:dev/1:serverssl:lb-1:pool-1",
    }
    names = [(one["name"], one["context"]) for one in only(found, "virtual")["profiles"]]
    assert (f"{PART}/dev_serverssl_pool-1", "serverside") in names
    # a connection to a member asks for one client's name, so it is not shared
    assert ("/Common/oneconnect", "all") not in names
    assert "SSL::extensions insert" in only(found, "rule")["apiAnonymous"]
    # a check in the clear would find nobody
    checked = only(found, "monitor/https")
    assert (checked["defaultsFrom"], checked["sslProfile"]) == ("/Common/https", f"{PART}/dev_serverssl_pool-1")


def test_without_a_ca_any_certificate_of_a_member_will_do() -> None:
    profile = only(of(pools=(pool(tls_enabled=True),)), "profile/server-ssl")
    assert (profile["peerCertMode"], profile["caFile"], profile["cert"]) == ("ignore", "none", "none")


def test_a_plain_listener_may_send_to_members_over_tls() -> None:
    for protocol, first in (("HTTP", "/Common/http"), ("TCP", "/Common/tcp")):
        definition = service(listeners=(listener(protocol=protocol),), pools=(pool(tls_enabled=True),))
        found = objects(definition)
        names = [one["name"] for one in only(found, "virtual")["profiles"]]
        assert names[0] == first and names[-1] == f"{PART}/dev_serverssl_pool-1"
        assert "rule" not in found


def test_a_monitor_of_type_https_where_members_are_spoken_to_in_the_clear() -> None:
    checked = only(objects(service(pools=(pool(monitor=monitor(type="HTTPS", url_path="/up")),))), "monitor/https")
    assert checked["sslProfile"] == "/Common/serverssl"
    assert checked["send"].startswith("GET /up HTTP/1.0")


# -- what cannot be done


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        (tls_service(names={}), "listener listener-1: default_tls_container_ref ref-a: no controller has read"),
        (
            referring(tls_service(names={}), {"ref-a": CA}),
            "default_tls_container_ref ref-a: no controller has read this certificate",
        ),
        (tls_service(names=KNOWN, listeners=(tls_listener(default_tls_container_ref=None),)), "needs default_tls"),
        (tls_service(names=KNOWN, listeners=(tls_listener(tls_ciphers="HIGH:!aNULL"),)), "tls_ciphers: 'HIGH'"),
        (
            tls_service(names=KNOWN, listeners=(tls_listener(client_authentication="MANDATORY"),)),
            "needs client_ca_tls_container_ref",
        ),
        (service(pools=(pool(tls_enabled=True, alpn_protocols=("h2",)),)), "pool pool-1: alpn_protocols h2"),
        (service(listeners=(listener(insert_headers={"X-SSL-Issuer": "true"}),)), "X-SSL-Issuer"),
        (tls_service(names=KNOWN, listeners=(tls_listener(default_pool_id=None, id="l"),)), ""),
    ],
)
def test_impossible_tls_setting_is_a_problem_with_the_reason(definition: ServiceDefinition, reason: str) -> None:
    assert reason in render_load_balancer(definition, NAMES).problem
    assert bool(reason) == bool(render_load_balancer(definition, NAMES).problem)

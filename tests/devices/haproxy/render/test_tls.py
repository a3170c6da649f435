"""TLS as it is rendered: what is refused by name, what files are called, and where their contents are."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.devices.haproxy.render.load_balancer import render_load_balancer
from evenkeel.haproxyd import wire
from evenkeel.haproxyd.partition.validation import load_balancer_problem
from evenkeel.haproxyd.settings import DaemonSettings
from tests.certificates import PLANTED, referring
from tests.devices.haproxy.configuration import HAPROXY, rendered, verdict
from tests.devices.haproxy.features import CONTENTS, NAMED, reencrypted, terminated, tls_listener, tls_pool
from tests.devices.services import listener, service


def kinds(load_balancer: wire.LoadBalancerConfig) -> dict[str, list[str]]:
    """Contents of files by kind."""
    found: dict[str, list[str]] = {}
    for file in load_balancer.files:
        found.setdefault(file.kind, []).append(file.content)
    return found


VERIFIED: dict[str, Any] = {
    "client_authentication": "MANDATORY",
    "client_ca_tls_container_ref": "clients",
    "client_crl_container_ref": "clients-revoked",
}


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (terminated(default_tls_container_ref=None), ["listener-1", "default_tls_container_ref", "sni_container_refs"]),
        (terminated(default_tls_container_ref="gone"), ["listener-1", "default_tls_container_ref", "gone"]),
        (terminated(sni_container_refs=("shop", "gone")), ["listener-1", "sni_container_refs", "gone"]),
        (terminated(default_tls_container_ref="clients"), ["listener-1", "clients", "certificate"]),
        (terminated(**VERIFIED | {"client_ca_tls_container_ref": "gone"}), ["client_ca_tls_container_ref", "gone"]),
        (terminated(**VERIFIED | {"client_ca_tls_container_ref": None}), ["client_ca_tls_container_ref"]),
        (terminated(**VERIFIED | {"client_crl_container_ref": "gone"}), ["client_crl_container_ref", "gone"]),
        (terminated(client_authentication="MAYBE"), ["client_authentication", "MAYBE"]),
        (terminated(tls_versions=("SSLv3", "TLSv1")), ["listener-1", "tls_versions", "SSLv3", "TLSv1.3"]),
        (terminated(tls_versions=("TLSv1.1", "TLSv1.3")), ["listener-1", "tls_versions", "TLSv1.1, TLSv1.3"]),
        (terminated(tls_ciphers="TLS_AES_128_GCM_SHA256", tls_versions=("TLSv1.2",)), ["tls_ciphers", "TLSv1.3"]),
        (terminated(tls_ciphers="AES:@system-ca"), ["tls_ciphers", "@system-ca"]),
        (
            terminated(tls_ciphers="@STRENGTH:AES"),
            ["listener-1", "tls_ciphers", "'@STRENGTH' needs a cipher"],
        ),
        (terminated(tls_ciphers="@SECLEVEL=1:TLS_AES_128_GCM_SHA256"), ["tls_ciphers", "'@SECLEVEL=1' needs a cipher"]),
        (terminated(tls_ciphers="AES::AES"), ["tls_ciphers", "''"]),
        (terminated(alpn_protocols=("h3",)), ["alpn_protocols", "h3", "http/1.1"]),
        (terminated(hsts_max_age=-1), ["hsts_max_age", "-1"]),
        (terminated(insert_headers={"X-SSL-Client-Age": "true"}), ["insert_headers", "X-SSL-Client-Age"]),
        (service(listeners=(listener(insert_headers={"X-SSL-Issuer": "true"}),)), ["insert_headers", "X-SSL-Issuer"]),
        (reencrypted(ca_tls_container_ref="gone"), ["pool-1", "ca_tls_container_ref", "gone"]),
        (reencrypted(ca_tls_container_ref="members", crl_container_ref="gone"), ["crl_container_ref", "gone"]),
        (reencrypted(tls_container_ref="gone"), ["pool-1", "tls_container_ref", "gone"]),
        (reencrypted(tls_versions=("TLSv1", "TLSv1.2")), ["pool pool-1", "tls_versions", "TLSv1, TLSv1.2"]),
        (reencrypted(alpn_protocols=("h3",)), ["pool pool-1", "alpn_protocols", "h3"]),
    ],
)
def test_impossible_tls_setting_is_refused_by_name(wanted: ServiceDefinition, words: list[str]) -> None:
    problem = render_load_balancer(wanted, CONTENTS).problem
    for word in words:
        assert word in problem


def test_contents_are_there_where_the_batch_brought_them_and_identities_always() -> None:
    wanted = terminated(**VERIFIED)
    without = rendered(wanted)
    assert kinds(without)["certificate"] == kinds(without)["ca"] == kinds(without)["crl"] == [""]
    identities = {file.kind: file.sha256 for file in without.files if file.sha256}
    assert identities == {
        "certificate": NAMED["www"].sha256,
        "ca": NAMED["clients"].sha256,
        "crl": NAMED["clients-revoked"].sha256,
    }
    (certificate,), (ca,), (crl,) = (kinds(rendered(wanted, CONTENTS))[kind] for kind in ("certificate", "ca", "crl"))
    titles = [line for line in certificate.splitlines() if line.startswith("-----BEGIN")]
    assert titles == ["-----BEGIN CERTIFICATE-----", "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"]
    assert certificate.endswith("-----END PRIVATE KEY-----\n") and "\n\n" not in certificate
    assert ca.startswith("-----BEGIN CERTIFICATE-----\n") and crl.startswith("-----BEGIN X509 CRL-----\n")
    assert "PRIVATE" not in ca + crl


def test_a_renewed_certificate_changes_contents_and_identities_alone() -> None:
    before = rendered(terminated(sni_container_refs=("shop",)))
    named = NAMED | {"shop": replace(NAMED["shop"], sha256="0" * 64)}
    after = rendered(referring(terminated(sni_container_refs=("shop",)), named))
    assert (before.frontends, before.backends, before.note) == (after.frontends, after.backends, after.note)
    assert [file.name for file in before.files] == [file.name for file in after.files]
    assert [one.kind for one, other in zip(before.files, after.files, strict=True) if one != other] == ["certificate"]


def test_unused_certificate_reference_is_not_requested() -> None:
    down = service(
        listeners=(tls_listener(admin_state_up=False),),
        pools=(tls_pool(tls_enabled=False, tls_container_ref="own", ca_tls_container_ref="members"),),
    )
    assert rendered(referring(down, NAMED)).files == ()


def test_listeners_and_pools_with_one_reference_have_files_of_their_own() -> None:
    listeners = (tls_listener(1), tls_listener(2, default_pool_id="pool-1", protocol_port=444))
    shared = service(listeners=listeners, pools=(tls_pool(tls_container_ref="www"),))
    names = [file.name for file in rendered(referring(shared, NAMED)).files]
    assert len(names) == len(set(names)) == 5


def test_a_content_of_another_kind_or_without_its_key_is_refused() -> None:
    www = NAMED["www"].sha256
    assert "authority" in render_load_balancer(terminated(), {www: NAMED["clients"]}).problem
    assert (
        "without its key" in render_load_balancer(terminated(), {www: replace(NAMED["www"], private_key=None)}).problem
    )


def test_no_key_is_in_what_a_content_shows_of_itself() -> None:
    assert PLANTED not in repr(NAMED["www"])
    assert PLANTED in kinds(rendered(terminated(), {NAMED["www"].sha256: NAMED["www"]}))["certificate"][0]


def test_the_longest_list_of_ciphers_and_the_most_certificates_are_taken() -> None:
    ciphers = ":".join(["ECDHE-RSA-AES128-GCM-SHA256"] * 73)[:2048].rpartition(":")[0]
    references = [f"reference-{number}" for number in range(200)]
    listeners = tuple(
        tls_listener(number, sni_container_refs=tuple(references), tls_ciphers=ciphers, protocol_port=number)
        for number in (1, 2)
    )
    pools = (tls_pool(1, tls_ciphers=ciphers), tls_pool(2, tls_ciphers=ciphers))
    named = NAMED | dict.fromkeys(references, NAMED["www"])
    most = rendered(referring(service(listeners=listeners, pools=pools), named), CONTENTS)
    assert len([file for file in most.files if file.kind == "certificate"]) == 402
    assert load_balancer_problem(most, DaemonSettings(name="d", state_dir=Path("/"), run_dir=Path("/"))) == ""
    assert HAPROXY is None or verdict(most) == ""


def test_a_security_level_may_be_said_first() -> None:
    found = rendered(terminated(tls_ciphers="@SECLEVEL=1:AES128-GCM-SHA256"), CONTENTS)
    assert "AES128-GCM-SHA256:@SECLEVEL=1" in found.frontends[0].bind_arguments
    assert load_balancer_problem(found, DaemonSettings(name="h", state_dir=Path("/x"), run_dir=Path("/x"))) == ""

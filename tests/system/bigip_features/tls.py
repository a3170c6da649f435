"""TLS at listeners and towards members."""

import re
import ssl
from typing import Any

from tests.devices.tls_behaviour import CLIENT, REVOKED, UNKNOWN
from tests.system.bigip_features.actors import (
    SUITES,
    Actors,
    Body,
    Feature,
    Scene,
    all_headers,
    check,
    one,
    pool,
    tls_listener,
)
from tests.system.bigip_features.matching import ANY
from tests.waiting import eventually


def at_listener(**changes: Any) -> Any:
    """A listener of these attributes, before members in the clear. Texts ``ref:name`` become references."""

    def body(actors: Actors) -> Body:
        return one(tls_listener(actors, pool(actors.members()), **referred(actors, changes)))

    return body


def to_members(listener_port: int = 443, **changes: Any) -> Any:
    def body(actors: Actors) -> Body:
        made = pool(actors.members(of=actors.tls), tls_enabled=True, **referred(actors, changes))
        return one(tls_listener(actors, made, protocol_port=listener_port))

    return body


def referred(actors: Actors, changes: Any) -> Any:
    """With references for their names."""
    if isinstance(changes, dict):
        return {name: referred(actors, value) for name, value in changes.items()}
    if isinstance(changes, list):
        return [referred(actors, value) for value in changes]
    text = str(changes)
    return actors.references[text.removeprefix("ref:")] if text.startswith("ref:") else changes


async def certificate_by_name(scene: Scene) -> None:
    asked = {"www.example.org": "www", "shop.example.org": "shop", None: "www"}
    assert {name: (await scene.asked_over_tls(name=name)).shown for name in asked} == asked
    assert (await scene.asked_over_tls()).body.startswith("plain-")


async def as_negotiated(scene: Scene) -> None:
    clients = scene.over_tls()
    answer = await clients.ask(tls=clients.context())
    assert (answer.version, answer.cipher) == ("TLSv1.3", "TLS_AES_256_GCM_SHA384")
    older = clients.context(ciphers="ECDHE-ECDSA-AES256-GCM-SHA384", maximum_version=ssl.TLSVersion.TLSv1_2)
    assert (await clients.ask(tls=older)).status == 0
    where = f"https://{scene.made.address}/"
    said = await clients.command("curl", "--silent", "--insecure", "--http2", "--write-out", " %{http_version}", where)
    assert said.endswith(" 2"), said


async def browsers_are_told(scene: Scene) -> None:
    (told,) = (await scene.asked_over_tls()).header("Strict-Transport-Security")
    assert told.lower().split("; ") == ["max-age=31536000", "includesubdomains", "preload"]


async def clients_must_show_certificates(scene: Scene) -> None:
    clients = scene.over_tls()
    shown = {"known": CLIENT, "none": None, "revoked": REVOKED, "unknown": UNKNOWN}
    served = {what: (await clients.ask(tls=clients.context(each))).status for what, each in shown.items()}
    assert served == {"known": 200, "none": 0, "revoked": 0, "unknown": 0}
    heard = scene.actors.heard().decode()
    for name in ("X-SSL-Client-Verify: 0", "X-SSL-Client-CN:", "X-SSL-Client-SHA1:", "X-Forwarded-Port: 443"):
        assert name in heard, heard


async def clients_may_show_certificates(scene: Scene) -> None:
    clients = scene.over_tls()
    answers = [await clients.ask(tls=clients.context(each)) for each in (CLIENT, None)]
    assert [answer.status for answer in answers] == [200, 200], answers


async def members_are_verified_and_shown_a_certificate(scene: Scene) -> None:
    answer = await scene.asked_over_tls()
    assert answer.body in ("tls-1", "tls-2")
    (member,) = [one for one in scene.actors.tls if one.name == answer.body]
    assert member.shown[-1] == "balancer" and "www.example.org" in member.asked_for


async def healthy_over_tls(scene: Scene) -> None:
    await scene.until(m1="ONLINE", m2="ONLINE")

    async def one_answers() -> bool:
        return (await scene.asked_over_tls()).body in ("tls-1", "tls-2")

    await eventually(one_answers)  # one that stood still for a moment is down until the next look


async def told_behind_tls(scene: Scene) -> None:
    assert (await scene.asked_over_tls()).body.startswith("plain-")
    heard = scene.actors.heard()
    assert heard.startswith((b"PROXY TCP4 127.0.0.1 ", b"\r\n\r\n\0\r\nQUIT\n")), heard


async def newer_clients_are_refused(scene: Scene) -> None:
    clients = scene.over_tls()
    newer = clients.context(minimum_version=ssl.TLSVersion.TLSv1_2)
    assert (await clients.ask(tls=newer)).status == 0
    older = clients.context(minimum_version=ssl.TLSVersion.TLSv1_1, maximum_version=ssl.TLSVersion.TLSv1_1)
    assert (await clients.ask(tls=older)).version == "TLSv1.1"


FEATURES: dict[str, Feature] = {
    "TERMINATED_HTTPS": Feature(
        at_listener(sni_container_refs=["ref:shop"]),
        {
            "ltm/virtual": {
                "{web}": {
                    "profiles": [
                        {"name": re.compile("^clientssl$|clientssl-"), "context": "clientside"},
                        {"name": re.compile("clientssl-"), "context": "clientside"},
                        {"name": "http"},
                        {"name": "tcp"},
                        {"name": "oneconnect"},
                        {"name": ANY},
                    ]
                }
            },
        },
        certificate_by_name,
    ),
    "versions, ciphers and ALPN": Feature(
        at_listener(
            tls_versions=["TLSv1.2", "TLSv1.3"],
            tls_ciphers="TLS_AES_256_GCM_SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
            alpn_protocols=["h2", "http/1.1"],
        ),
        {
            "ltm/cipher/rule": {"ciphers_{web}": {"cipher": re.compile("ECDHE-ECDSA-AES128-GCM-SHA256")}},
            "ltm/cipher/group": {"ciphers_{web}": {"allow": [{"name": ANY}]}},
        },
        as_negotiated,
    ),
    "HSTS": Feature(
        at_listener(hsts_max_age=31_536_000, hsts_include_subdomains=True, hsts_preload=True),
        {
            "ltm/profile/http": {
                "http_{web}": {
                    "hsts": {
                        "mode": "enabled",
                        "maximumAge": 31_536_000,
                        "includeSubdomains": "enabled",
                        "preload": "enabled",
                    }
                }
            }
        },
        browsers_are_told,
    ),
    "client_authentication MANDATORY": Feature(
        at_listener(
            client_authentication="MANDATORY",
            client_ca_tls_container_ref="ref:root",
            client_crl_container_ref="ref:revoked",
            insert_headers=all_headers(tls=True),
        ),
        {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("X-SSL-Client-SHA1")}}},
        clients_must_show_certificates,
    ),
    "client_authentication OPTIONAL": Feature(
        at_listener(client_authentication="OPTIONAL", client_ca_tls_container_ref="ref:root"),
        {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("verify_result")}}},
        clients_may_show_certificates,
    ),
    "TLS to members": Feature(
        to_members(
            tls_container_ref="ref:balancer",
            ca_tls_container_ref="ref:root",
            crl_container_ref="ref:revoked",
            tls_versions=["TLSv1.2", "TLSv1.3"],
            tls_ciphers=SUITES,
            alpn_protocols=["http/1.1"],
        ),
        {
            "ltm/profile/server-ssl": {
                "serverssl_{pool}": {
                    "peerCertMode": "require",
                    "caFile": re.compile("-ca.crt$"),
                    "crlFile": re.compile(".crl$"),
                    "cert": re.compile(".crt$"),
                    "cipherGroup": re.compile("ciphers_"),
                }
            }
        },
        members_are_verified_and_shown_a_certificate,
    ),
    "monitor HTTPS over TLS to members": Feature(
        to_members(healthmonitor=check("HTTPS", url_path="/check")),
        {"ltm/monitor/https": {"{check}": {"sslProfile": re.compile("serverssl_")}}},
        healthy_over_tls,
    ),
    "TERMINATED_HTTPS before PROXY": Feature(
        lambda actors: one(tls_listener(actors, pool(actors.members(), protocol="PROXY"))),
        {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("TCP::respond")}}},
        told_behind_tls,
    ),
    "TERMINATED_HTTPS before PROXYV2": Feature(
        lambda actors: one(tls_listener(actors, pool(actors.members(), protocol="PROXYV2"))),
        {"ltm/rule": {"rule_{web}": {"apiAnonymous": re.compile("TCP::respond")}}},
        told_behind_tls,
    ),
    "old TLS versions": Feature(
        at_listener(tls_versions=["SSLv3", "TLSv1", "TLSv1.1"], tls_ciphers="ECDHE-ECDSA-AES128-SHA"),
        {"ltm/cipher/group": {"ciphers_{web}": {"allow": ANY}}},
        newer_clients_are_refused,
    ),
}

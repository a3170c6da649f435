"""TLS profiles, certificates, bundles of authorities, cipher rules and groups."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Any

from icontrol_as3.translate.names import BadReference, Place, Wanted, described, on_off

_VERSIONS = (
    ("tls1_3Enabled", "no-tlsv1.3", False), ("tls1_2Enabled", "no-tlsv1.2", True),
    ("tls1_1Enabled", "no-tlsv1.1", True), ("tls1_0Enabled", "no-tlsv1", True),
    ("sslEnabled", "no-ssl", True), ("ssl3Enabled", "no-sslv3", True),
)  # fmt: skip
"""Property, the option that it takes away, and its default."""


def server_profiles(place: Place) -> list[str]:
    """Paths of the client SSL profiles of a TLS server: one for each certificate."""
    count = len(place.item["certificates"])
    return [f"{place.path}-{number}-" if number else place.path for number in range(count)]


def tls_server(place: Place) -> Iterator[Wanted]:
    item = place.item
    shared = {
        **_shared(place, item), "peerCertMode": item.get("authenticationMode", "ignore"),
        "sniRequire": "true" if item.get("requireSNI") else "false",
    }  # fmt: skip
    for own, name in (("authenticationTrustCA", "caFile"), ("authenticationInviteCA", "clientCertCa")):
        if item.get(own):
            shared[name] = place.refer(own, item[own], "CA_Bundle")
    entries = item["certificates"]
    has_default = any(each.get("sniDefault") for each in entries)
    for number, (path, each) in enumerate(zip(server_profiles(place), entries, strict=True)):
        default = each.get("sniDefault", number == 0 and not has_default)
        body = {
            **shared, "certKeyChain": [_pair(place, each["certificate"])], "mode": on_off(each.get("enabled", True)),
            "sniDefault": "true" if default else "false", "serverName": each.get("matchToSNI") or "none",
        }  # fmt: skip
        yield Wanted("ltm/profile/client-ssl", path, body)


def _pair(place: Place, value: Any) -> dict[str, Any]:
    found = place.find("certificates", value, "Certificate")
    if isinstance(found, str):
        return {"name": "set0", "cert": found, "key": found.replace(".crt", ".key")}
    pair = {"name": "set0", "cert": f"{found.path}.crt", "key": f"{found.path}.key"}
    if "chainCA" in found.item:
        pair["chain"] = f"{found.path}-bundle.crt"
    if "passphrase" in found.item:
        pair["passphrase"] = _secret(found, "passphrase")
    return pair


def tls_client(place: Place) -> Iterator[Wanted]:
    item = place.item
    authority = item.get("trustCA", "generic")
    body = {
        **_shared(place, item), "serverName": item.get("sendSNI") or "none",
        "authenticateName": item.get("serverName") or "none",
        "peerCertMode": "require" if item.get("validateCertificate") else "ignore",
        "caFile": "/Common/ca-bundle.crt" if authority == "generic" else place.refer("trustCA", authority, "CA_Bundle"),
        "expireCertResponseControl": "ignore" if item.get("ignoreExpired") else "drop",
        "untrustedCertResponseControl": "ignore" if item.get("ignoreUntrusted") else "drop",
    }  # fmt: skip
    if "clientCertificate" in item:
        found = place.find("clientCertificate", item["clientCertificate"], "Certificate")
        path = found.removesuffix(".crt") if isinstance(found, str) else found.path
        body |= {"cert": f"{path}.crt", "key": f"{path}.key"}
    yield Wanted("ltm/profile/server-ssl", place.path, body)


def _shared(place: Place, item: Mapping[str, Any]) -> dict[str, Any]:
    options = [] if item.get("insertEmptyFragmentsEnabled") else ["dont-insert-empty-fragments"]
    options += ["single-dh-use"] if item.get("singleUseDhEnabled") else []
    options += [option for name, option, default in _VERSIONS if not item.get(name, default)]
    body: dict[str, Any] = {
        "tmOptions": options, "renegotiation": on_off(item.get("renegotiationEnabled", True)),
        "authenticate": "always" if item.get("authenticationFrequency") == "every-time" else "once", **described(item),
    }  # fmt: skip
    if "cipherGroup" in item:
        group = place.refer("cipherGroup", item["cipherGroup"], "Cipher_Group")
        return {**body, "ciphers": "none", "cipherGroup": group}
    return {**body, "ciphers": item.get("ciphers") or "DEFAULT"}


def _secret(place: Place, name: str) -> str:
    text = place.item[name]["ciphertext"]
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise BadReference(f"{place.path}/{name}/ciphertext: should be base64") from None


def certificate(place: Place) -> Iterator[Wanted]:
    item = place.item
    yield Wanted("sys/file/ssl-cert", f"{place.path}.crt", text=_text(item["certificate"]))
    if "chainCA" in item:
        yield Wanted("sys/file/ssl-cert", f"{place.path}-bundle.crt", text=_text(item["chainCA"]))
    if "privateKey" in item:
        phrase = {"passphrase": _secret(place, "passphrase")} if "passphrase" in item else {}
        yield Wanted("sys/file/ssl-key", f"{place.path}.key", phrase, text=_text(item["privateKey"]))


def ca_bundle(place: Place) -> Iterator[Wanted]:
    yield Wanted("sys/file/ssl-cert", place.path, text=_text(place.item["bundle"]))


def _text(value: str) -> str:
    return value.replace("\r\n", "\n")


def cipher_rule(place: Place) -> Iterator[Wanted]:
    yield Wanted("ltm/cipher/rule", place.path, {"cipher": ":".join(place.item["cipherSuites"])})


def cipher_group(place: Place) -> Iterator[Wanted]:
    body = {}
    for own, name in (
        ("allowCipherRules", "allow"), ("excludeCipherRules", "exclude"), ("requireCipherRules", "require")
    ):  # fmt: skip
        rules = place.item.get(own, [])
        body[name] = [{"name": place.refer(own, each, "Cipher_Rule")} for each in rules]
    yield Wanted("ltm/cipher/group", place.path, {name: rules for name, rules in body.items() if rules})

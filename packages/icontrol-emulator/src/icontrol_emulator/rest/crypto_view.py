"""sys/crypto/cert and sys/crypto/key: certificate and key files as tmsh lists them.

Fields as recorded from 14.1.2.1 in CiscoTestAutomation/genieparser: the name is the full path, facts that are numbers
elsewhere are text in `apiRawValues`, and the subject is split into its parts.
"""

from __future__ import annotations

from typing import Any

from cryptography import x509

from icontrol_emulator.config import pem
from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.names import to_segment
from icontrol_emulator.config.rules.files import CERT, text_of
from icontrol_emulator.device import Device

_PARTS = {
    x509.NameOID.COMMON_NAME: "commonName", x509.NameOID.COUNTRY_NAME: "country",
    x509.NameOID.STATE_OR_PROVINCE_NAME: "state", x509.NameOID.LOCALITY_NAME: "city",
    x509.NameOID.ORGANIZATION_NAME: "organization", x509.NameOID.ORGANIZATIONAL_UNIT_NAME: "ou",
    x509.NameOID.EMAIL_ADDRESS: "emailAddress",
}  # fmt: skip


def crypto_item(device: Device, obj: Obj, extra_query: str = "") -> dict[str, Any]:
    """The file `obj` as sys/crypto shows it."""
    word = "cert" if obj.key.type == CERT else "key"
    shown: dict[str, Any] = {
        "kind": f"tm:sys:crypto:{word}:{word}state", "name": obj.key.path, "fullPath": obj.key.path,
        "generation": obj.generation,
        "selfLink": device.renderer.link(f"sys/crypto/{word}/{to_segment(obj.key.path)}", extra_query),
    }  # fmt: skip
    facts = device.renderer.item(obj)
    return shown | (_certificate(obj, facts) if word == "cert" else _key(facts))


def _certificate(obj: Obj, facts: dict[str, Any]) -> dict[str, Any]:
    raw = {
        "certificateKeySize": str(facts.get("certificateKeySize", "")), "expiration": facts.get("expirationString", ""),
        "issuer": facts.get("issuer", ""), "publicKeyType": str(facts["keyType"]).partition("-")[0].upper(),
    }  # fmt: skip
    shown: dict[str, Any] = {"apiRawValues": {name: value for name, value in raw.items() if value}}
    text = text_of(obj)
    if not text:
        return shown
    for attribute in pem.certificates(text)[0].subject:
        if attribute.oid in _PARTS:
            shown.setdefault(_PARTS[attribute.oid], str(attribute.value))
    kept = ("fingerprint", "subjectAlternativeName")
    return shown | {name: facts[name] for name in kept if name in facts}


def _key(facts: dict[str, Any]) -> dict[str, Any]:
    return {"keySize": str(facts["keySize"]), "keyType": facts["keyType"], "securityType": facts["securityType"]}

"""Certificates, keys and revocation lists as files on the device.

The text of an uploaded file is stored with the object (never shown), so that virtual servers can use it. `sourcePath`
is resolved by the REST layer, which puts a `Content` into the body as `content`. Properties of the content (subject,
key size and so on) are computed from the text on each read.

Fields and their forms: `ssl-key` from a listing of 14.1.2.1 in CiscoTestAutomation/genieparser, `ssl-crl` from one of
13.0.0 in e-XpertSolutions/f5-rest-client, `ssl-cert` from 13.0 likewise.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator import errors
from icontrol_emulator.config import pem
from icontrol_emulator.config.factory_files import default_certificate, default_key
from icontrol_emulator.config.model import Obj
from icontrol_emulator.config.rules.misc import BuiltInRules, check_users
from icontrol_emulator.config.schema import Context, TypeRules, names
from icontrol_emulator.errors import IControlError

CERT = "sys/file/ssl-cert"
KEY = "sys/file/ssl-key"
CRL = "sys/file/ssl-crl"
FILE_FACTS = names("checksum createTime createdBy lastUpdateTime revision size updatedBy")
FACTORY = {"default.crt": default_certificate, "default.key": default_key}


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a file, and the user who uploaded it."""

    text: str
    user: str

    def __repr__(self) -> str:
        return f"Content({len(self.text)} characters)"


def text_of(obj: Obj) -> str:
    """The file's text; empty for a bundle that comes with the device."""
    own = obj.props.get("_text")
    if own is not None:
        return str(own)
    made = FACTORY.get(obj.name) if obj.props.get("_system") else None
    return made() if made is not None else ""


def key_text(obj: Obj, passphrase: str = "") -> str:
    """The decrypted private key, with the passphrase stored with the file or the given one."""
    return pem.in_the_clear(text_of(obj), str(obj.props.get("_passphrase") or passphrase))


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FileRules(BuiltInRules):
    """Properties of all file objects: size, checksum, revision."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        content = props.pop("content", None)
        if not isinstance(content, Content):
            if old is None:
                raise errors.missing_property("sourcePath")
            return
        try:
            self.read(content.text, str(props.get("passphrase") or ""))
        except pem.BadPem as error:
            raise errors.unknown_format(draft.key.path) from error
        props.update(
            _text=content.text,
            _revision=old.props.get("_revision", 1) + 1 if old else 1,
            _updated=_stamp(ctx.now()),
            _updated_by=content.user,
        )
        props.setdefault("_created", props["_updated"])
        props.setdefault("_created_by", content.user)

    def read(self, text: str, passphrase: str) -> None:
        """Raises `BadPem` if the text is not of this type."""
        raise NotImplementedError

    def facts(self, obj: Obj, text: str) -> dict[str, Any]:
        """Properties computed from the text."""
        return {}

    def show(self, ctx: Context, obj: Obj, shown: dict[str, Any]) -> None:
        text = text_of(obj)
        data = text.encode()
        shown |= {
            "checksum": f"SHA1:{len(data)}:{hashlib.sha1(data, usedforsecurity=False).hexdigest()}",
            "createTime": obj.props.get("_created", "2021-11-01T00:00:00Z"),
            "createdBy": obj.props.get("_created_by", "root"),
            "lastUpdateTime": obj.props.get("_updated", "2021-11-01T00:00:00Z"),
            "revision": obj.props.get("_revision", 1),
            "size": len(data),
            "updatedBy": obj.props.get("_updated_by", "root"),
        }
        if text:
            shown |= self.facts(obj, text)

    def check(self, ctx: Context, obj: Obj) -> None:
        """A certificate and its key must still match in the profiles that use them."""
        check_users(ctx, obj.key.type, obj)

    def in_use(self, ctx: Context, obj: Obj, user: Obj) -> IControlError:
        return errors.file_in_use(obj.key.path)


class CertRules(FileRules):
    def read(self, text: str, passphrase: str) -> None:
        pem.certificates(text)

    def facts(self, obj: Obj, text: str) -> dict[str, Any]:
        found = pem.certificates(text)
        first = found[0]
        until = first.not_valid_after_utc
        size, curve = pem.size_and_curve(first.public_key())
        facts = {
            "certificateKeyCurveName": curve,
            "certificateKeySize": size,
            "expirationDate": int(until.timestamp()),
            "expirationString": f"{until:%b} {until.day:2d} {until:%H:%M:%S %Y} GMT",
            "fingerprint": pem.fingerprint(first),
            "isBundle": "true" if len(found) > 1 else "false",
            "issuer": first.issuer.rfc4514_string(),
            "keyType": f"{pem.kind_of_key(first.public_key())}-public",
            "serialNumber": pem.serial_number(first),
            "subject": first.subject.rfc4514_string(),
            "version": first.version.value + 1,
        }
        alternative = pem.alternative_names(first)
        return {**facts, "subjectAlternativeName": alternative} if alternative else facts


class KeyRules(FileRules):
    """Keys may be encrypted; a wrong passphrase is detected only in the profile that uses the key."""

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        super().normalise(ctx, draft, props, old)
        given = str(props.get("passphrase") or "")
        if given and not given.startswith("$M$"):
            props["_passphrase"] = given
            props["passphrase"] = f"$M$em${hashlib.sha256(given.encode()).hexdigest()[:24]}"

    def read(self, text: str, passphrase: str) -> None:
        if pem.is_encrypted(text):
            return
        pem.private_key(text)

    def facts(self, obj: Obj, text: str) -> dict[str, Any]:
        encrypted = pem.is_encrypted(text)
        facts: dict[str, Any] = {"securityType": "password" if encrypted else "normal"}
        try:
            key = pem.private_key(text, str(obj.props.get("_passphrase", "")))
        except (pem.BadPem, pem.BadPassphrase):
            return facts
        size, curve = pem.size_and_curve(key)
        return {**facts, "curveName": curve, "keySize": size, "keyType": f"{pem.kind_of_key(key)}-private"}


class CrlRules(FileRules):
    def read(self, text: str, passphrase: str) -> None:
        pem.revocation_lists(text)


class PlainFileRules(FileRules):
    """Files of any content."""

    def read(self, text: str, passphrase: str) -> None:
        return


class CryptoRules(TypeRules):
    """sys/crypto is a view of sys/file with commands; it has no storage of its own."""

    def __init__(self, file_type: str) -> None:
        self.file_type = file_type

    def normalise(self, ctx: Context, draft: Obj, props: dict[str, Any], old: Obj | None) -> None:
        raise errors.configuration_error("use the install command")

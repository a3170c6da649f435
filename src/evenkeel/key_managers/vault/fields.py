"""Fields of secrets in Vault: a certificate with its key, CA certificates, or a revocation list. Nothing is
read from Vault here; a child process decrypts encrypted keys and PKCS#12 files.
"""

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from evenkeel.core.kit.errors import CertificateError, CertificateUnreadable, Pkcs12Unreadable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import (
    CertificateBundle,
    CertificateFacts,
    CertificateKind,
    NewCertificate,
    Secret,
    StoredCertificate,
)
from evenkeel.key_managers.parsing import (
    authority_bundle,
    bundle_from_submitted_certificate,
    certificate_bundle,
    pem_or_pkcs12_bundle,
    read_revocation_list,
)
from evenkeel.key_managers.places import CertificateAddress

CERTIFICATE, PRIVATE_KEY, INTERMEDIATES = "certificate", "private_key", "intermediates"
"""Names of a secret's fields in PEM, equal to the names in Barbican's certificate containers."""
PASSPHRASE = "private_key_passphrase"  # noqa: S105  # a field name
"""Name of the field with the passphrase of the private key or PKCS#12 file."""
REVOCATION_LIST = "revocation_list"
"""Name of the field with a revocation list, in PEM."""
PKCS12 = "pkcs12"
"""Name of the field with a PKCS#12 file, in base64."""
VALUE = "value"
"""Name of the single field, in hexadecimal, in which castellan stores everything in one file."""


class NewFields(NamedTuple):
    """Fields of a new secret in Vault, and warnings about the submitted files."""

    fields: Mapping[str, str]
    warnings: tuple[str, ...] = ()


def fields_of_new_certificate(new: NewCertificate, reference: str) -> NewFields:
    """Check a submitted certificate, CA bundle or revocation list, and return the fields to store. Blocks
    while a child process reads PKCS#12 or an encrypted key. Raises :class:`CertificateError`.
    """
    if new.kind is CertificateKind.REVOCATION_LIST:
        return NewFields({REVOCATION_LIST: read_revocation_list(reference, new.content.reveal()).content})
    if new.kind is CertificateKind.AUTHORITY:
        return NewFields({CERTIFICATE: "".join(authority_bundle(reference, new.content.reveal()).certificates)})
    bundle = bundle_from_submitted_certificate(new, reference)
    fields = {
        CERTIFICATE: bundle.certificate,
        PRIVATE_KEY: bundle.private_key.reveal().decode("ascii"),
        INTERMEDIATES: "".join(bundle.intermediates),
    }
    return NewFields(fields, bundle.warnings)


def describe_certificate(place: CertificateAddress, fields: Mapping[str, str], created_at: str) -> StoredCertificate:
    """Return a secret's description for operators. For unusable content ``facts`` is None and ``sha256``
    empty. ``created_at``: time by RFC 3339; for any other text the description's time is 1970-01-01.
    """
    kind = _certificate_kind(fields)
    facts, sha256 = _certificate_facts(place.reference, kind, fields)
    try:
        changed_at = datetime.fromisoformat(created_at)
    except ValueError:
        changed_at = datetime.fromtimestamp(0, tz=UTC)
    return StoredCertificate(
        reference=place.reference,
        project_id=ProjectId(place.project_id),
        name=place.name,
        kind=kind,
        facts=facts,
        sha256=sha256,
        changed_at=changed_at,
    )


def _certificate_kind(fields: Mapping[str, str]) -> CertificateKind:
    if REVOCATION_LIST in fields:
        return CertificateKind.REVOCATION_LIST
    alone = CERTIFICATE in fields and PRIVATE_KEY not in fields
    return CertificateKind.AUTHORITY if alone else CertificateKind.CERTIFICATE


def _certificate_facts(
    reference: str, kind: CertificateKind, fields: Mapping[str, str]
) -> tuple[CertificateFacts | None, str]:
    try:
        if kind is CertificateKind.REVOCATION_LIST:
            return None, read_revocation_list(reference, fields[REVOCATION_LIST].encode()).sha256
        if kind is CertificateKind.AUTHORITY:
            authority = authority_bundle(reference, fields[CERTIFICATE].encode())
            return authority.facts, authority.sha256
        bundle = parse_bundle(reference, fields)
    except CertificateError:
        return None, ""
    return bundle.facts, bundle.sha256


def parse_bundle(reference: str, fields: Mapping[str, str]) -> CertificateBundle:
    """Parse and check a certificate with its key, from the fields of a secret: PEM files, a PKCS#12 file, or
    castellan's single field. Blocks while a child process reads PKCS#12 or an encrypted key. Raises
    :class:`CertificateError`.
    """
    passphrase = Secret(fields[PASSPHRASE].encode()) if fields.get(PASSPHRASE) else None
    if CERTIFICATE in fields:
        return certificate_bundle(
            reference,
            fields[CERTIFICATE].encode(),
            Secret(fields[PRIVATE_KEY].encode()) if PRIVATE_KEY in fields else None,
            intermediates=fields.get(INTERMEDIATES, "").encode(),
            passphrase=passphrase,
        )
    if PKCS12 in fields:
        return pem_or_pkcs12_bundle(reference, Secret(_from_base64(reference, fields[PKCS12])), passphrase)
    if VALUE in fields:
        return pem_or_pkcs12_bundle(
            reference, Secret(decode_hex_file(reference, fields[VALUE], CertificateUnreadable)), passphrase
        )
    raise CertificateUnreadable(reference, f"It has no field {CERTIFICATE}, {PKCS12} or {VALUE}.")


def _from_base64(reference: str, text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except ValueError:
        raise Pkcs12Unreadable(reference, f"{PKCS12} must be in base64.") from None


def decode_hex_file(reference: str, text: str, unreadable: type[CertificateError]) -> bytes:
    """Decode a file that castellan stored in hexadecimal. Raises the class ``unreadable`` if it is not
    hexadecimal.
    """
    try:
        return binascii.unhexlify(text)
    except ValueError:
        raise unreadable(reference, f"{VALUE} must be in hexadecimal.") from None

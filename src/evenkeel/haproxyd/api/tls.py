"""The daemon's TLS context, and certificates for operators without a CA."""

import os
import ssl
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from evenkeel.core.kit.values import Value

AUTHORITY_ORGANIZATION = "Even Keel"
AUTHORITY_UNIT = "evenkeel-haproxyd"
CERTIFICATE_VALIDITY = timedelta(days=730)
"""Validity of a certificate that ``--init`` issues."""


class CertificateFiles(Value):
    """Paths of the files that ``evenkeel-haproxyd --init`` makes: PEM, in one directory."""

    folder: Path

    @property
    def authority(self) -> Path:
        """Return the path of the CA certificate, which agents trust."""
        return self.folder / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """Return the path of the CA's private key, with which certificates are issued to further hosts."""
        return self.folder / "ca.key"

    @property
    def certificate(self) -> Path:
        """Return the path of this host's certificate with its chain."""
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        """Return the path of this host's private key."""
        return self.folder / "server.key"


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Build a server context for TLS 1.2 or newer from PEM files. Raises :class:`ValueError` naming both
    files if one cannot be read or the key does not belong to the certificate; the text has none of their
    content.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise ValueError(
            f"tls_certificate, tls_key: {certificate}, {key}: not a certificate and its key in PEM form"
        ) from error
    except OSError as error:
        raise ValueError(f"tls_certificate, tls_key: {certificate}, {key}: {error.strerror}") from error
    return context


def authority_key_advice(certificate: Path) -> str:
    """Return advice to operators if an attacker who takes over this process, or a worker of the same user, could read
    the private key of the CA beside ``certificate``. Empty if there is no such key, and for a daemon that runs as root:
    its workers run as other users and cannot read its files.
    """
    key = CertificateFiles(folder=certificate.parent).authority_key
    if os.geteuid() == 0 or not os.access(key, os.R_OK):
        return ""
    return f"{key}: the daemon does not need it; keep it where only root can read it, or on another host"


def make_certificates(folder: Path, names: Iterable[str]) -> CertificateFiles:
    """Issue a certificate for ``names`` (host names and addresses) by the private CA in ``folder``, which is
    created if it has none, and return the paths.

    Raises :class:`ValueError` if the folder has a certificate or key for this host already, :class:`OSError`
    if a file cannot be written.
    """
    files = CertificateFiles(folder=folder)
    if files.certificate.exists() or files.key.exists():
        raise ValueError(f"{folder}: there is a {files.certificate.name} or {files.key.name} already; nothing was made")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _load_or_create_authority(files)
    leaf = authority.issue_cert(
        *names,
        organization_name=AUTHORITY_ORGANIZATION,
        organization_unit_name=AUTHORITY_UNIT,
        not_after=datetime.now(UTC) + CERTIFICATE_VALIDITY,
    )
    _write_secret(files.key, leaf.private_key_pem.bytes())
    files.certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    return files


def _load_or_create_authority(files: CertificateFiles) -> trustme.CA:
    if files.authority.exists() and files.authority_key.exists():
        return trustme.CA.from_pem(files.authority.read_bytes(), files.authority_key.read_bytes())
    authority = trustme.CA(organization_name=AUTHORITY_ORGANIZATION, organization_unit_name=AUTHORITY_UNIT)
    _write_secret(files.authority_key, authority.private_key_pem.bytes())
    files.authority.write_bytes(authority.cert_pem.bytes())
    return authority


def _write_secret(path: Path, content: bytes) -> None:
    # The mode is given at creation, so that the file never exists with a wider one.
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)

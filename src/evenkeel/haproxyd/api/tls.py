"""The daemon's side of TLS, and certificates for those who have no authority of their own."""

import os
import ssl
from collections.abc import Iterable
from pathlib import Path

import trustme

from evenkeel.core.values import Value


class CertificateFiles(Value):
    """What ``--init`` makes: PEM files in one folder."""

    folder: Path

    @property
    def authority(self) -> Path:
        """For the agents: whom to trust."""
        return self.folder / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """For making further hosts' certificates."""
        return self.folder / "ca.key"

    @property
    def certificate(self) -> Path:
        """This host's, with its chain."""
        return self.folder / "server.pem"

    @property
    def key(self) -> Path:
        """This host's."""
        return self.folder / "server.key"


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.2 or newer. Raises :class:`ValueError` naming the file that cannot be used, never its content."""
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


def readable_authority_key(certificate: Path) -> str:
    """What to do about an authority's key that whoever took this process or a worker of the same user over could read;
    empty if there is none. A daemon of root's is another matter: its workers cannot read what it can."""
    key = CertificateFiles(folder=certificate.parent).authority_key
    if os.geteuid() == 0 or not os.access(key, os.R_OK):
        return ""
    return f"{key}: the daemon does not need it; keep it where only root can read it, or on another host"


def make_certificates(folder: Path, names: Iterable[str]) -> CertificateFiles:
    """Make a private authority, unless the folder has one, and a certificate of it for ``names`` (host names and
    addresses). Raises :class:`ValueError` if this host's certificate is there already."""
    files = CertificateFiles(folder=folder)
    if files.certificate.exists() or files.key.exists():
        raise ValueError(f"{folder}: there is a {files.certificate.name} or {files.key.name} already; nothing was made")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = _authority(files)
    leaf = authority.issue_cert(*names)
    _write_secret(files.key, leaf.private_key_pem.bytes())
    files.certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    return files


def _authority(files: CertificateFiles) -> trustme.CA:
    if files.authority.exists() and files.authority_key.exists():
        return trustme.CA.from_pem(files.authority.read_bytes(), files.authority_key.read_bytes())
    authority = trustme.CA(organization_name="evenkeel", organization_unit_name="haproxyd")
    _write_secret(files.authority_key, authority.private_key_pem.bytes())
    files.authority.write_bytes(authority.cert_pem.bytes())
    return authority


def _write_secret(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(content)

"""Certificates of the devices: issued by the emulator's own CA, or read from files."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import trustme

ALWAYS_VALID_FOR = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files; clients are to trust `ca`."""

    cert: Path
    key: Path
    ca: Path


def make_files(folder: Path, names: Iterable[str]) -> TlsFiles:
    """Issue one certificate for all devices; writes ca.pem, cert.pem and key.pem."""
    authority = trustme.CA()
    leaf = authority.issue_cert(*dict.fromkeys([*ALWAYS_VALID_FOR, *names]))
    files = TlsFiles(folder / "cert.pem", folder / "key.pem", folder / "ca.pem")
    authority.cert_pem.write_to_path(str(files.ca))
    leaf.private_key_pem.write_to_path(str(files.key))
    files.key.chmod(0o600)
    files.cert.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    return files


def server_context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.cert, files.key)
    return context

"""PEM files split into blocks by label (RFC 7468), before any block is parsed."""

import codecs
import re
from collections.abc import Iterator

from evenkeel.core.kit.errors import CertificateTooLarge
from evenkeel.core.kit.values import Value

_BLOCK_PATTERN = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----(?:[^-]|-(?!----))*-----END \1-----")
"""Matches one PEM block, whose body ends at the next five dashes, so that malformed input is scanned only once."""


class PemFile(Value):
    """The PEM blocks of a file by kind, each kind in the order of the file."""

    certificates: tuple[bytes, ...] = ()
    private_keys: tuple[bytes, ...] = ()
    revocation_lists: tuple[bytes, ...] = ()
    pkcs7: tuple[bytes, ...] = ()
    """Blocks of PKCS#7 (RFC 2315), in which Windows exports chains."""


def split_pem(content: bytes) -> PemFile:
    """Split a file into its blocks of certificates, keys, revocation lists and PKCS#7, unparsed; text between
    blocks and other blocks (such as EC PARAMETERS) are ignored.
    """
    blocks = list(_find_pem_blocks(_convert_to_ascii(content)))
    return PemFile(
        certificates=_pem_blocks_with_labels(blocks, b"CERTIFICATE", b"X509 CERTIFICATE"),
        private_keys=tuple(block for label, block in blocks if label.endswith(b"PRIVATE KEY")),
        revocation_lists=_pem_blocks_with_labels(blocks, b"X509 CRL"),
        pkcs7=_pem_blocks_with_labels(blocks, b"PKCS7"),
    )


def _convert_to_ascii(content: bytes) -> bytes:
    """Return the content in ASCII, converted from UTF-16 if it has a byte order mark: PowerShell redirects output in
    UTF-16.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace").encode("ascii", errors="replace")
    return content


def check_size(content: bytes, limit_bytes: int, reference: str) -> None:
    """Raise :class:`CertificateTooLarge`, naming ``reference``, for content over the limit."""
    if len(content) > limit_bytes:
        raise CertificateTooLarge(reference, f"There may be {limit_bytes} bytes, and there are {len(content)}.")


def _pem_blocks_with_labels(blocks: list[tuple[bytes, bytes]], *labels: bytes) -> tuple[bytes, ...]:
    return tuple(block for label, block in blocks if label in labels)


def _find_pem_blocks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    for found in _BLOCK_PATTERN.finditer(content):
        yield found[1], found[0] + b"\n"

"""PKCS#12 files (RFC 7292) converted to PEM in a child process: the work that a file requests is partly encrypted, so
it cannot be checked before.
"""

import codecs

import msgspec

from evenkeel.core.kit.errors import CertificateTooLarge, Pkcs12Unreadable
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import CERTIFICATE_BYTES_MAX, CertificateBundle, Secret
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.child_process import READ_SECONDS, UnparsedContent, parse_in_child_process
from evenkeel.key_managers.parsing.keys import PASSPHRASE_BYTES_MAX
from evenkeel.key_managers.parsing.pem import check_size

CHILD = "evenkeel.key_managers.parsing.pkcs12_child"


class Pkcs12Parts(Value):
    """The contents of a PKCS#12 file in PEM, as the child process outputs them."""

    certificate: bytes
    private_key: bytes
    intermediates: list[bytes]
    """Intermediate certificates in chain order."""

    def __repr__(self) -> str:
        return "<Pkcs12Parts: hidden>"


def pkcs12_bundle(
    reference: str, content: bytes, passphrase: Secret | None = None, *, timeout_seconds: float = READ_SECONDS
) -> CertificateBundle:
    """Parse and check a certificate with its chain and key in a PKCS#12 file, which a child process reads.
    Blocks for at most ``timeout_seconds``. Raises :class:`CertificateError` naming ``reference``.
    """
    check_size(content, CERTIFICATE_BYTES_MAX, reference)
    word = passphrase.reveal() if passphrase else b""
    if len(word) > PASSPHRASE_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its passphrase may have {PASSPHRASE_BYTES_MAX} bytes.")
    try:
        found = parse_in_child_process(CHILD, content, word, timeout_seconds=timeout_seconds)
        parts = msgspec.msgpack.decode(found, type=Pkcs12Parts)
    except UnparsedContent as error:
        raise Pkcs12Unreadable(reference, str(error)) from None
    except msgspec.DecodeError:
        raise Pkcs12Unreadable(reference) from None
    return certificate_bundle(
        reference, parts.certificate, Secret(parts.private_key), intermediates=b"".join(parts.intermediates)
    )


def pem_or_pkcs12_bundle(reference: str, content: Secret, passphrase: Secret | None = None) -> CertificateBundle:
    """Parse and check a certificate with its chain and key in one file, PEM or PKCS#12. Blocks while a child
    process reads PKCS#12 or an encrypted key. Raises :class:`CertificateError` naming ``reference``.
    """
    file = content.reveal()
    # Anywhere in the file: text may stand before the first PEM block (RFC 7468).
    if b"-----BEGIN " in file or file.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return certificate_bundle(reference, file, passphrase=passphrase)
    return pkcs12_bundle(reference, file, passphrase)

"""PKCS#12 files (RFC 7292) converted to PEM, in a process of their own.

A file of a few kilobytes can request key derivation rounds, or contain primes, that keep the library busy for hours,
and part of that is encrypted, so it cannot be checked before. A thread inside the library cannot be stopped; a process
can be killed.
"""

import base64
import signal
import subprocess
import sys

import msgspec

from evenkeel.core.certificates import CERTIFICATE_BYTES_MAX, CertificateBundle, Secret
from evenkeel.core.errors import CertificateTooLarge, Pkcs12Unreadable
from evenkeel.core.values import Value
from evenkeel.key_managers.parsing.bundles import certificate_bundle
from evenkeel.key_managers.parsing.keys import PASSPHRASE_BYTES_MAX
from evenkeel.key_managers.parsing.pem import check_size

READ_SECONDS = 10.0
"""Usual files take 0.2 s, most of it the start of the process."""
_OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL)
"""Signals that end a process over its CPU time limit."""
CHILD = "evenkeel.key_managers.parsing.pkcs12_child"


class Pkcs12Parts(Value):
    """The child process's output, in PEM."""

    certificate: bytes
    private_key: bytes
    intermediates: list[bytes]
    """In chain order."""

    def __repr__(self) -> str:
        return "<Pkcs12Parts: hidden>"


def pkcs12_bundle(
    reference: str, content: bytes, passphrase: Secret | None = None, *, timeout_seconds: float = READ_SECONDS
) -> CertificateBundle:
    """The bundle in a PKCS#12 file. Blocks for at most ``timeout_seconds``. Raises :class:`CertificateError` naming
    ``reference``."""
    check_size(content, CERTIFICATE_BYTES_MAX, reference)
    word = passphrase.reveal() if passphrase else b""
    if len(word) > PASSPHRASE_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its passphrase may have {PASSPHRASE_BYTES_MAX} bytes.")
    try:
        done = subprocess.run(  # noqa: S603  # runs this interpreter with a module of ours
            [sys.executable, "-m", CHILD],
            input=base64.b64encode(word) + b"\n" + content,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=timeout_seconds,
            check=True,
        )
        parts = msgspec.msgpack.decode(done.stdout, type=Pkcs12Parts)
    except subprocess.TimeoutExpired:
        raise Pkcs12Unreadable(reference, f"It could not be decrypted within {timeout_seconds:g} s.") from None
    except subprocess.CalledProcessError as error:
        detail = "It takes too much work to decrypt." if -error.returncode in _OUT_OF_TIME else ""
        raise Pkcs12Unreadable(reference, detail) from None
    except msgspec.DecodeError:
        raise Pkcs12Unreadable(reference) from None
    return certificate_bundle(
        reference, parts.certificate, Secret(parts.private_key), intermediates=b"".join(parts.intermediates)
    )


def any_bundle(reference: str, content: Secret, passphrase: Secret | None = None) -> CertificateBundle:
    """The bundle in one file, PEM or PKCS#12. Raises :class:`CertificateError` naming ``reference``."""
    file = content.reveal()
    if b"-----BEGIN " in file:
        return certificate_bundle(reference, file, passphrase=passphrase)
    return pkcs12_bundle(reference, file, passphrase)

"""The process that reads one PKCS#12 file: from standard input the passphrase in base64, a line break and the file; to
standard output its parts. It ends with 1 if there is nothing to tell, and says nothing else."""

import base64
import os
import resource
import sys
import warnings
from collections.abc import Iterable, Iterator

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from evenkeel.key_managers.parsing.chains import has_signed
from evenkeel.key_managers.parsing.foreign import FOREIGN
from evenkeel.key_managers.parsing.pkcs12 import Pkcs12Parts

ADDRESS_SPACE_BYTES = 1 << 30
"""The process itself takes a third of it; a file may ask for any amount of memory."""
CPU_SECONDS = 2
"""Of its time on processors; it takes a fifth of a second to start, and a million rounds of key derivation half a one.
Whoever refers to a thousand files has a thousand read again and again."""
NICENESS = 5
"""Everything else that controllers do goes first."""


def main() -> int:
    """Read, tell."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # it would hold the key
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.nice(NICENESS)
    word, _, content = sys.stdin.buffer.read().partition(b"\n")
    try:
        parts = parts_of(content, base64.b64decode(word))
    except (*FOREIGN, MemoryError):
        return 1
    sys.stdout.buffer.write(msgspec.msgpack.encode(parts))
    return 0


def parts_of(content: bytes, passphrase: bytes) -> Pkcs12Parts:
    """Raises one of :data:`FOREIGN`."""
    with warnings.catch_warnings(action="ignore"):  # about files in BER, which older tools write
        try:
            bundle = load_pkcs12(content, passphrase or None)
        except ValueError:
            if passphrase:
                raise
            bundle = load_pkcs12(content, b"")  # no passphrase and an empty one are not the same to writers of files
    if bundle.key is None or bundle.cert is None:
        raise ValueError("no key or no certificate")
    chain = in_order(bundle.cert.certificate, [item.certificate for item in bundle.additional_certs])
    return Pkcs12Parts(
        certificate=bundle.cert.certificate.public_bytes(Encoding.PEM),
        private_key=bundle.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        intermediates=[certificate.public_bytes(Encoding.PEM) for certificate in chain],
    )


def in_order(leaf: x509.Certificate, others: Iterable[x509.Certificate]) -> Iterator[x509.Certificate]:
    """Sorted into the chain, because the bags of a file have no order; those that are not of it come last, for the
    check of the chain to find."""
    left, last = [other for other in others if other != leaf], leaf
    while issuer := next((other for other in left if has_signed(other, last)), None):
        left.remove(issuer)
        yield issuer
        last = issuer
    yield from left


if __name__ == "__main__":
    sys.exit(main())

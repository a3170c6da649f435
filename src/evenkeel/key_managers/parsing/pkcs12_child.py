"""The process that parses one PKCS#12 file. Standard input: the passphrase in base64, a line break and the file;
standard output: the parts. Exits with 1, without output, if the file cannot be parsed."""

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
"""The process itself uses a third of it; a file can request any amount of memory."""
CPU_SECONDS = 2
"""CPU time limit. The process needs 0.2 s to start, and a million rounds of key derivation take 0.5 s. Kept low because
one tenant can refer to a thousand files, which are all read again regularly."""
NICENESS = 5
"""The controllers' other work has priority."""


def main() -> int:
    """Read, parse, write the parts."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would contain the key
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
    """The parts of a file. Raises one of :data:`FOREIGN`."""
    with warnings.catch_warnings(action="ignore"):  # BER, which older tools write, causes warnings
        try:
            bundle = load_pkcs12(content, passphrase or None)
        except ValueError:
            if passphrase:
                raise
            bundle = load_pkcs12(content, b"")  # some writers use an empty passphrase for "none"
    if bundle.key is None or bundle.cert is None:
        raise ValueError("no key or no certificate")
    chain = in_order(bundle.cert.certificate, [item.certificate for item in bundle.additional_certs])
    return Pkcs12Parts(
        certificate=bundle.cert.certificate.public_bytes(Encoding.PEM),
        private_key=bundle.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        intermediates=[certificate.public_bytes(Encoding.PEM) for certificate in chain],
    )


def in_order(leaf: x509.Certificate, others: Iterable[x509.Certificate]) -> Iterator[x509.Certificate]:
    """The certificates sorted into the chain, because a file's bags are unordered; those outside the chain come last,
    so that the later check of the chain finds them."""
    left, last = [other for other in others if other != leaf], leaf
    while issuer := next((other for other in left if has_signed(other, last)), None):
        left.remove(issuer)
        yield issuer
        last = issuer
    yield from left


if __name__ == "__main__":
    sys.exit(main())

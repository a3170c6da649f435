"""The child process that parses one PKCS#12 file; its output is an encoded :class:`Pkcs12Parts`."""

import sys
import warnings
from collections.abc import Iterable, Iterator

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from evenkeel.key_managers.parsing.chains import has_signed
from evenkeel.key_managers.parsing.child_process import run_parser
from evenkeel.key_managers.parsing.pkcs12 import Pkcs12Parts


def parse_pkcs12(content: bytes, passphrase: bytes) -> bytes:
    """Parse a PKCS#12 file; return :class:`Pkcs12Parts`, encoded in MessagePack. Raises one of
    :data:`evenkeel.key_managers.parsing.foreign.PARSER_ERRORS`.
    """
    return msgspec.msgpack.encode(read_parts(content, passphrase))


def read_parts(content: bytes, passphrase: bytes) -> Pkcs12Parts:
    """Return certificate, key and intermediates of a PKCS#12 file. Raises one of
    :data:`evenkeel.key_managers.parsing.foreign.PARSER_ERRORS`, such as :class:`ValueError` for a wrong
    passphrase or a file without key or certificate.
    """
    with warnings.catch_warnings(action="ignore"):  # BER, which older tools write, causes warnings
        try:
            bundle = load_pkcs12(content, passphrase or None)
        except ValueError:
            if passphrase:
                raise
            bundle = load_pkcs12(content, b"")  # some writers use an empty passphrase for "none"
    if bundle.key is None or bundle.cert is None:
        raise ValueError("no key or no certificate")
    chain = sort_chain(bundle.cert.certificate, [item.certificate for item in bundle.additional_certs])
    return Pkcs12Parts(
        certificate=bundle.cert.certificate.public_bytes(Encoding.PEM),
        private_key=bundle.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        intermediates=[certificate.public_bytes(Encoding.PEM) for certificate in chain],
    )


def sort_chain(leaf: x509.Certificate, others: Iterable[x509.Certificate]) -> Iterator[x509.Certificate]:
    """Yield the intermediates in the order of the chain, because a file's bags are unordered.

    Certificates outside the chain come last, so that the later check of the chain finds them.
    """
    left, last = [other for other in others if other != leaf], leaf
    while issuer := next((other for other in left if has_signed(other, last)), None):
        left.remove(issuer)
        yield issuer
        last = issuer
    yield from left


if __name__ == "__main__":
    sys.exit(run_parser(parse_pkcs12))

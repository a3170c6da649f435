"""The child process that decrypts one private key, a PEM block; its output is the key as unencrypted PKCS#8 in DER."""

import sys

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from evenkeel.key_managers.parsing.child_process import run_parser


def decrypt_key(pem: bytes, passphrase: bytes) -> bytes:
    """Return the decrypted private key as unencrypted PKCS#8 in DER. Raises one of
    :data:`evenkeel.key_managers.parsing.foreign.PARSER_ERRORS`.
    """
    key = load_pem_private_key(pem, passphrase, unsafe_skip_rsa_key_validation=True)  # the caller validates it
    return key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())


if __name__ == "__main__":
    sys.exit(run_parser(decrypt_key))

"""Private keys: parsed with or without a passphrase, and checked against their certificate."""

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from evenkeel.core.certificates import PrivateKey, Secret
from evenkeel.core.errors import (
    CertificateTooLarge,
    PassphraseNeeded,
    PassphraseWrong,
    PrivateKeyMismatch,
    PrivateKeyUnreadable,
)
from evenkeel.key_managers.parsing.der import work_factor_exceeded
from evenkeel.key_managers.parsing.facts import PublicKey
from evenkeel.key_managers.parsing.foreign import FOREIGN

KEY_BYTES_MAX = 8 * 1024
"""An encrypted RSA key of 8192 bits has 6.6 KiB. The time to check a key grows with the cube of its size."""
PASSPHRASE_BYTES_MAX = 1024
_PKCS8_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"

LoadedKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def read_private_key(pem: bytes, passphrase: Secret | None, reference: str) -> LoadedKey:
    """The key in a PEM block; a passphrase is ignored if the key is not encrypted.

    Raises :class:`CertificateError`.
    """
    if len(pem) > KEY_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its private key may have {KEY_BYTES_MAX} bytes.")
    encrypted = is_encrypted(pem)
    if encrypted:
        _check_passphrase(pem, passphrase, reference)
    try:
        key = load_pem_private_key(pem, passphrase.reveal() if encrypted and passphrase else None)
    except FOREIGN:
        kind = PassphraseWrong if encrypted else PrivateKeyUnreadable
        raise kind(reference) from None
    if isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        return key
    raise PrivateKeyUnreadable(reference)


def is_encrypted(pem: bytes) -> bool:
    """Whether the key is encrypted, as PKCS#8 or in OpenSSL's traditional format."""
    return _PKCS8_ENCRYPTED in pem or b"Proc-Type: 4,ENCRYPTED" in pem


def check_match(key: LoadedKey, public: PublicKey, reference: str) -> None:
    """Check that the key belongs to the public key. Raises :class:`PrivateKeyMismatch`."""
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if key.public_key().public_bytes(*form) != public.public_bytes(*form):
        raise PrivateKeyMismatch(reference)


def written_out(key: LoadedKey) -> PrivateKey:
    """The key as unencrypted PKCS#8 in PEM."""
    return PrivateKey(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _check_passphrase(pem: bytes, passphrase: Secret | None, reference: str) -> None:
    if passphrase is None or not passphrase.reveal():
        raise PassphraseNeeded(reference)
    if len(passphrase.reveal()) > PASSPHRASE_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its passphrase may have {PASSPHRASE_BYTES_MAX} bytes.")
    if _PKCS8_ENCRYPTED in pem and work_factor_exceeded(pem):  # OpenSSL's traditional format has one round
        raise PrivateKeyUnreadable(reference, "Its encryption takes too much work.")

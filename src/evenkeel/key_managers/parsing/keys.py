"""Private keys: parsed with or without a passphrase, and checked against their certificate.

The cost of a tenant's key is bounded: an encrypted key is decrypted in a process with limits. Of the others only RSA
and EC keys are parsed, without a test for primes, which takes seconds for large keys and holds the interpreter's lock
meanwhile. The numbers of an RSA key are checked against each other and against the certificate instead.
"""

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
)

from evenkeel.core.kit.errors import (
    CertificateTooLarge,
    PassphraseNeeded,
    PassphraseWrong,
    PrivateKeyUnreadable,
)
from evenkeel.core.tls.certificates import PrivateKey, Secret
from evenkeel.key_managers.parsing.child_process import UnparsedContent, parse_in_child_process
from evenkeel.key_managers.parsing.der import der_of_pem, is_rsa_or_ec, work_factor_exceeded
from evenkeel.key_managers.parsing.facts import PublicKey
from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS

KEY_BYTES_MAX = 8 * 1024
"""Maximum size of a key file; an encrypted RSA key of 8192 bits has 6.6 KiB."""
PASSPHRASE_BYTES_MAX = 1024
CHILD = "evenkeel.key_managers.parsing.encrypted_key_child"
_PKCS8_ENCRYPTED = b"-----BEGIN ENCRYPTED PRIVATE KEY-----"

LoadedKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def read_private_key(pem: bytes, passphrase: Secret | None, reference: str) -> LoadedKey:
    """Parse the RSA or EC key in a PEM block, decrypted with the passphrase if it is encrypted; else the
    passphrase is ignored. Blocks for at most
    :data:`evenkeel.key_managers.parsing.child_process.READ_SECONDS`.

    Raises :class:`CertificateError`: :class:`PassphraseNeeded`, :class:`PassphraseWrong`,
    :class:`PrivateKeyUnreadable` or, over a size limit, :class:`CertificateTooLarge`.
    """
    if len(pem) > KEY_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its private key may have {KEY_BYTES_MAX} bytes.")
    der = _decrypt_key(pem, passphrase, reference) if is_encrypted(pem) else der_of_pem(pem)
    if not is_rsa_or_ec(der):
        raise PrivateKeyUnreadable(reference, "It must be RSA or ECDSA.")
    try:
        key = load_der_private_key(der, None, unsafe_skip_rsa_key_validation=True)
    except PARSER_ERRORS:
        raise PrivateKeyUnreadable(reference) from None
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key
    if isinstance(key, rsa.RSAPrivateKey) and _numbers_are_consistent(key.private_numbers()):
        return key
    raise PrivateKeyUnreadable(reference)


def is_encrypted(pem: bytes) -> bool:
    """Whether the key in a PEM block is encrypted, as PKCS#8 or in OpenSSL's traditional format."""
    return _PKCS8_ENCRYPTED in pem or b"Proc-Type: 4,ENCRYPTED" in pem


def keys_match(key: LoadedKey, public: PublicKey) -> bool:
    """Whether the private key belongs to the public key."""
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(*form) == public.public_bytes(*form)


def encode_pkcs8_pem(key: LoadedKey) -> PrivateKey:
    """Return the key as unencrypted PKCS#8 in PEM."""
    return PrivateKey(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _numbers_are_consistent(numbers: rsa.RSAPrivateNumbers) -> bool:
    """Whether the numbers of an RSA private key fit each other: the factors give the modulus, the exponents
    and the coefficient follow from them (RFC 8017, 3.2).
    """
    p, q, d = numbers.p, numbers.q, numbers.d
    return (
        min(p, q) > 1
        and p * q == numbers.public_numbers.n
        and all(numbers.public_numbers.e * d % (factor - 1) == 1 for factor in (p, q))
        and (numbers.dmp1, numbers.dmq1) == (d % (p - 1), d % (q - 1))
        and numbers.iqmp * q % p == 1
    )


def _decrypt_key(pem: bytes, passphrase: Secret | None, reference: str) -> bytes:
    """Decrypt the key in a PEM block in a child process, and return it as unencrypted PKCS#8 in DER. Raises
    :class:`PassphraseNeeded` without a passphrase, :class:`PassphraseWrong`, :class:`CertificateTooLarge`
    for a long passphrase, :class:`PrivateKeyUnreadable` if that takes too much work.
    """
    word = passphrase.reveal() if passphrase else b""
    if not word:
        raise PassphraseNeeded(reference)
    if len(word) > PASSPHRASE_BYTES_MAX:
        raise CertificateTooLarge(reference, f"Its passphrase may have {PASSPHRASE_BYTES_MAX} bytes.")
    # OpenSSL's traditional format has one round
    if _PKCS8_ENCRYPTED in pem and work_factor_exceeded(der_of_pem(pem)):
        raise PrivateKeyUnreadable(reference, "Its encryption takes too much work.")
    try:
        return parse_in_child_process(CHILD, pem, word)
    except UnparsedContent as error:
        if str(error):
            raise PrivateKeyUnreadable(reference, str(error)) from None
        raise PassphraseWrong(reference) from None

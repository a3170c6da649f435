"""Password hashes: scrypt (RFC 7914), and their text format. Pure except for random salts.

A hash is written ``$scrypt$ln=14,r=8,p=1$<salt>$<key>``: the logarithm of the cost first, salt and key in
base64 without padding.
"""

import base64
import binascii
import hashlib
import hmac
import re
import secrets

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.values import Value

PASSWORD_BYTES_MAX = 1024
SALT_BYTES = 16
KEY_BYTES = 32
COST_LOG2, BLOCK_SIZE, PARALLELISM = 14, 8, 1
"""Parameters of scrypt for a new hash, which costs 16 MB and about 50 ms of CPU time."""
COST_LOG2_MAX, BLOCK_SIZE_MAX, PARALLELISM_MAX = 17, 16, 4
"""Highest accepted costs: higher ones would let a line of the file exhaust the process."""

_HASH_PATTERN = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{1,100})\$([A-Za-z0-9+/]{1,100})")


class PasswordHash(Value):
    """A password's salted hash, with the parameters of scrypt by which it was computed."""

    salt: bytes
    key: bytes
    cost_log2: int = COST_LOG2
    block_size: int = BLOCK_SIZE
    parallelism: int = PARALLELISM


def hash_password(password: str, salt: bytes) -> PasswordHash:
    """Compute the hash to store. Raises :class:`Invalid` unless the password has 1 to
    :data:`PASSWORD_BYTES_MAX` bytes in UTF-8, and no NUL.
    """
    raw = password.encode()
    if not 1 <= len(raw) <= PASSWORD_BYTES_MAX or b"\0" in raw:
        raise Invalid(f"The password has {len(raw)} bytes. Allowed: 1 to {PASSWORD_BYTES_MAX} bytes, no NUL.")
    return PasswordHash(salt=salt, key=derive_key(raw, PasswordHash(salt=salt, key=b"")))


def new_salt() -> bytes:
    """Return a random salt for one hash."""
    return secrets.token_bytes(SALT_BYTES)


def password_matches(password: bytes, stored: PasswordHash | None) -> bool:
    """Whether the password matches the hash. A mismatch takes the same time as a match, also for an unknown name
    (``stored`` None).
    """
    against = stored or _HASH_OF_UNKNOWN_USER
    # The password is cut before the hash, so that one of any length costs the same; the full length is checked
    # afterwards.
    same = hmac.compare_digest(derive_key(password[:PASSWORD_BYTES_MAX], against), against.key)
    return same and stored is not None and len(password) <= PASSWORD_BYTES_MAX


def derive_key(password: bytes, parameters: PasswordHash) -> bytes:
    """Compute the scrypt key of the password, with the salt, cost and key length of a hash; of
    :data:`KEY_BYTES` if the hash has no key yet.
    """
    cost, block = 1 << parameters.cost_log2, parameters.block_size
    return hashlib.scrypt(
        password,
        salt=parameters.salt,
        n=cost,
        r=block,
        p=parameters.parallelism,
        # OpenSSL refuses more than 32 MiB unless it is told otherwise. scrypt needs 128 * r * (N + p + 2) bytes; this
        # is twice that.
        maxmem=256 * block * (cost + parameters.parallelism + 2),
        dklen=len(parameters.key) or KEY_BYTES,
    )


def format_hash(stored: PasswordHash) -> str:
    """Format a hash as text, ``$scrypt$ln=14,r=8,p=1$<salt>$<key>``."""
    cost = f"ln={stored.cost_log2},r={stored.block_size},p={stored.parallelism}"
    return f"$scrypt${cost}${_encode_base64(stored.salt)}${_encode_base64(stored.key)}"


def parse_hash(text: str) -> PasswordHash:
    """Parse the text of a hash. Raises :class:`Invalid`, whose text contains only the cost, for another
    format, a cost above the maximum, or a short key.
    """
    found = _HASH_PATTERN.fullmatch(text)
    if found is None:
        raise Invalid("hash: not a scrypt hash. Allowed: $scrypt$ln=…,r=…,p=…$salt$key.")
    cost, block, parallel = (int(item) for item in found.groups()[:3])
    if not (1 <= cost <= COST_LOG2_MAX and 1 <= block <= BLOCK_SIZE_MAX and 1 <= parallel <= PARALLELISM_MAX):
        raise Invalid(
            f"hash: ln={cost},r={block},p={parallel}. Allowed: at most ln={COST_LOG2_MAX},r={BLOCK_SIZE_MAX},"
            f"p={PARALLELISM_MAX}."
        )
    stored = PasswordHash(
        salt=_decode_base64(found[4]),
        key=_decode_base64(found[5]),
        cost_log2=cost,
        block_size=block,
        parallelism=parallel,
    )
    # Many passwords match a key of few bytes.
    if len(stored.key) < SALT_BYTES:
        raise Invalid(f"hash: a key of {len(stored.key)} bytes. Allowed: {SALT_BYTES} and more.")
    return stored


def _encode_base64(raw: bytes) -> str:
    return base64.b64encode(raw).rstrip(b"=").decode()


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise Invalid("hash: salt or key is not base64.") from error


_HASH_OF_UNKNOWN_USER = PasswordHash(salt=new_salt(), key=secrets.token_bytes(KEY_BYTES))

"""The lines of a password file: ``user:project:roles:hash``, the hash by scrypt (RFC 7914).

A hash is written as ``$scrypt$ln=14,r=8,p=1$<salt>$<key>``, the cost's logarithm first, salt and key in base64
without padding. Everything here is pure; the salt is given.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Iterable

from evenkeel.api.identity.caller import checked_project, roles_of
from evenkeel.core.errors import Invalid
from evenkeel.core.values import Value

MAX_USERS = 10_000
MAX_PASSWORD_BYTES = 1024
SALT_BYTES = 16
KEY_BYTES = 32
COST_LOG2, BLOCK_SIZE, PARALLELISM = 14, 8, 1
MAX_COST_LOG2, MAX_BLOCK_SIZE, MAX_PARALLELISM = 17, 16, 4
"""More would let a line of the file stop the process."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_ROLE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HASH = re.compile(r"\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d)\$([A-Za-z0-9+/]{1,100})\$([A-Za-z0-9+/]{1,100})")


class Hash(Value):
    """A hashed password."""

    salt: bytes
    key: bytes
    cost_log2: int = COST_LOG2
    block_size: int = BLOCK_SIZE
    parallelism: int = PARALLELISM


class User(Value):
    """A line of the file."""

    name: str
    project_id: str
    roles: tuple[str, ...]
    hash: Hash


def hashed(password: str, salt: bytes) -> Hash:
    """The hash to be stored: some 50 ms and 16 MB of work. Raises :class:`Invalid` for what can be no password."""
    size = len(password.encode())
    if not 1 <= size <= MAX_PASSWORD_BYTES or "\0" in password:
        raise Invalid(f"The password has {size} bytes. Allowed: 1 to {MAX_PASSWORD_BYTES} bytes, no NUL.")
    return Hash(salt=salt, key=_key(password, Hash(salt=salt, key=b"")))


def matches(password: str, hash: Hash) -> bool:
    """Is it the password? Takes as long if not."""
    return hmac.compare_digest(_key(password[:MAX_PASSWORD_BYTES], hash), hash.key)


def _key(password: str, hash: Hash) -> bytes:
    cost, block = 1 << hash.cost_log2, hash.block_size
    return hashlib.scrypt(
        password.encode(),
        salt=hash.salt,
        n=cost,
        r=block,
        p=hash.parallelism,
        maxmem=256 * block * (cost + hash.parallelism + 2),
        dklen=len(hash.key) or KEY_BYTES,
    )


def checked_user(name: str, project_id: str, roles: Iterable[str], hash: Hash) -> User:
    """A user with allowed names. Raises :class:`Invalid` naming the field."""
    if not _NAME.fullmatch(name):
        raise Invalid(f"user: {name[:64]!r} is not 1 to 64 letters, digits, dots, dashes, underscores and @.")
    known = roles_of(roles)
    for role in known:
        if not _ROLE.fullmatch(role):
            raise Invalid(f"roles: {role[:64]!r} is not 1 to 64 letters, digits, dots, dashes and underscores.")
    return User(name=name, project_id=checked_project(project_id, "project"), roles=known, hash=hash)


def line_of(user: User) -> str:
    """The user as a line, without its end."""
    hash = user.hash
    cost = f"ln={hash.cost_log2},r={hash.block_size},p={hash.parallelism}"
    secret = f"$scrypt${cost}${_to_base64(hash.salt)}${_to_base64(hash.key)}"
    return f"{user.name}:{user.project_id}:{','.join(user.roles)}:{secret}"


def user_of(line: str) -> User:
    """The user of a line. Raises :class:`Invalid`, whose text tells nothing of the hash."""
    parts = line.split(":")
    if len(parts) != 4:
        raise Invalid(f"{len(parts)} fields. Allowed: user:project:roles:hash.")
    name, project_id, roles, secret = parts
    return checked_user(name, project_id, roles.split(","), _hash_of(secret))


def _hash_of(text: str) -> Hash:
    found = _HASH.fullmatch(text)
    if found is None:
        raise Invalid("hash: not a scrypt hash. Allowed: $scrypt$ln=…,r=…,p=…$salt$key.")
    cost, block, parallel = (int(item) for item in found.groups()[:3])
    if not (1 <= cost <= MAX_COST_LOG2 and 1 <= block <= MAX_BLOCK_SIZE and 1 <= parallel <= MAX_PARALLELISM):
        raise Invalid(
            f"hash: ln={cost},r={block},p={parallel}. Allowed: at most ln={MAX_COST_LOG2},r={MAX_BLOCK_SIZE},"
            f"p={MAX_PARALLELISM}."
        )
    salt, key = _from_base64(found[4]), _from_base64(found[5])
    if len(key) < SALT_BYTES:
        raise Invalid(f"hash: a key of {len(key)} bytes. Allowed: {SALT_BYTES} and more.")
    return Hash(salt=salt, key=key, cost_log2=cost, block_size=block, parallelism=parallel)


def users_of(text: str) -> dict[str, User]:
    """The users of a file by name; empty lines and lines that begin with # are comments.

    Raises :class:`Invalid` naming the line's number.
    """
    users: dict[str, User] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            user = user_of(line.strip())
        except Invalid as error:
            raise Invalid(f"line {number}: {error}") from error
        if user.name in users:
            raise Invalid(f"line {number}: user {user.name!r} is there twice.")
        users[user.name] = user
        if len(users) > MAX_USERS:
            raise Invalid(f"line {number}: more than {MAX_USERS} users.")
    return users


def _to_base64(raw: bytes) -> str:
    return base64.b64encode(raw).rstrip(b"=").decode()


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise Invalid("hash: salt or key is not base64.") from error

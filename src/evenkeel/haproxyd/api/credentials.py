"""Who may talk to the daemon: one name and password per agent (HTTP basic), in a file of ``name:hash`` lines.

Hashes are scrypt's, so a stolen file costs its reader; a password that was verified once is remembered as a keyed
digest, so a request costs none of that. Others wait for their turn (:mod:`evenkeel.serving.login_queue`), and wrong
ones are answered late. The file is read again when it changes. Passwords are never logged.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
from functools import partial
from pathlib import Path

import structlog

from evenkeel.core.values import Value
from evenkeel.serving.login_queue import LoginQueue, TooManyAttempts

__all__ = ["Credentials", "TooManyAttempts", "WrongCredentials", "add_agent", "hash_password", "read_hashes"]

log = structlog.get_logger(__name__)

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
PASSWORD_BYTES_MAX = 1024
PASSWORD_CHARS_MIN = 12
COST, BLOCK, PARALLEL = 1 << 14, 8, 1
"""scrypt's N, r and p: 16 MB and some 50 ms."""
MEMORY_BYTES_MAX = 64 * 1024 * 1024
WRONG_SECONDS = 0.5
"""How much later a wrong password is answered."""


class WrongCredentials(Exception):
    """No such name, or not its password."""


class Hash(Value):
    """A password's salt and scrypt hash."""

    cost: int
    salt: bytes
    digest: bytes


def hash_password(password: str) -> str:
    """A new line's second half: ``scrypt$N$salt$digest``."""
    salt = secrets.token_bytes(16)
    digest = _scrypt(password.encode(), salt, COST)
    return f"scrypt${COST}${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


def add_agent(file: Path, name: str, password: str) -> None:
    """Append a name, or give it another password; the file is replaced as a whole, mode 0600.

    Raises :class:`ValueError` naming what is not allowed.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"name: {name!r} is not 1 to 64 letters, digits or . _ @ -, beginning with a letter or digit")
    if len(password) < PASSWORD_CHARS_MIN or len(password.encode()) > PASSWORD_BYTES_MAX:
        raise ValueError(
            f"password: must have at least {PASSWORD_CHARS_MIN} characters, at most {PASSWORD_BYTES_MAX} bytes"
        )
    there = file.read_text().splitlines() if file.exists() else []
    lines = [line for line in there if line.partition(":")[0] != name]
    lines.append(f"{name}:{hash_password(password)}")
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write("\n".join(lines) + "\n")
        out.flush()
        os.fsync(out.fileno())
    fresh.replace(file)


def read_hashes(file: Path) -> dict[str, Hash]:
    """By name. Raises :class:`ValueError` naming file and line, never their content."""
    try:
        if file.stat().st_mode & 0o077:
            raise ValueError(f"credentials_file: {file}: others than its owner may read it; chmod 600 it")
        lines = file.read_text().splitlines()
    except OSError as error:
        raise ValueError(f"credentials_file: {file}: {error.strerror}") from error
    found: dict[str, Hash] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            name, hashed = _parse(line, f"credentials_file: {file}, line {number}")
            found[name] = hashed
    return found


class Credentials:
    """The file, and what was verified against it. Raises :class:`ValueError` if it cannot be used."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._hashes = read_hashes(file)
        self._seen = _identity(file)
        self._key = secrets.token_bytes(32)
        self._verified: dict[str, bytes] = {}
        self._checks = LoginQueue()

    async def agent(self, authorization: str, *, peer: str) -> str:
        """The agent's name, from the header. Raises :class:`WrongCredentials`, :class:`TooManyAttempts`."""
        name, password = _basic(authorization)
        self._read_again_if_changed()
        digest = hashlib.blake2b(name.encode() + b"\0" + password, key=self._key).digest()
        if hmac.compare_digest(self._verified.get(name, b""), digest):
            return name
        known = self._hashes.get(name)
        if not await self._checks.is_right(digest, peer, partial(_matches, password, known)):
            log.warning("wrong credentials", agent=name if NAME.fullmatch(name) else "not a name", peer=peer)
            await asyncio.sleep(WRONG_SECONDS)
            raise WrongCredentials
        if self._hashes.get(name) is not known:
            raise TooManyAttempts  # the file has changed meanwhile: it may have another password now
        self._verified[name] = digest
        return name

    def _read_again_if_changed(self) -> None:
        identity = _identity(self._file)
        if identity == self._seen:
            return
        self._seen = identity
        try:
            self._hashes = read_hashes(self._file)
        except ValueError as error:
            log.error("credentials not read again; the earlier ones hold", reason=str(error))
            return
        self._verified.clear()
        log.info("credentials read again", agents=len(self._hashes))


def _parse(line: str, where: str) -> tuple[str, Hash]:
    name, _, rest = line.strip().partition(":")
    try:
        kind, cost, salt, digest = rest.split("$")
        hashed = Hash(
            cost=int(cost),
            salt=base64.b64decode(salt, validate=True),
            digest=base64.b64decode(digest, validate=True),
        )
    except (ValueError, binascii.Error) as error:
        raise ValueError(f"{where}: not name:scrypt$N$salt$hash") from error
    if kind != "scrypt" or not NAME.fullmatch(name) or not _is_cost(hashed.cost):
        raise ValueError(f"{where}: not name:scrypt$N$salt$hash")
    return name, hashed


def _is_cost(cost: int) -> bool:
    return 1 << 10 <= cost <= 1 << 15 and cost & (cost - 1) == 0


def _basic(authorization: str) -> tuple[str, bytes]:
    scheme, _, encoded = authorization.partition(" ")
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except (ValueError, binascii.Error) as error:
        raise WrongCredentials from error
    name, colon, password = decoded.partition(b":")
    if scheme.lower() != "basic" or not colon or len(decoded) > PASSWORD_BYTES_MAX + 64:
        raise WrongCredentials
    return name.decode(errors="replace"), password


def _matches(password: bytes, known: Hash | None) -> bool:
    """Is it the password? Takes as long for a name that is unknown."""
    against = known or _NOBODY
    return hmac.compare_digest(_scrypt(password, against.salt, against.cost), against.digest) and known is not None


def _scrypt(password: bytes, salt: bytes, cost: int) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=cost, r=BLOCK, p=PARALLEL, maxmem=MEMORY_BYTES_MAX, dklen=32)


def _identity(file: Path) -> tuple[int, int, int]:
    try:
        status = file.stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)


_NOBODY = Hash(cost=COST, salt=b"nobody's salt...", digest=b"")
"""Verified against when the name is unknown, so that both take as long."""

"""Authentication of agents: one name and password per agent (HTTP basic), in a password file of ``name:hash`` lines.

A verified password is cached as a keyed digest, so that later requests need no scrypt. Other attempts are queued
(:mod:`evenkeel.serving.login_queue`), and the answer to a wrong password is delayed. Passwords are never logged.
"""

import asyncio
import hashlib
import hmac
import secrets
from functools import partial
from pathlib import Path

import structlog

from evenkeel.core.kit.errors import Invalid
from evenkeel.serving.basic_auth import basic_credentials
from evenkeel.serving.login_queue import LoginQueue, TooManyAttempts
from evenkeel.serving.password_file import WatchedFile, is_valid_name, parse_lines, put_line, read_private
from evenkeel.serving.password_hash import (
    PASSWORD_BYTES_MAX,
    PasswordHash,
    format_hash,
    hash_password,
    new_salt,
    parse_hash,
    password_matches,
)

__all__ = ["AgentCredentials", "TooManyAttempts", "WrongCredentials", "add_agent", "read_hashes"]

log = structlog.get_logger(__name__)

PASSWORD_CHARS_MIN = 12
WRONG_PASSWORD_DELAY_SECONDS = 0.5
"""Delay of the answer to a wrong password."""


class WrongCredentials(Exception):
    """The Authorization header is no HTTP basic login, names an unknown agent, or has a wrong password."""


def add_agent(file: Path, name: str, password: str) -> None:
    """Add an agent, or change its password. Replaces the whole file, mode 0600.

    Raises :class:`ValueError` for a name or password that is not allowed, or a file that is no password file;
    :class:`OSError` if the file cannot be read or written.
    """
    if not is_valid_name(name):
        raise ValueError(f"name: {name!r} is not 1 to 64 letters, digits or . _ @ -, beginning with a letter or digit")
    if len(password) < PASSWORD_CHARS_MIN or len(password.encode()) > PASSWORD_BYTES_MAX or "\0" in password:
        raise ValueError(
            f"password: must have at least {PASSWORD_CHARS_MIN} characters, at most {PASSWORD_BYTES_MAX} bytes, no NUL"
        )
    try:
        put_line(file, name, f"{name}:{format_hash(hash_password(password, new_salt()))}", read_hashes)
    except Invalid as error:
        raise ValueError(f"{file}: {error}") from error


def read_hashes(file: Path) -> dict[str, PasswordHash]:
    """Read ``{agent name: password hash}``; if a name occurs twice, the last line counts.

    Raises :class:`Invalid` naming the bad line without its content, or if the file is too large, not UTF-8 or
    accessible to others; :class:`OSError` if it cannot be read.
    """
    return dict(agent for _, agent in parse_lines(read_private(file), _parse_agent_line))


def _parse_agent_line(line: str) -> tuple[str, PasswordHash]:
    name, _, secret = line.partition(":")
    if not is_valid_name(name):
        raise Invalid("not name:scrypt-hash: the name is not allowed.")
    try:
        return name, parse_hash(secret)
    except Invalid as error:
        raise Invalid(f"not name:scrypt-hash: {error}") from error


class AgentCredentials:
    """Checks agents' credentials against the password file, which is reloaded when it changes; caches
    verified passwords. The constructor raises :class:`ValueError` if the file cannot be used.
    """

    def __init__(self, file: Path) -> None:
        self._file = WatchedFile("credentials_file", file, read_hashes)
        self._key = secrets.token_bytes(32)
        self._verified: dict[str, bytes] = {}
        self._checks = LoginQueue()

    async def authenticate(self, authorization: str, *, peer: str) -> str:
        """Verify the password in an Authorization header and return the agent's name. ``peer``: the client's
        address.

        Raises :class:`WrongCredentials`, half a second after a wrong password; :class:`TooManyAttempts` if
        the queue of checks is full, or the password file changed during the check.
        """
        name, password = _parse_basic_authorization(authorization)
        if self._file.refresh():
            self._verified.clear()
        digest = hashlib.blake2b(name.encode() + b"\0" + password, key=self._key).digest()
        # scrypt costs tens of milliseconds, so a verified password is remembered by a keyed digest
        if hmac.compare_digest(self._verified.get(name, b""), digest):
            return name
        known = self._file.content.get(name)
        if not await self._checks.run_check(digest, peer, partial(password_matches, password, known)):
            # Text that is no name is not logged, because it may be a password in the wrong place.
            log.warning("wrong credentials", agent=name if is_valid_name(name) else "not a name", peer=peer)
            # slows down guessing, without costing processor time
            await asyncio.sleep(WRONG_PASSWORD_DELAY_SECONDS)
            raise WrongCredentials
        if self._file.content.get(name) is not known:
            raise TooManyAttempts  # the file changed in the meantime, and the password may have changed with it
        self._verified[name] = digest
        return name


def _parse_basic_authorization(authorization: str) -> tuple[str, bytes]:
    try:
        name, password = basic_credentials(authorization.encode(errors="replace"))
    except ValueError:
        raise WrongCredentials from None
    if len(name) + 1 + len(password) > PASSWORD_BYTES_MAX + 64:
        raise WrongCredentials
    return name.decode(errors="replace"), password

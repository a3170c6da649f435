"""HTTP basic against a password file: logins for those who have no identity service, with the stock clients.

Promises: a right password is remembered as a digest under a key that this process alone has, so that only the first
request with it costs a scrypt; a changed file ends what was remembered. A wrong one costs the same time whether the
user exists or not, and ever longer the more often it is tried for a name; how many are checked at once is bounded,
so that guessing cannot take the processors away from callers that are known.
"""

import asyncio
import base64
import binascii
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import structlog

from evenkeel.api.errors import Refusal
from evenkeel.api.identity.caller import MAX_HEADER_BYTES, Caller, Headers, Unauthenticated
from evenkeel.api.identity.passwords import KEY_BYTES, SALT_BYTES, Hash, User, matches
from evenkeel.api.identity.user_file import UserFile
from evenkeel.core.ports import Clock

log = structlog.get_logger(__name__)

CHALLENGE = 'Basic realm="evenkeel", charset="UTF-8"'
LOOK_SECONDS = 1.0
"""Between looks whether the file has changed."""
MAX_REMEMBERED = 10_000
CHECKED_AT_ONCE = 2
MAX_WAITING = 64
"""Logins that wait for their check; more are told to come back."""
FIRST_DELAY_SECONDS, LONGEST_DELAY_SECONDS = 0.25, 5.0
MAX_DELAYED = 1000
FORGIVEN_AFTER_SECONDS = 300.0


class Strikes:
    """How often a name was tried in vain, for as many names as memory is given to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def strike(self, name: str) -> float:
        """Count one; the seconds that the answer is to take."""
        now = self._clock.monotonic()
        count, last = self._counts.pop(name, (0, now))
        count = 1 if now - last > FORGIVEN_AFTER_SECONDS else min(count + 1, 32)
        self._counts[name] = (count, now)
        if len(self._counts) > MAX_REMEMBERED:
            self._counts.popitem(last=False)
        delay: float = min(FIRST_DELAY_SECONDS * 2 ** (count - 1), LONGEST_DELAY_SECONDS)
        return delay

    def forgive(self, name: str) -> None:
        """It was the right password."""
        self._counts.pop(name, None)


class PasswordFile:
    """Asks for HTTP basic."""

    def __init__(self, file: UserFile, clock: Clock, *, key: bytes | None = None) -> None:
        self._file = file
        self._clock = clock
        self._key = key or secrets.token_bytes(32)
        self._nobody = Hash(salt=secrets.token_bytes(SALT_BYTES), key=secrets.token_bytes(KEY_BYTES))
        self._remembered: dict[bytes, Caller] = {}
        self._strikes = Strikes(clock)
        self._turn = asyncio.Semaphore(CHECKED_AT_ONCE)
        self._waiting = 0
        self._delayed = 0
        self._next_look_seconds = clock.monotonic() + LOOK_SECONDS

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """The user of the file. Raises :class:`Unauthenticated`; :class:`Refusal` (429) when too many try at once."""
        given = headers.get(b"authorization")
        if given is None or len(given) > MAX_HEADER_BYTES:
            raise Unauthenticated(CHALLENGE)
        self._look()
        digest = hashlib.blake2b(given, key=self._key, digest_size=32).digest()
        return self._remembered.get(digest) or await self._log_in(given, digest)

    def _look(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_look_seconds:
            self._next_look_seconds = now + LOOK_SECONDS
            if self._file.refresh():
                self._remembered = {}

    async def _log_in(self, given: bytes, digest: bytes) -> Caller:
        name, password = credentials(given)
        user = self._file.users.get(name)
        if await self._is_right(password, user, digest):
            assert user is not None
            self._strikes.forgive(name)
            return self._remember(user, digest)
        await self._slow_down(name)
        raise Unauthenticated(CHALLENGE)

    async def _is_right(self, password: str, user: User | None, digest: bytes) -> bool:
        if self._waiting >= MAX_WAITING:
            raise Refusal(429, "Too many logins at once. Try again later.", headers=((b"retry-after", b"1"),))
        self._waiting += 1
        try:
            async with self._turn:
                if digest in self._remembered:  # the same login, while this one waited
                    return user is not None
                right = await asyncio.to_thread(matches, password, user.hash if user else self._nobody)
        finally:
            self._waiting -= 1
        return right and user is not None

    def _remember(self, user: User, digest: bytes) -> Caller:
        caller = Caller(project_id=user.project_id, roles=user.roles, user_id=user.name, user_name=user.name)
        if self._file.users.get(user.name) is user:  # else the file has changed meanwhile
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered = {}
            self._remembered[digest] = caller
        return caller

    async def _slow_down(self, name: str) -> None:
        delay_seconds = self._strikes.strike(name)
        log.warning("login refused", user=name[:64] if name.isprintable() else "?", delay_seconds=delay_seconds)
        if self._delayed >= MAX_DELAYED:
            return
        self._delayed += 1
        try:
            await self._clock.sleep(delay_seconds)
        finally:
            self._delayed -= 1


def credentials(header: bytes) -> tuple[str, str]:
    """User and password of an ``Authorization`` header (RFC 7617). Raises :class:`Unauthenticated`."""
    scheme, _, encoded = header.strip().partition(b" ")
    try:
        if scheme.lower() != b"basic":
            raise ValueError("another scheme")
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
        if not colon:
            raise ValueError("no colon")
    except (ValueError, binascii.Error):
        # no cause: it would hold the password
        raise Unauthenticated(CHALLENGE) from None
    return name, password

"""HTTP basic authentication with a password file, for clouds without an identity service.

A correct password is cached as a digest under a key of this process, so that only the first request with it costs a
scrypt; a changed file clears the cache. A wrong one takes the same time whether the user exists or not, and is answered
with a growing delay per name. Checks are queued fairly by address (:mod:`evenkeel.serving.login_queue`), so that
guessing neither exhausts the processors nor locks out valid logins. Behind proxies the address is that of the client.
"""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog

from evenkeel.api.identity.caller import MAX_HEADER_BYTES, Caller, Headers, Unauthenticated, client_address
from evenkeel.api.identity.users import User
from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.ports import Clock
from evenkeel.serving.basic_auth import basic_credentials
from evenkeel.serving.login_queue import LoginQueue, TooManyAttempts
from evenkeel.serving.password_file import WatchedFile, is_valid_name
from evenkeel.serving.password_hash import password_matches

log = structlog.get_logger(__name__)

CHALLENGE = 'Basic realm="evenkeel", charset="UTF-8"'
CHECK_SECONDS = 1.0
"""Interval of checks for changes of the file."""
MAX_REMEMBERED = 10_000
DELAY_AFTER_FAILURE = Backoff(initial_seconds=0.25, max_seconds=5.0)
"""Delay of the response to a wrong password, growing with the number of failures for the name."""
MAX_DELAYED = 1000
FORGIVEN_AFTER_SECONDS = 300.0


class FailedLogins:
    """Counts failed logins by user name, for a bounded number of names; the name with the oldest failure is
    dropped. Names that no user can have share one count, because clients choose them and they may be as
    long as a header.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counts: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def record_failure(self, name: str) -> float:
        """Count a failed login and return the delay of its response in seconds, which grows with each
        failure. Counting starts again :data:`FORGIVEN_AFTER_SECONDS` after the last failure.
        """
        name = name if is_valid_name(name) else ""
        now = self._clock.monotonic()
        count, last = self._counts.pop(name, (0, now))
        # Bounded: long before 32 failures the delay has reached its maximum.
        count = 1 if now - last > FORGIVEN_AFTER_SECONDS else min(count + 1, 32)
        self._counts[name] = (count, now)
        if len(self._counts) > MAX_REMEMBERED:
            self._counts.popitem(last=False)
        return DELAY_AFTER_FAILURE.nominal_seconds(count)

    def clear_failures(self, name: str) -> None:
        """Forget the failures of a user name, after a correct password."""
        self._counts.pop(name, None)


class PasswordFileIdentity:
    """Authentication by HTTP basic authentication against a password file. ``key``: secret of the digests of
    cached passwords; None: a random one.
    """

    def __init__(self, file: WatchedFile[dict[str, User]], clock: Clock, *, key: bytes | None = None) -> None:
        self._file = file
        self._clock = clock
        self._key = key or secrets.token_bytes(32)
        self._remembered: dict[bytes, Caller] = {}
        self._failed_logins = FailedLogins(clock)
        self._checks = LoginQueue(monotonic=clock.monotonic)
        self._delayed = 0
        self._next_check_seconds = clock.monotonic() + CHECK_SECONDS

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """Return the authenticated user. Raises :class:`Unauthenticated`, for a wrong password after a delay
        unless :data:`MAX_DELAYED` responses are delayed already; :class:`Refusal` (429) if the queue of
        password checks is full.
        """
        given = headers.get(b"authorization")
        if given is None or len(given) > MAX_HEADER_BYTES:
            raise Unauthenticated(CHALLENGE)
        # before the cache: a user who was removed must not be accepted from it
        self._reload_changed_file()
        digest = hashlib.blake2b(given, key=self._key, digest_size=32).digest()
        return self._remembered.get(digest) or await self._log_in_user(given, digest, scope)

    def _reload_changed_file(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_check_seconds:
            self._next_check_seconds = now + CHECK_SECONDS
            if self._file.refresh():
                self._remembered = {}

    async def _log_in_user(self, given: bytes, digest: bytes, scope: Mapping[str, Any]) -> Caller:
        name, password = parse_credentials(given)
        user = self._file.content.get(name)
        check = partial(password_matches, password.encode(), user.hash if user else None)
        try:
            right = await self._checks.run_check(digest, client_address(scope), check)
        except TooManyAttempts:
            raise Refusal(429, "Too many logins at once. Try again later.", headers=((b"retry-after", b"1"),)) from None
        if right and user is not None:
            self._failed_logins.clear_failures(name)
            return self._remember_user(user, digest)
        await self._delay_failed_login(name, scope)
        raise Unauthenticated(CHALLENGE)

    def _remember_user(self, user: User, digest: bytes) -> Caller:
        caller = Caller(project_id=user.project_id, roles=user.roles, user_id=user.name, user_name=user.name)
        if self._file.content.get(user.name) is user:  # else the file has changed meanwhile
            if len(self._remembered) >= MAX_REMEMBERED:
                self._remembered = {}
            self._remembered[digest] = caller
        return caller

    async def _delay_failed_login(self, name: str, scope: Mapping[str, Any]) -> None:
        delay_seconds = self._failed_logins.record_failure(name)
        log.warning(
            "login refused",
            user=name[:64] if name.isprintable() else "?",
            address=client_address(scope),
            request_id=scope.get("state", {}).get("request_id", ""),
            delay_seconds=delay_seconds,
        )
        if self._delayed >= MAX_DELAYED:
            return  # further delayed answers would only hold connections
        self._delayed += 1
        try:
            await self._clock.sleep(delay_seconds)
        finally:
            self._delayed -= 1


def parse_credentials(header: bytes) -> tuple[str, str]:
    """Parse an ``Authorization`` header (RFC 7617); return user name and password. Raises
    :class:`Unauthenticated` for another scheme or malformed credentials.
    """
    try:
        name, password = basic_credentials(header)
        return name.decode(), password.decode()
    except ValueError:
        # no cause: its traceback would contain the password
        raise Unauthenticated(CHALLENGE) from None

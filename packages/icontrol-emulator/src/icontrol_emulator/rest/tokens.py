"""Login tokens: issued, extended, revoked, and verified on every request."""

from __future__ import annotations

import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from icontrol_emulator.errors import RestError

TOKENS_PER_USER_MAX = 100
LIFETIME_SECONDS = 1200
LIFETIME_SECONDS_MAX = 36_000
TOKEN_CHARACTERS = 26
_ALPHABET = string.ascii_uppercase + string.digits
_LINK = "https://localhost/mgmt/shared/authz"


@dataclass(slots=True)
class Token:
    name: str
    user: str
    start: float
    timeout: int
    address: str

    @property
    def end(self) -> float:
        return self.start + self.timeout


class TokenBook:
    """Tokens of all users of a device.

    ``frees_expired``: expired tokens no longer count for the limit of their user; not so on devices with F5's defect
    ID1787517 (17.1.2), where only the deletion of a token that is still valid frees it.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.frees_expired = True
        self._tokens: dict[str, Token] = {}
        self._expired: dict[str, str] = {}
        """Users by their tokens."""

    def __len__(self) -> int:
        self._sweep()
        return len(self._tokens)

    def _sweep(self) -> None:
        now = self._clock()
        for token in [token for token in self._tokens.values() if token.end <= now]:
            del self._tokens[token.name]
            self._expired[token.name] = token.user
        while len(self._expired) > 1000:
            del self._expired[next(iter(self._expired))]

    def issue(self, user: str, address: str) -> Token:
        self._sweep()
        mine = sum(token.user == user for token in self._tokens.values())
        if not self.frees_expired:
            mine += sum(owner == user for owner in self._expired.values())
        if user != "admin" and mine >= TOKENS_PER_USER_MAX:
            raise RestError(400, f"user {user} has reached maximum active login tokens")
        name = "".join(secrets.choice(_ALPHABET) for _ in range(TOKEN_CHARACTERS))
        token = Token(name, user, self._clock(), LIFETIME_SECONDS, address)
        self._tokens[name] = token
        return token

    def user_of(self, name: str) -> str:
        """The user of a token, or 401."""
        token = self._tokens.get(name)
        if token is not None and token.end <= self._clock():
            self._sweep()
            token = None
        if token is None:
            problem = "has expired." if name in self._expired else "does not exist."
            raise RestError(401, f"X-F5-Auth-Token {problem}")
        return token.user

    def get(self, name: str) -> Token:
        self._sweep()
        token = self._tokens.get(name)
        if token is None:
            raise RestError(404, f"URI path /mgmt/shared/authz/tokens/{name} not found.")
        return token

    def prolong(self, name: str, timeout: object) -> Token:
        token = self.get(name)
        if not isinstance(timeout, int | str) or not str(timeout).isdigit():
            raise RestError(400, f"invalid timeout {timeout}")
        if int(timeout) > LIFETIME_SECONDS_MAX:
            raise RestError(406, f"Auth-token absolute timeout ({LIFETIME_SECONDS_MAX} seconds) exceeded")
        token.timeout = int(timeout)
        return token

    def end(self, name: str) -> Token:
        token = self.get(name)
        del self._tokens[name]
        return token

    def end_all(self, user: str) -> None:
        for token in self.of(user):
            del self._tokens[token.name]

    def of(self, user: str) -> list[Token]:
        self._sweep()
        return [token for token in self._tokens.values() if token.user == user]

    def forget_everything(self) -> None:
        self._tokens.clear()
        self._expired.clear()


def show(token: Token) -> dict[str, Any]:
    start = datetime.fromtimestamp(token.start, UTC)
    return {
        "token": token.name,
        "name": token.name,
        "userName": token.user,
        "authProviderName": "tmos",
        "user": {"link": f"{_LINK}/users/{token.user}"},
        "timeout": token.timeout,
        "startTime": start.strftime("%Y-%m-%dT%H:%M:%S.") + f"{start.microsecond // 1000:03d}+0000",
        "address": token.address,
        "partition": "[All]",
        "generation": 1,
        "lastUpdateMicros": int(token.start * 1_000_000),
        "expirationMicros": int(token.end * 1_000_000),
        "kind": "shared:authz:tokens:authtokenitemstate",
        "selfLink": f"{_LINK}/tokens/{token.name}",
    }

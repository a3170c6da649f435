"""Authentication of one process at one device.

One token serves all requests. The token is prolonged as far as the device allows, because each login costs a
check of the password, and replaced and deleted before it ends: devices with F5's defect ID1787517 (17.1.2.x)
never free tokens that expired, and refuse a user's logins at 100. At that limit the user's oldest tokens are
deleted; if that does not help, requests carry the password (basic authentication, for local users only) for
some minutes.

Refused credentials are tried again at growing intervals, because devices lock accounts.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

import structlog

from evenkeel.core.kit.backoff import Backoff
from evenkeel.core.kit.errors import DeviceUnavailable
from evenkeel.devices.bigip.icontrol.responses import LoginLost, parse_document, response_error
from evenkeel.devices.bigip.options import BigIpOptions
from evenkeel.devices.https import HttpsTransport

log = structlog.get_logger(__name__)

LOGIN_PATH = "/mgmt/shared/authn/login"
TOKENS_PATH = "/mgmt/shared/authz/tokens"
LOGIN_RETRY = Backoff(initial_seconds=2.0, max_seconds=30.0)
"""Pause between attempts with credentials that the device refused."""
LOGOUT_SECONDS = 2.0
DEFAULT_TOKEN_SECONDS = 1_200
"""Lifetime, in seconds, assumed for a token if the response to the login has none."""
TOKEN_SECONDS_MAX = 36_000
"""Longest lifetime that devices give a token, in seconds from the login."""
TOKEN_RENEWAL_SHARE = 0.9
"""Share of a token's lifetime after which another token is requested."""
LOGIN_LIMIT_TEXT = "maximum active login tokens"
"""Text in the 400 response to a login if the user has 100 tokens already."""
TOKEN_REPLACEMENT_RETRY_SECONDS = 60.0
"""Pause, in seconds, after a failed attempt to replace a token that the device still accepts."""
PASSWORD_USE_SECONDS = 300.0
"""Seconds for which requests carry the password before another token is requested."""


class Token(NamedTuple):
    name: str
    replace_at_seconds: float
    """Time at which the token should be replaced: seconds by the monotonic clock of :class:`DeviceLogin`."""


class DeviceLogin:
    """Authentication of this process at one device: a token, or the password while no token can be had."""

    def __init__(self, host: str, options: BigIpOptions, https: HttpsTransport, now: Callable[[], float]) -> None:
        self._host = host
        self._options = options
        self._https = https
        self._now = now
        self._token: Token | None = None
        self._lock = asyncio.Lock()
        self._refusals = 0
        """Number of consecutive refused logins."""
        self._refused_until_seconds = 0.0
        self._refusal = ""
        """Reason of the last refusal."""
        self._password_until_seconds = 0.0
        self._password_works = True
        """False once the device refused a request with the password, as it does for users who are not local."""

    def use_credentials(self, options: BigIpOptions) -> None:
        """Use these credentials from now on; a token that the device still accepts stays in use."""
        self._options = options
        self._refused_until_seconds = 0.0
        self._password_works = True

    async def headers(self) -> dict[str, str]:
        """Return headers that authenticate a request; logs in if there is no token, or replaces an old one.
        Raises :class:`DeviceUnavailable`; :class:`LoginLost` if the credentials are refused.
        """
        async with self._lock:
            # under the lock: one login serves all waiting requests
            if self._now() < self._password_until_seconds:
                return self._password_header()
            if self._token is None or self._now() >= self._token.replace_at_seconds:
                await self._replace_token()
            return self._password_header() if self._token is None else _token_header(self._token.name)

    def current_headers(self) -> dict[str, str]:
        """Return headers with the current token, without logging in; empty if there is no token."""
        return {} if self._token is None else _token_header(self._token.name)

    def record_refusal(self, headers: Mapping[str, str]) -> None:
        """Record that the device answered 401 to a request with these headers: the token or the password is
        not used again.
        """
        if "Authorization" in headers:
            self._password_works, self._password_until_seconds = False, 0.0
        # another request may have renewed the token meanwhile
        elif headers == self.current_headers():
            self._token = None

    async def log_out(self) -> None:
        """Delete the token on the device. A failing device raises nothing here."""
        token, self._token = self._token, None
        if token is not None:
            await self._delete_token(token.name, _token_header(token.name))

    # -- implementation

    async def _replace_token(self) -> None:
        former = self._token
        try:
            self._token = await self._new_token()
        except DeviceUnavailable as error:
            if former is None:
                raise
            # The device may accept it for some time yet; when it does not, the login's failure is told.
            self._token = Token(former.name, self._now() + TOKEN_REPLACEMENT_RETRY_SECONDS)
            log.warning("no new token", device=self._host, reason=error.reason)
            return
        if former is not None:
            await self._delete_token(former.name, _token_header(former.name))

    async def _new_token(self) -> Token | None:
        """Log in and return the new token; None if the password has to be used instead. Raises
        :class:`LoginLost` if the credentials are refused, or a pause after a refusal is not over; else
        :class:`DeviceUnavailable`.
        """
        # more attempts could lock the account on the device
        if self._now() < self._refused_until_seconds:
            raise LoginLost(self._host, self._refusal)
        began_seconds = self._now()
        status, content = await self._post_credentials()
        if _is_at_limit(status, content):
            log.warning("the user has as many tokens as the device allows", device=self._host)
            await self._delete_oldest()
            status, content = await self._post_credentials()
        user = self._options.username
        if _is_at_limit(status, content):
            if not self._password_works:
                self._raise_refusal(
                    f"user {user} has as many tokens as it allows, and may not log in by password alone"
                )
            self._password_until_seconds = self._now() + PASSWORD_USE_SECONDS
            return None
        if status == 401:
            self._raise_refusal(f"it refuses the credentials: user {user} or its password is not accepted")
        self._refusals = 0
        if status != 200:
            error = response_error(self._host, status, content)
            # A refused login is not a refusal of a load balancer.
            raise error if isinstance(error, DeviceUnavailable) else DeviceUnavailable(self._host, f"login: {error}")
        return await self._prolong_token(_parse_token(self._host, content), began_seconds)

    async def _post_credentials(self) -> tuple[int, bytes]:
        body = {
            "username": self._options.username,
            "password": self._options.password,
            "loginProviderName": "tmos",
        }
        return await self._https.exchange(
            "POST", LOGIN_PATH, json.dumps(body).encode(), timeout_seconds=self._options.request_timeout_seconds
        )

    async def _prolong_token(self, token: dict[str, Any], began_seconds: float) -> Token:
        """Prolong the token as far as the device allows, and return it; if the device refuses or does not
        answer, the returned token has its present lifetime.
        """
        name, lifetime_seconds = token["token"], _token_lifetime_seconds(token)
        answer = await self._try_token_request(
            "PATCH", f"{TOKENS_PATH}/{name}", _token_header(name), json.dumps({"timeout": TOKEN_SECONDS_MAX}).encode()
        )
        return Token(
            name, began_seconds + TOKEN_RENEWAL_SHARE * _token_lifetime_seconds(answer or {}, lifetime_seconds)
        )

    async def _delete_oldest(self) -> None:
        """Delete the older half of the user's tokens, which ended processes left or which have expired;
        failures are ignored.

        A process whose token is deleted logs in again.
        """
        headers = self._password_header()
        shown = await self._try_token_request("GET", TOKENS_PATH, headers) or {}
        items = shown.get("items")
        mine = (
            [one for one in items if _is_token_of_user(one, self._options.username)] if isinstance(items, list) else []
        )
        mine.sort(key=lambda one: int(one["expirationMicros"]))
        for one in mine[: (len(mine) + 1) // 2]:
            await self._delete_token(one["name"], headers)

    async def _delete_token(self, name: str, headers: Mapping[str, str]) -> None:
        await self._try_token_request("DELETE", f"{TOKENS_PATH}/{name}", headers)

    async def _try_token_request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> dict[str, Any] | None:
        """Send a request about tokens and return the document in the response; None if the device did not
        carry it out, within ``LOGOUT_SECONDS``.
        """
        shown = TOKENS_PATH if path == TOKENS_PATH else f"{TOKENS_PATH}/..."
        try:
            async with asyncio.timeout(LOGOUT_SECONDS):
                status, content = await self._https.exchange(
                    method,
                    path,
                    body,
                    headers=headers,
                    timeout_seconds=LOGOUT_SECONDS,
                    # The path contains the token, which must not be logged.
                    logged_path=shown,
                )
        except (DeviceUnavailable, TimeoutError):
            status, content = 0, b""
        if status != 200:
            log.debug("request about tokens failed", device=self._host, method=method, path=shown, status=status)
            return None
        return parse_document(content)

    def _password_header(self) -> dict[str, str]:
        login = f"{self._options.username}:{self._options.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(login).decode()}"}

    def _raise_refusal(self, reason: str) -> NoReturn:
        self._refusals += 1
        pause = LOGIN_RETRY.nominal_seconds(self._refusals)
        self._refused_until_seconds, self._refusal = self._now() + pause, reason
        log.error("the device refuses the credentials", device=self._host, reason=reason, next_try_seconds=pause)
        raise LoginLost(self._host, reason)


def _token_header(name: str) -> dict[str, str]:
    return {"X-F5-Auth-Token": name}


def _is_at_limit(status: int, content: bytes) -> bool:
    return status == 400 and LOGIN_LIMIT_TEXT in str(parse_document(content).get("message", ""))


def _parse_token(host: str, content: bytes) -> dict[str, Any]:
    """Return the token, as an object, in the response to a login. Raises :class:`DeviceUnavailable` if there
    is none.
    """
    token = parse_document(content).get("token")
    if not isinstance(token, dict) or not isinstance(token.get("token"), str) or not token["token"]:
        raise DeviceUnavailable(host, "login answered without a token")
    return token


def _token_lifetime_seconds(token: Mapping[str, Any], otherwise: int = DEFAULT_TOKEN_SECONDS) -> int:
    """Return the token's lifetime in seconds, from its login; ``otherwise`` if the token does not name it."""
    seconds = token.get("timeout")
    return seconds if isinstance(seconds, int) and seconds > 0 else otherwise


def _is_token_of_user(token: object, user: str) -> bool:
    """Whether an item of the device's token list belongs to the user; administrators see the tokens of all users."""
    return (
        isinstance(token, dict)
        and token.get("userName") == user
        and isinstance(token.get("name"), str)
        and isinstance(token.get("expirationMicros"), int)
    )

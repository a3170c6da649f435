"""Login to Vault, renewed before the token expires or after it was revoked. Blocking."""

import threading
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import hvac
from hvac import exceptions

from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import Secret

T = TypeVar("T")

TOKEN_BYTES_MAX = 64 * 1024


class AuthMethod(StrEnum):
    """Vault's auth methods by which the controller can log in."""

    APPROLE = "approle"
    """Login with a role id and a secret id."""
    JWT = "jwt"
    """Login with a JWT of another issuer, read from a file."""
    KUBERNETES = "kubernetes"
    """Login with a Kubernetes service account token, read from a file."""
    TOKEN = "token"  # noqa: S105  # the method's name, not a secret
    """A Vault token in a file that another process renews, such as Vault Agent."""


class VaultLogin(Value):
    """Parameters of a login at Vault."""

    method: AuthMethod
    path: str
    """Mount path of the auth method."""
    role: str = ""
    """The role id for ``approle``; the role's name for ``jwt`` and ``kubernetes``."""
    secret_id: Secret | None = None
    """Secret id of the role; for ``approle`` only."""
    token_file: Path | None = None
    """File with the JWT or token for all other methods; read at each login."""


class LoginRefused(Exception):
    """Vault refused the login; the text gives the reason, without any credentials."""


class LoggedInClient:
    """A Vault client that logs in when necessary, and again at half of the token's lifetime; calls of all
    threads go through :meth:`run_logged_in`. ``clock``: monotonic time in seconds.
    """

    def __init__(self, client: hvac.Client, login: VaultLogin, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._login = login
        self._clock = clock
        self._lock = threading.Lock()
        self._logins = 0
        self._renew_at = float("-inf")

    def run_logged_in(self, work: Callable[[hvac.Client], T]) -> T:
        """Return the result of ``work``, run with a valid token; if Vault no longer accepts the token, log in
        and run ``work`` once more. Raises :class:`LoginRefused` and the exceptions of ``work``;
        :class:`exceptions.Forbidden` then means that the token's policy forbids the request.
        """
        # the number identifies the login that this call used, if another thread logs in meanwhile
        number = self._log_in_unless_newer(self._logins if self._clock() >= self._renew_at else -1)
        try:
            return work(self._client)
        except exceptions.Forbidden:
            # after a login of another thread meanwhile, this answer was to the old token or to none
            if self._is_token_accepted() and self._current_login() == number:
                raise
        self._log_in_unless_newer(number)
        return work(self._client)

    def _log_in_unless_newer(self, number: int) -> int:
        """Log in, unless another thread has done so since login ``number`` (-1: never log in); return the
        number of the current login. Raises :class:`LoginRefused`.
        """
        with self._lock:
            if number == self._logins:
                lifetime_seconds = self._request_token()
                # half the lifetime: long requests and clock differences still find the token valid
                self._renew_at = self._clock() + (lifetime_seconds / 2 if lifetime_seconds else float("inf"))
                self._logins += 1
            return self._logins

    def _current_login(self) -> int:
        """Return the number of the current login, after waiting for a login that is in progress."""
        with self._lock:
            return self._logins

    def _is_token_accepted(self) -> bool:
        """Whether Vault still accepts the current token, whatever its policy allows."""
        try:
            self._client.auth.token.lookup_self()
        except exceptions.Forbidden:
            return False
        return True

    def _request_token(self) -> float:
        """Log in, and return the token's lifetime in seconds; 0: unlimited. Raises :class:`LoginRefused` if
        Vault refuses the credentials, or the token file is unreadable.
        """
        try:
            if self._login.method is AuthMethod.TOKEN:
                self._client.token = self._read_token_file()
                return _seconds_field(self._client.auth.token.lookup_self().get("data"), "ttl")
            return _seconds_field(self._login_response().get("auth"), "lease_duration")
        except (exceptions.Forbidden, exceptions.Unauthorized, exceptions.InvalidRequest):
            raise LoginRefused(f"refuses the controllers' login by {self._login.method}") from None

    def _login_response(self) -> dict[str, Any]:
        """Log in with the configured method (any but a token file), and return Vault's response. Raises
        :class:`LoginRefused` for an unreadable token file, and hvac's exceptions.
        """
        auth, login = self._client.auth, self._login
        self._client.token = ""  # Vault refuses a login that carries an expired token
        if login.method is AuthMethod.APPROLE:
            secret = login.secret_id.reveal().decode() if login.secret_id else None
            answer = auth.approle.login(login.role, secret, mount_point=login.path)
        elif login.method is AuthMethod.JWT:
            answer = auth.jwt.jwt_login(login.role, self._read_token_file(), path=login.path)
        else:
            answer = auth.kubernetes.login(login.role, self._read_token_file(), mount_point=login.path)
        return dict(answer)

    def _read_token_file(self) -> str:
        file = self._login.token_file
        try:
            # Without a file this opens the working directory, which fails like an unreadable file.
            with (file or Path()).open() as opened:
                return opened.read(TOKEN_BYTES_MAX).strip()
        except (OSError, ValueError):
            raise LoginRefused(f"cannot be logged in to: the token in {file} is unreadable") from None


def _seconds_field(described: object, name: str) -> float:
    value = described.get(name) if isinstance(described, dict) else None
    if not isinstance(value, int | float):
        raise exceptions.UnexpectedError("an answer that is not understood")
    return float(value)

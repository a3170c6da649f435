"""Keystone v3 tokens: keystonemiddleware's ``auth_token`` behind a thin adapter.

Every OpenStack service validates tokens with this middleware: it has the options that operators use
(``[keystone_authtoken]``), its own cache (``token_cache_time``, ``memcached_servers``), application credentials with
access rules, and service tokens. It is WSGI and blocks on Keystone, so it runs in separate threads, as a filter before
an application that only records the result. This module caches the result for a token for a few more seconds, so that
most requests of a busy client cost only a digest; a revoked token is therefore accepted for at most
``token_cache_time`` + ``REMEMBERED_SECONDS``.

Needs the ``keystone`` extra.
"""

import asyncio
import hashlib
import io
import secrets
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from time import time
from typing import Any
from urllib.parse import quote

import structlog
from keystonemiddleware.auth_token import AuthProtocol
from oslo_config import cfg

from evenkeel.api.identity.caller import (
    MAX_HEADER_BYTES,
    Caller,
    Headers,
    IdentityUnavailable,
    Unauthenticated,
    checked_project,
    distinct_roles,
)
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

log = structlog.get_logger(__name__)

Environ = dict[str, Any]

REMEMBERED_SECONDS = 10.0
MAX_REMEMBERED = 10_000
THREADS = 8
MAX_WAITING = 256
"""Most concurrent validations, including waiting ones; further requests are refused."""


class TokenValidation(Value):
    """Result of the token middleware: the response's HTTP status, the WSGI environment with the headers that
    the middleware has set, and the challenge of a 401 (empty: none).
    """

    status: int
    environ: Environ
    challenge: str = ""


class CachedToken(Value):
    """Cached caller of a valid token."""

    caller: Caller
    until_seconds: float
    """Expiry of the cache entry, in seconds since the epoch like the token's expiry."""


class KeystoneIdentity:
    """Authentication by ``X-Auth-Token``, and optionally ``X-Service-Token``."""

    def __init__(self, middleware: Callable[..., Any], *, now: Callable[[], float] = time) -> None:
        """Initialize the validation. ``middleware``: a WSGI filter factory, called with the application.
        ``now``: returns seconds since the epoch.
        """
        self._filter = middleware(_authenticated_application)
        self._now = now
        self._key = secrets.token_bytes(32)
        self._remembered: dict[bytes, CachedToken] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="keystone")
        self._waiting = 0

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """Return the caller of the token, from the cache or by the middleware in a thread.

        Raises :class:`Unauthenticated`; :class:`IdentityUnavailable` if Keystone does not answer or too many
        tokens are being validated; :class:`Invalid` for an unsupported project id or too many roles.
        """
        token, service_token = headers.get(b"x-auth-token", b""), headers.get(b"x-service-token", b"")
        if len(token) + len(service_token) > MAX_HEADER_BYTES:
            token = b""  # cannot be valid; the middleware responds like to a missing token
        digest = hashlib.blake2b(token + b"\0" + service_token, key=self._key, digest_size=32).digest()
        known = self._remembered.get(digest)
        if known is not None and self._now() < known.until_seconds:
            return known.caller
        verdict = await self._validate_token(build_environ(scope, token, service_token))
        return self._caller_from_validation(verdict, digest)

    async def _validate_token(self, environ: Environ) -> TokenValidation:
        if self._waiting >= MAX_WAITING:
            raise IdentityUnavailable(f"{MAX_WAITING} tokens are being validated already")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, run_application, self._filter, environ
            )
        except Exception as error:
            log.error("Keystone unavailable", exc_info=error)
            raise IdentityUnavailable("the identity service is out of reach") from error
        finally:
            self._waiting -= 1

    def _caller_from_validation(self, verdict: TokenValidation, digest: bytes) -> Caller:
        # With the option `delay_auth_decision` the middleware passes on requests with invalid tokens, and marks them.
        if verdict.status == 401 or verdict.environ.get("HTTP_X_IDENTITY_STATUS") == "Invalid":
            raise Unauthenticated(verdict.challenge or "Keystone")
        if verdict.status != 200:
            raise IdentityUnavailable("the identity service is out of reach")
        caller = caller_from_environ(verdict.environ)
        token = verdict.environ.get("keystone.token_info", {}).get("token", {})
        if _is_without_access_rules(token):
            self._remember_token(digest, caller, token)
        return caller

    def _remember_token(self, digest: bytes, caller: Caller, token: Mapping[str, Any]) -> None:
        now = self._now()
        # emptied as a whole: entries are short-lived, and an order of use would cost each request
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered = {}
        ends_at = _expiry_seconds(token.get("expires_at", ""))
        self._remembered[digest] = CachedToken(caller=caller, until_seconds=min(now + REMEMBERED_SECONDS, ends_at))


def open_keystone(conf: cfg.ConfigOpts) -> KeystoneIdentity:
    """Create the validation of tokens with the options ``[keystone_authtoken]`` of ``conf``. Raises
    :class:`ValueError` if the middleware cannot be created with these options.
    """
    try:
        return KeystoneIdentity(lambda app: AuthProtocol(app, {"oslo_config_config": conf}))
    except Exception as error:
        raise ValueError(f"keystone_authtoken: {error}") from error


def run_application(application: Callable[..., Any], environ: Environ) -> TokenValidation:
    """Run a WSGI application, such as the token middleware, to its end; return status, environment and
    challenge. The response's body is dropped.
    """
    responses: list[tuple[int, str]] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        challenge = next((value for name, value in headers if name.lower() == "www-authenticate"), "")
        responses.append((int(status.split(" ", 1)[0]), challenge))

    body = application(environ, start_response)
    # A WSGI application may set the status as late as at the first piece of its body (PEP 3333).
    for _ in body:
        pass
    # After an error an application may set the status again; the last one counts (PEP 3333).
    status, challenge = responses[-1]
    return TokenValidation(status=status, environ=environ, challenge=challenge)


def build_environ(scope: Mapping[str, Any], token: bytes, service_token: bytes) -> Environ:
    """Build the WSGI environment for the middleware: method and path for access rules, and the tokens. It contains no
    other header.
    """
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": quote(scope["path"], safe="/"),
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    if token:
        environ["HTTP_X_AUTH_TOKEN"] = token.decode("latin-1")
    if service_token:
        environ["HTTP_X_SERVICE_TOKEN"] = service_token.decode("latin-1")
    return environ


def caller_from_environ(environ: Mapping[str, Any]) -> Caller:
    """Return the caller in the headers that the middleware has set. Raises :class:`Invalid` for an
    unsupported project id or too many roles.
    """

    def header_value(name: str) -> str:
        return str(environ.get(f"HTTP_{name}") or "")

    project_id = header_value("X_PROJECT_ID")
    return Caller(
        project_id=checked_project(project_id, "X-Project-Id") if project_id else ProjectId(""),
        roles=distinct_roles(header_value("X_ROLES").split(",")),
        user_id=header_value("X_USER_ID"),
        user_name=header_value("X_USER_NAME"),
        domain_id=header_value("X_DOMAIN_ID"),
        user_domain_id=header_value("X_USER_DOMAIN_ID"),
        project_domain_id=header_value("X_PROJECT_DOMAIN_ID"),
        system_scope=header_value("OPENSTACK_SYSTEM_SCOPE"),
    )


def _is_without_access_rules(token: Mapping[str, Any]) -> bool:
    """Whether the token is valid for all requests; False for an application credential with access rules."""
    credential = token.get("application_credential") or {}
    return credential.get("access_rules") is None


def _expiry_seconds(expires_at: str) -> float:
    """Return the expiry of a token in seconds since the epoch; 0, so expired, for an unreadable time."""
    try:
        return datetime.fromisoformat(expires_at).timestamp()
    except ValueError:
        return 0.0


def _authenticated_application(environ: Environ, start_response: Callable[..., Any]) -> list[bytes]:
    """Answer 200: the WSGI application behind the middleware, reached only with a valid token."""
    start_response("200 OK", [])
    return []

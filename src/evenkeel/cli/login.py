"""Credentials of the command line, from environment variables, so that no password is in a command line.

A token for Keystone, or user and password for a password file; the variables of the ``openstack`` command apply where
``EVENKEEL_*`` are not set.
"""

import base64
from collections.abc import Mapping

from evenkeel.cli.client import UsageError


def login_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the authentication headers for the environment variables; none if no variable is set. Raises
    :class:`UsageError` for a user without a password, and for a token with characters that no token has.
    """
    if token := environment.get("EVENKEEL_TOKEN"):
        return _token_header(token)
    if name := environment.get("EVENKEEL_USERNAME"):
        return _basic_header(name, environment.get("EVENKEEL_PASSWORD"), "EVENKEEL_PASSWORD")
    if environment.get("OS_AUTH_TYPE") == "http_basic" and (name := environment.get("OS_USERNAME")):
        return _basic_header(name, environment.get("OS_PASSWORD"), "OS_PASSWORD")
    if token := environment.get("OS_TOKEN"):
        return _token_header(token)
    return {}


def login_help(environment: Mapping[str, str]) -> str:
    """Return advice on the environment variables to set, for a request that a controller answered with 401.
    Raises :class:`UsageError` as :func:`login_headers` does.
    """
    given = "the login given by these variables is not accepted" if login_headers(environment) else "not logged in"
    return (
        f"{given}: EVENKEEL_USERNAME and EVENKEEL_PASSWORD, or EVENKEEL_TOKEN with a token of Keystone; the openstack"
        " command's OS_TOKEN, or OS_AUTH_TYPE=http_basic with OS_USERNAME and OS_PASSWORD, apply as well"
    )


def _token_header(token: str) -> dict[str, str]:
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the token of EVENKEEL_TOKEN or OS_TOKEN contains characters that are not allowed in tokens")
    return {"X-Auth-Token": token}


def _basic_header(name: str, password: str | None, variable: str) -> dict[str, str]:
    if not password:
        raise UsageError(f"{variable} is not set for user {name!r}")
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}

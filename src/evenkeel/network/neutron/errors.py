"""Translates errors of Neutron, Keystone and the network into this project's. Bodies and secrets are dropped."""

from typing import NoReturn

import requests
from keystoneauth1 import exceptions as auth_errors
from openstack import exceptions as sdk_errors

from evenkeel.core.kit.errors import EvenKeelError, NetworkUnavailable

MAX_MESSAGE_CHARACTERS = 300
_INTERNAL_STATUSES = frozenset({401, 403, 408, 429})
"""Statuses caused by the controller's credentials or Neutron's state, not by the tenant's request."""

SDK_ERRORS = (sdk_errors.SDKException, auth_errors.ClientException, requests.RequestException)
"""All errors that the SDK raises."""


class NeutronRefused(EvenKeelError):
    """Neutron refused a request and changed nothing. ``status``: HTTP status. ``kind``: Neutron's stable name
    of the error; empty if its answer has none.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind


def raise_translated(error: Exception) -> NoReturn:
    """Translate ``error``, one of :data:`SDK_ERRORS`. Raises :class:`NeutronRefused` if Neutron refused the
    request because of its content, else :class:`NetworkUnavailable`.
    """
    # openstacksdk's errors have `status_code`, keystoneauth's have `http_status`.
    status: int = getattr(error, "status_code", None) or getattr(error, "http_status", None) or 0
    if isinstance(error, sdk_errors.HttpException) and status in range(400, 500) and status not in _INTERNAL_STATUSES:
        raise NeutronRefused(status, *_kind_and_text(error)) from error
    if status in (401, 403):
        raise NetworkUnavailable(f"this controller's credentials are refused by Neutron (HTTP {status})") from error
    shown = f"HTTP {status}" if status else type(error).__name__
    raise NetworkUnavailable(f"Neutron is out of reach or failing ({shown})") from error


def _kind_and_text(error: sdk_errors.HttpException) -> tuple[str, str]:
    """Return Neutron's stable name of the error, and its text of at most 300 characters; without Neutron's
    error document an empty name and the HTTP status.
    """
    try:
        body = error.response.json()["NeutronError"]  # type: ignore[union-attr]
        return str(body["type"]), str(body["message"])[:MAX_MESSAGE_CHARACTERS]
    except (AttributeError, KeyError, TypeError, ValueError):
        return "", f"HTTP {error.status_code}"

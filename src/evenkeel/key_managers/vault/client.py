"""hvac's client with limits: responses are limited in size, redirects are not followed, errors contain no bodies."""

from typing import Any

import hvac
import msgspec
from hvac import exceptions
from hvac.adapters import RawAdapter

from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import REVOCATION_LIST_BYTES_MAX
from evenkeel.key_managers.responses import read_at_most

ANSWER_BYTES_MAX = 3 * REVOCATION_LIST_BYTES_MAX
"""Maximum size of a response of Vault: the largest content in hexadecimal, as castellan stores it, with the JSON around
it.
"""


class VaultAddress(Value):
    """Vault's address and connection settings."""

    url: str
    ca_file: str | None
    """CA certificates to verify Vault's certificate with; None: the system's."""
    namespace: str | None
    timeout_seconds: float
    """Time-out of connecting, and of each read of a response."""


class LimitedAdapter(RawAdapter):  # type: ignore[misc]  # hvac has no types
    """hvac's HTTP adapter with limits on the size of responses; its requests return decoded JSON, and raise
    :class:`hvac.exceptions.VaultError` and :class:`requests.RequestException`.
    """

    def get_login_token(self, response: dict[str, Any]) -> str:
        """Return the token in the response to a login. Raises :class:`exceptions.UnexpectedError` if there is
        none.
        """
        token = (response.get("auth") or {}).get("client_token")
        if not isinstance(token, str):
            raise exceptions.UnexpectedError("an answer that is not understood")
        return token

    def request(
        self, method: str, url: str, headers: Any = None, raise_exception: bool = True, **kwargs: Any
    ) -> dict[str, Any]:
        """Send a request to Vault and return its decoded JSON object; empty for a response without content
        (204).

        Raises hvac's exception for an unsuccessful status, whatever ``raise_exception`` says,
        :class:`exceptions.UnexpectedError` for a response that is longer than :data:`ANSWER_BYTES_MAX` or not
        JSON, and for a missing secrets engine, and :class:`requests.RequestException`.
        """
        # hvac would put the texts of the response into its exceptions, and read a body of any size.
        answer = super().request(method, url, headers, raise_exception=False, stream=True, **kwargs)
        with answer:
            status, content = answer.status_code, read_at_most(answer, ANSWER_BYTES_MAX + 1)
        if len(content) > ANSWER_BYTES_MAX:
            raise exceptions.UnexpectedError(f"an answer of more than {ANSWER_BYTES_MAX} bytes")
        if status == 404 and _has_errors(content):
            raise exceptions.UnexpectedError("there is no such secrets engine")
        if status >= 300:
            raise exceptions.VaultError.from_status(status, f"HTTP {status}")
        if status == 204:
            return {}
        try:
            return msgspec.json.decode(content, type=dict[str, Any])
        except msgspec.DecodeError:
            raise exceptions.UnexpectedError("an answer that is not understood") from None


def vault_client(address: VaultAddress) -> hvac.Client:
    """Return a thread-safe client that is not logged in and has sent nothing yet."""
    return hvac.Client(
        url=address.url,
        token="",
        verify=address.ca_file or True,
        timeout=address.timeout_seconds,
        namespace=address.namespace,
        allow_redirects=False,  # a redirect would send our token to another host
        adapter=LimitedAdapter,
    )


def _has_errors(content: bytes) -> bool:
    """Whether a response 404 contains errors (or is no JSON); Vault sends none if only the secret does not
    exist.
    """
    try:
        return bool(msgspec.json.decode(content, type=dict[str, Any]).get("errors"))
    except msgspec.DecodeError:
        return True

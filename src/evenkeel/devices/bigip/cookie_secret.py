"""The operator's secret for encrypted cookies, and the passphrases that derive from it. Pure.

A device returns a passphrase in another form at each write, so passphrases are never compared: names of
objects with a passphrase contain a digest of the secret, and another secret makes other objects. All agents
of an environment have the same secret, so a passphrase is the same on each device and after each takeover,
and no agent or controller stores it.
"""

import hashlib
import hmac
from typing import Any

from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import Secret

OPTION_NAME = "cookie_password"
"""The agent's option with the secret."""
CHARACTERS_MIN = 32
_DIGEST_CHARACTERS = 12
_PASSPHRASE_CHARACTERS = 48


class CookieSecret(Value):
    """The operator's secret for encrypted cookies, one for each environment."""

    content: Secret

    @property
    def digest(self) -> str:
        """Digest that differs for different secrets, and from which no passphrase can be found."""
        return self._derive_digest("digest")[:_DIGEST_CHARACTERS]

    def passphrase(self, load_balancer_id: str) -> Secret:
        """Return the passphrase of all encrypted cookies of one load balancer."""
        return Secret(self._derive_digest(f"load balancer {load_balancer_id}")[:_PASSPHRASE_CHARACTERS].encode())

    def _derive_digest(self, purpose: str) -> str:
        return hmac.new(self.content.reveal(), f"cookies: {purpose}".encode(), hashlib.sha256).hexdigest()


class EncryptedCookies(Value):
    """The encrypted cookies of one listener."""

    cookies: tuple[str, ...]
    """Names of members' cookies that are encrypted."""
    passphrase: Secret
    digest: str
    """Digest of the secret from which the passphrase derives."""

    def object_kind(self, word: str) -> str:
        """Return ``word`` and the secret's digest, as the kind in the name of an object with the passphrase,
        so that another secret gives another name.
        """
        return f"{word}-{self.digest}"


def parse_cookie_secret(values: dict[str, Any]) -> CookieSecret | None:
    """Return the secret in the agent's options; None if it is not set. Raises :class:`ValueError` for fewer
    than ``CHARACTERS_MIN`` characters.
    """
    text = values[OPTION_NAME]
    if not text:
        return None
    if len(text) < CHARACTERS_MIN:
        raise ValueError(f"{OPTION_NAME}: {len(text)} characters; {CHARACTERS_MIN} or more are allowed")
    return CookieSecret(content=Secret(text.encode()))

"""HTTP challenges of a certificate authority that a load balancer answers (ACME's http-01, RFC 8555, 8.3)."""

import re

from evenkeel.core.kit.values import Wire

CHALLENGES_PER_LOAD_BALANCER = 200
CHALLENGE_PATH = "/.well-known/acme-challenge/"
_TOKEN_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,200}")
_KEY_AUTHORIZATION = re.compile(r"[A-Za-z0-9_-]{1,200}\.[A-Za-z0-9_-]{1,100}")


class HttpChallenge(Wire):
    """A challenge of a certificate authority: a token and the answer to requests for the token. Nothing of
    the challenge is secret.
    """

    certificate_id: str
    """Id of the requested certificate for which the authority made the challenge."""
    token: str
    """Last part of the path that the authority requests: characters of base64url only."""
    key_authorization: str
    """The content of the response to a request for the token."""
    revision: int
    """Revision of the load balancer from which on devices answer the challenge, or do not any more."""
    open: bool = True
    """False: the authority's order has ended, so devices do not answer the challenge any more; they stay prepared for
    the certificate's next one.
    """


def is_valid_challenge(token: str, key_authorization: str) -> bool:
    """Whether a challenge's token and key authorization have the form that RFC 8555 prescribes, so that they
    need no quoting anywhere.
    """
    return bool(_TOKEN_PATTERN.fullmatch(token) and _KEY_AUTHORIZATION.fullmatch(key_authorization))

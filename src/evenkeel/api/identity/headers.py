"""Trusted headers: a gateway in front authenticates the caller and sets the headers of Keystone's middleware.

A client that can send these headers can take any identity. So they are accepted only if the connection's peer is this
host, or a client with a certificate that the server has verified. Headers of proxies (``X-Forwarded-For``) are ignored
for this.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from evenkeel.api.identity.caller import (
    MAX_HEADER_BYTES,
    Caller,
    Headers,
    Peer,
    Unauthenticated,
    checked_project,
    distinct_roles,
    peer_of,
)
from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.ids import ProjectId

CHALLENGE = "Gateway"

_NAMES = (
    b"x-identity-status",
    b"x-user-id",
    b"x-user-name",
    b"x-project-id",
    b"x-roles",
    b"x-domain-id",
    b"x-user-domain-id",
    b"x-project-domain-id",
    b"openstack-system-scope",
)


class TrustedHeaders:
    """Authentication by trusted headers. ``gateway_names``: names of which one must be in the certificate of
    a client that presents one; empty: every verified certificate is accepted.
    """

    def __init__(self, gateway_names: frozenset[str] = frozenset()) -> None:
        self._gateway_names = gateway_names

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """Return the caller in the gateway's headers. Raises :class:`Refusal` (403) if the peer is no
        gateway; :class:`Unauthenticated` without a user id or with an unconfirmed status; :class:`Invalid`
        for headers that are repeated, too long or have values that are not allowed.
        """
        if not self._is_gateway(peer_of(scope)):
            raise Refusal(403, "Identity headers are accepted from the gateway only; send the request there.")
        _check_headers_unique(scope)
        values = {name: _header_text(headers, name) for name in _NAMES}
        # Keystone's middleware sets Confirmed; a gateway of another kind may omit the status.
        if not values[b"x-user-id"] or values[b"x-identity-status"] not in ("", "Confirmed"):
            raise Unauthenticated(CHALLENGE)
        project_id = values[b"x-project-id"]
        return Caller(
            project_id=checked_project(project_id, "X-Project-Id") if project_id else ProjectId(""),
            roles=distinct_roles(values[b"x-roles"].split(",")),
            user_id=values[b"x-user-id"],
            user_name=values[b"x-user-name"],
            domain_id=values[b"x-domain-id"],
            user_domain_id=values[b"x-user-domain-id"],
            project_domain_id=values[b"x-project-domain-id"],
            system_scope=values[b"openstack-system-scope"],
        )

    def _is_gateway(self, peer: Peer) -> bool:
        if peer.certificate_names is None:
            return peer.is_loopback
        return not self._gateway_names or bool(self._gateway_names & set(peer.certificate_names))


def _header_text(headers: Headers, name: bytes) -> str:
    given = headers.get(name, b"")
    if len(given) > MAX_HEADER_BYTES:
        raise Invalid(f"Header {name.decode()} is longer than {MAX_HEADER_BYTES} bytes.")
    return given.decode("latin-1").strip()


def _check_headers_unique(scope: Mapping[str, Any]) -> None:
    """Raise :class:`Invalid` if an identity header occurs twice: one may be the client's own, which the gateway failed
    to remove.
    """
    counts = Counter(name for name, _ in scope["headers"])
    for name in _NAMES:
        if counts[name] > 1:
            raise Invalid(f"Header {name.decode()} is given {counts[name]} times. Allowed: once.")

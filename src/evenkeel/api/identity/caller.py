"""The port: from a request's headers and its other end to a caller, or to a refusal that says how to log in."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Protocol

from evenkeel.api.errors import Refusal
from evenkeel.core.errors import Invalid, Unavailable
from evenkeel.core.ids import ProjectId
from evenkeel.core.values import Value

Headers = Mapping[bytes, bytes]

PEER = "peer"
"""Where the server leaves the :class:`Peer` in the scope's ``state``."""

MAX_PROJECT_ID_CHARACTERS = 36
MAX_ROLES = 100
MAX_HEADER_BYTES = 8192
"""Of whatever a caller shows as proof: tokens, passwords, lists of roles."""


class Caller(Value):
    """Who asks, as the identity says. Policies may refer to every attribute but ``user_name``."""

    project_id: ProjectId
    """Empty: the login is for no project (of the whole system, or of a domain)."""
    roles: tuple[str, ...] = ()
    user_id: str = ""
    user_name: str = ""
    domain_id: str = ""
    user_domain_id: str = ""
    project_domain_id: str = ""
    system_scope: str = ""
    is_admin: bool = False
    """Nobody had to log in."""


class Peer(Value):
    """The other end of the connection itself, whatever headers of proxies say."""

    host: str = ""
    certificate_names: tuple[str, ...] | None = None
    """Names in its verified TLS certificate; None: it showed none."""

    @property
    def is_loopback(self) -> bool:
        """Is it on this machine?"""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


class Authenticator(Protocol):
    """Tells who calls."""

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """The caller. ``headers`` has the last of each name, ``scope`` is the ASGI one.

        Raises :class:`Unauthenticated`; :class:`evenkeel.api.errors.Refusal` (403, 429);
        :class:`evenkeel.core.errors.Unavailable` if it cannot be told now.
        """
        ...


class Unauthenticated(Refusal):
    """Nobody, or not who they say. The body is Keystone's middleware's: clients know it."""

    def __init__(self, challenge: str) -> None:
        headers = ((b"www-authenticate", challenge.encode("latin-1", "replace")),)
        super().__init__(401, "The request you have made requires authentication.", headers=headers)


class IdentityUnavailable(Unavailable):
    """Who calls cannot be told now; trying again later is right."""


def peer_of(scope: Mapping[str, Any]) -> Peer:
    """The other end. A server that leaves none is one in the same process."""
    peer = scope.get("state", {}).get(PEER)
    if isinstance(peer, Peer):
        return peer
    client = scope.get("client")
    return Peer(host=client[0] if client else "")


def address_of(scope: Mapping[str, Any]) -> str:
    """Where the caller is, as trusted proxies say; empty if it is not known. It proves nothing."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def checked_project(project_id: str, field: str) -> ProjectId:
    """The project id, if it is one. Raises :class:`Invalid`.

    Project ids become names of device partitions and parts of paths, so their alphabet is a narrow one.
    """
    plain = project_id.replace("-", "").replace("_", "").replace(".", "")
    if len(project_id) <= MAX_PROJECT_ID_CHARACTERS and plain.isascii() and plain.isalnum():
        return ProjectId(project_id)
    raise Invalid(
        f"Invalid input for field/attribute {field}. Value: '{project_id[:64]}'. Value should be 1 to 36 letters, "
        "digits, dots, dashes and underscores."
    )


def roles_of(names: Iterable[str]) -> tuple[str, ...]:
    """Role names in one order, so that equal callers are equal values. Raises :class:`Invalid` for too many."""
    roles = tuple(sorted({name.strip() for name in names} - {""}))
    if len(roles) > MAX_ROLES:
        raise Invalid(f"There are {len(roles)} roles. Allowed: at most {MAX_ROLES}.")
    return roles

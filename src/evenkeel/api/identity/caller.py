"""Authentication port: identifies the caller by a request's headers and peer, or refuses with a challenge."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Protocol

from evenkeel.api.responses.errors import Refusal
from evenkeel.core.kit.errors import Invalid, Unavailable
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

Headers = Mapping[bytes, bytes]

PEER = "peer"
"""Key in the scope's ``state`` under which the server stores the :class:`Peer`."""

MAX_PROJECT_ID_CHARACTERS = 36
MAX_ROLES = 100
MAX_HEADER_BYTES = 8192
"""Largest size of a header with credentials: a token, a password, a list of roles."""


class Caller(Value):
    """The authenticated caller of a request. Policy rules may refer to every attribute; an empty text means
    that the login has no such value.
    """

    project_id: ProjectId
    """Project of the login; empty if the login is for the system or a domain."""
    roles: tuple[str, ...] = ()
    user_id: str = ""
    user_name: str = ""
    domain_id: str = ""
    user_domain_id: str = ""
    project_domain_id: str = ""
    system_scope: str = ""
    is_admin: bool = False
    """True if authentication is disabled."""


class Peer(Value):
    """The peer of a connection, independent of proxies' headers. ``host``: IP address; empty if unknown."""

    host: str = ""
    certificate_names: tuple[str, ...] | None = None
    """Names in the peer's verified TLS certificate; None: it has no certificate."""

    @property
    def is_loopback(self) -> bool:
        """True if the peer has a loopback address, so is on this host; False if the address is unknown."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


class Authenticator(Protocol):
    """Port to authentication: identifies the caller of a request."""

    async def identify(self, headers: Headers, scope: Mapping[str, Any]) -> Caller:
        """Identify the caller. ``headers`` maps lower-case names to the last value of each; ``scope`` is the
        ASGI scope.

        Raises :class:`Unauthenticated`; :class:`evenkeel.api.responses.errors.Refusal` (403, 429);
        :class:`Invalid` for a project id or roles that are not allowed;
        :class:`evenkeel.core.kit.errors.Unavailable` if the caller cannot be identified now.
        """
        ...


class Unauthenticated(Refusal):
    """Credentials are missing or wrong (401). ``challenge``: value of the ``WWW-Authenticate`` header. The
    body equals that of Keystone's middleware, which clients parse.
    """

    def __init__(self, challenge: str) -> None:
        headers = ((b"www-authenticate", challenge.encode("latin-1", "replace")),)
        super().__init__(401, "The request you have made requires authentication.", headers=headers)


class IdentityUnavailable(Unavailable):
    """The caller cannot be identified now; the request may be retried."""


def peer_of(scope: Mapping[str, Any]) -> Peer:
    """Return the peer that the server stored for the request, or else (the server runs in the same process) a
    peer with the address of the ASGI client, empty if unknown.
    """
    peer = scope.get("state", {}).get(PEER)
    if isinstance(peer, Peer):
        return peer
    client = scope.get("client")
    return Peer(host=client[0] if client else "")


def client_address(scope: Mapping[str, Any]) -> str:
    """Return the client's IP address, which trusted proxies' headers may have set; empty if unknown. Not
    suitable for authentication.
    """
    client = scope.get("client")
    return str(client[0]) if client else ""


def checked_project(project_id: str, field: str) -> ProjectId:
    """Return the project id if it has 1 to 36 letters, digits, dashes, underscores and dots, not only signs.
    Raises :class:`Invalid` naming ``field``.

    Project ids become names of device partitions and parts of paths, so their alphabet is restricted.
    """
    # A text of these signs alone leaves nothing, which isalnum() refuses: "." and ".." would be folders of a path.
    plain = project_id.replace("-", "").replace("_", "").replace(".", "")
    if len(project_id) <= MAX_PROJECT_ID_CHARACTERS and plain.isascii() and plain.isalnum():
        return ProjectId(project_id)
    raise Invalid(
        f"Invalid input for field/attribute {field}. Value: '{project_id[:64]}'. Value should be 1 to 36 letters, "
        "digits, dots, dashes and underscores."
    )


def distinct_roles(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct role names without spaces around them, sorted, so that equal callers are equal
    values; empty names are left out. Raises :class:`Invalid` for more than :data:`MAX_ROLES`.
    """
    roles = tuple(sorted({name.strip() for name in names} - {""}))
    if len(roles) > MAX_ROLES:
        raise Invalid(f"There are {len(roles)} roles. Allowed: at most {MAX_ROLES}.")
    return roles

"""Selection of the certificate authority for a request. Pure."""

from collections.abc import Sequence

from evenkeel.core.kit.errors import Invalid, Unsupported
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

DEFAULT_AUTHORITY = "default"
"""Name of the authority of the section ``[acme]``."""


class AuthorityScope(Value):
    """A configured certificate authority, and the projects that may use it."""

    name: str
    projects: tuple[ProjectId, ...] = ()
    """Projects that may use the authority, and do unless a request names another one; none: the authority is for all
    projects.
    """


def may_use_authority(project_id: ProjectId, name: str, scopes: Sequence[AuthorityScope]) -> bool:
    """Whether an authority with this name is configured, and the project may use it."""
    return any(each.name == name and (not each.projects or project_id in each.projects) for each in scopes)


def authority_for(project_id: ProjectId, wanted: str | None, scopes: Sequence[AuthorityScope]) -> str:
    """Return the name of the authority for a request of the project: ``wanted``, the authority that the
    request names; or (None) the project's own, the default one, or the only one for all projects.

    Raises :class:`Invalid` for one that the project may not use, and :class:`Unsupported` if ``wanted`` is
    None and none of these exists.
    """
    own = [each.name for each in scopes if project_id in each.projects]
    shared = [each.name for each in scopes if not each.projects]
    if wanted is not None:
        if not may_use_authority(project_id, wanted, scopes):
            # Other projects' authorities are not named.
            allowed = ", ".join(sorted(own + shared)) or "left out: the project has none"
            raise Invalid(
                f"Invalid input for field/attribute authority. Value: '{wanted[:100]}'. Value should be {allowed}."
            )
        return wanted
    if own:
        return own[0]
    if DEFAULT_AUTHORITY in shared:
        return DEFAULT_AUTHORITY
    if len(shared) == 1:
        return shared[0]
    raise Unsupported(
        f"Project {project_id} has no default certificate authority: the option acme.directory_url is not set."
    )

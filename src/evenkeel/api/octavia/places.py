"""What all create requests have in common: where the new object belongs, and the attributes that everything has."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

from msgspec import UnsetType

from evenkeel.api.errors import unknown_input

NewId = Callable[[], str]


class Place(NamedTuple):
    """Where a new object belongs."""

    load_balancer_id: str
    project_id: str


class HasProject(Protocol):
    """A part of a request that may name its project, by either of its two names."""

    @property
    def project_id(self) -> str | UnsetType | None:
        """Octavia's name."""

    @property
    def tenant_id(self) -> str | UnsetType | None:
        """The old name."""


def project_of(body: HasProject, default: str) -> str:
    """The project a body names, by either of its two names. Raises :class:`Invalid` if they differ."""
    project_id, tenant_id = body.project_id or default, body.tenant_id or body.project_id or default
    if body.project_id and project_id != tenant_id:
        raise unknown_input("tenant_id", tenant_id, f"It should be the same as project_id, which is {project_id}.")
    return str(tenant_id)


def check_project(body: HasProject, place: Place) -> None:
    """Children belong to their load balancer's project. Raises :class:`Invalid`."""
    if (given := project_of(body, place.project_id)) != place.project_id:
        raise unknown_input("project_id", given, f"It should be the load balancer's, which is {place.project_id}.")


def tags_of(tags: Iterable[str] | None) -> tuple[str, ...]:
    """The tags, each once, in the order given."""
    return tuple(dict.fromkeys(tags)) if tags else ()


def is_up(admin_state_up: bool | None) -> bool:
    """Up, unless told otherwise."""
    return admin_state_up is not False

"""Common parts of create requests: the parents of the new object, and common attributes."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, TypeVar

from msgspec import UnsetType

from evenkeel.api.responses.errors import invalid_input
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.networking.addresses import AddressRules
from evenkeel.core.resources.model import VnicType
from evenkeel.core.tls.tls import TlsRules

NewId = Callable[[], str]
T = TypeVar("T", bound=str)


class ParentContext(NamedTuple):
    """Where a new object belongs: its load balancer and project, and the addresses and TLS options that it may use."""

    load_balancer_id: LoadBalancerId
    project_id: ProjectId
    addresses: AddressRules
    tls: TlsRules
    enhanced_services: frozenset[str] = frozenset()
    """Names of enhanced services: an L7 policy with such a name stands for the service."""


class HasProject(Protocol):
    """A part of a request that may name its project, by either of its two names."""

    @property
    def project_id(self) -> str | UnsetType | None:
        """Octavia's attribute with the project's id; None or unset: not in the request."""

    @property
    def tenant_id(self) -> str | UnsetType | None:
        """The deprecated attribute with the project's id; None or unset: not in the request."""


def project_of(body: HasProject, default: str) -> str:
    """Return the project that a body names, by either of its two names, or ``default``. Raises
    :class:`Invalid` if the names differ.
    """
    project_id, tenant_id = body.project_id or default, body.tenant_id or body.project_id or default
    if body.project_id and project_id != tenant_id:
        raise invalid_input("tenant_id", tenant_id, f"It should be the same as project_id, which is {project_id}.")
    return str(tenant_id)


def check_project(body: HasProject, place: ParentContext) -> None:
    """Check that a child names no other project than its load balancer's. Raises :class:`Invalid`."""
    if (given := project_of(body, place.project_id)) != place.project_id:
        raise invalid_input("project_id", given, f"It should be the load balancer's, which is {place.project_id}.")


def without_duplicates(values: Iterable[T] | None) -> tuple[T, ...]:
    """Return the values without duplicates, in the given order; empty for None."""
    return tuple(dict.fromkeys(values)) if values else ()


def is_admin_up(admin_state_up: bool | None) -> bool:
    """Return the administrative state that a request gives an object; True if it gives none."""
    return admin_state_up is not False


def vnic_type_of(request_sriov: bool | None) -> VnicType:
    """Return the vnic type of a member's port: ``direct`` if the request wants SR-IOV, else ``normal``."""
    return "direct" if request_sriov else "normal"

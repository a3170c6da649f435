"""Store port for quotas."""

from typing import Protocol

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.quota import Limits, ProjectQuotas, Quotas


class QuotaStore(Protocol):
    """Store port for quotas of projects. Every write that creates an object checks them and raises
    :class:`QuotaMet`.
    """

    def default_quotas(self) -> Quotas:
        """Return the quotas of projects that have none of their own."""
        ...

    async def quotas_of(self, project_id: ProjectId) -> ProjectQuotas:
        """Return the project's quotas, with defaults where it has none of its own; one query."""
        ...

    async def list_quotas(self, query: ListQuery) -> Page:
        """Return a page of the quotas of projects that have quotas of their own. Raises the errors of
        :meth:`TenantStore.list`.
        """
        ...

    async def set_quotas(self, project_id: ProjectId, limits: Limits) -> ProjectQuotas:
        """Set the given limits of a project; the limit None goes back to the default. Existing objects stay."""
        ...

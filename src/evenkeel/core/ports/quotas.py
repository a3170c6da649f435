"""The store port for quotas."""

from typing import Protocol

from evenkeel.core.control import ListQuery, Page
from evenkeel.core.ids import ProjectId
from evenkeel.core.quota import Limits, ProjectQuotas, Quotas


class QuotaStore(Protocol):
    """Quotas of projects. Every write that creates an object checks them and raises :class:`QuotaMet`."""

    def default_quotas(self) -> Quotas:
        """Quotas of projects that have none of their own."""
        ...

    async def quotas_of(self, project_id: ProjectId) -> ProjectQuotas:
        """The project's quotas, the default ones filled in; one query."""
        ...

    async def list_quotas(self, query: ListQuery) -> Page:
        """A page of the quotas of projects that have some of their own. Raises as :meth:`TenantStore.list`."""
        ...

    async def set_quotas(self, project_id: ProjectId, limits: Limits) -> ProjectQuotas:
        """Set the given limits; None: back to the default. Existing objects stay."""
        ...

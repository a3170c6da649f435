"""Store port for quotas."""

from typing import Protocol

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.quota import Limits, ProjectQuotas, Quotas


class QuotaStore(Protocol):
    """Store port for the quotas of projects, which every write that creates an object checks. Every
    asynchronous method may raise :class:`StoreUnavailable`.
    """

    def default_quotas(self) -> Quotas:
        """Return the quotas of projects that have none of their own."""
        ...

    async def quotas_of(self, project_id: ProjectId) -> ProjectQuotas:
        """Return the project's quotas, with defaults where it has none of its own; one query."""
        ...

    async def list_quotas(self, query: ListQuery) -> Page:
        """Return a page of the quotas (:class:`ProjectQuotas`) of projects that have at least one limit of
        their own. Raises :class:`Invalid` for unknown filter or sort names and markers.
        """
        ...

    async def set_quotas(self, project_id: ProjectId, limits: Limits) -> ProjectQuotas:
        """Set the given limits of a project, and return its quotas; the limit None goes back to the default.
        Objects that exceed a new limit stay. An event records the act.
        """
        ...

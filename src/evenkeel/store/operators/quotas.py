"""Reads and sets the quotas of projects. For checks see :mod:`evenkeel.store.writing.quota_check`."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, or_, select, update

from evenkeel.core.control.lists import ListQuery, Page
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.quota import TITLES, Limits, ProjectQuotas, Quotas
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.in_list import storable_text
from evenkeel.store.engine.statements import insert_if_absent
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.listing import list_page
from evenkeel.store.records.rows import Kind
from evenkeel.store.writing.operator_actions import record_operator_action_event

_quota = schema.quota
_LIMIT_COLUMNS = tuple(_quota.c[name] for name in TITLES)


class SqlQuotas:
    """Implements :class:`evenkeel.core.ports.QuotaStore`."""

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options

    def default_quotas(self) -> Quotas:
        return self._options.default_quotas

    async def quotas_of(self, project_id: ProjectId) -> ProjectQuotas:
        statement = select(_quota.c.project_id, *_LIMIT_COLUMNS).where(_quota.c.project_id == storable_text(project_id))
        row = await self._db.query(lambda connection: connection.execute(statement).first())
        return self._project_quotas((project_id, *(row[1:] if row is not None else ())))

    async def list_quotas(self, query: ListQuery) -> Page:
        kind = Kind(
            "Quota",
            _quota,
            (_quota.c.project_id, *_LIMIT_COLUMNS),
            self._project_quotas,
            key="project_id",
            order=("project_id",),
        )
        # A row may exist only for its lock, made by a check of default quotas.
        own: ColumnElement[bool] = or_(*(column.is_not(None) for column in _LIMIT_COLUMNS))
        return await self._db.read(lambda connection: list_page(connection, kind, query, [own]))

    async def set_quotas(self, project_id: ProjectId, limits: Limits) -> ProjectQuotas:
        if limits:
            await self._db.write(lambda connection: _set_limits(connection, project_id, limits))
        return await self.quotas_of(project_id)

    def _project_quotas(self, row: Sequence[Any]) -> ProjectQuotas:
        """Return the quotas of a project from a row that begins with the project id, or from a row with only the
        project id.
        """
        own = dict(zip(TITLES, row[1:], strict=False))
        return ProjectQuotas(project_id=row[0], quotas=self._options.default_quotas.with_project_limits(own))


def _set_limits(connection: Connection, project_id: ProjectId, limits: Limits) -> None:
    insert_if_absent(connection, _quota, {"project_id": project_id, "checks": 0})
    connection.execute(update(_quota).where(_quota.c.project_id == project_id).values(dict(limits)))
    told = ", ".join(f"{name} {'default' if limit is None else limit}" for name, limit in sorted(limits.items()))
    record_operator_action_event(
        connection,
        kind="quota_changed",
        done=f"quotas of project {project_id} were set",
        details=f": {told}",
    )

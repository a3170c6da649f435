"""Implements the port of renewals: each method is a transaction."""

from sqlalchemy import Connection, update

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.ids import ProjectId
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.records import schema

_certificate = schema.certificate


class SqlRenewals:
    """Implements :class:`evenkeel.core.ports.RenewalStore`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def check_now(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        await self._db.write(lambda connection: _check_now(connection, project_id, reference, kind))


def _check_now(connection: Connection, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
    connection.execute(
        update(_certificate)
        .where(
            _certificate.c.project_id == project_id,
            _certificate.c.reference == reference,
            _certificate.c.kind == kind.value,
        )
        .values(next_check_at=db_now())
    )

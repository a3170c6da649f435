"""Implements :class:`evenkeel.core.ports.RenewalStore` in SQL."""

from sqlalchemy import Connection, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, DueCertificate
from evenkeel.store.engine.base import Database
from evenkeel.store.engine.clock import db_now
from evenkeel.store.engine.operations import write_operation
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.renewals import contents, expiry
from evenkeel.store.writing.certificates import certificate_id

_certificate = schema.certificate


class SqlRenewals:
    """Stores when references to key managers are read again, and what was read, in SQL; implements the port
    ``RenewalStore``.
    """

    def __init__(self, database: Database, options: StoreOptions) -> None:
        self._db = database
        self._options = options

    async def make_certificate_due(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        id_ = certificate_id(project_id, reference, kind)
        await self._db.write(lambda connection: _make_reference_due(connection, id_))

    async def take_due_certificates(self, *, limit: int) -> tuple[DueCertificate, ...]:
        ids = await self._db.query(lambda connection: contents.read_due_reference_ids(connection, limit, self._options))
        if not ids:
            return ()
        return await self._db.write(lambda connection: contents.take_due_references(connection, ids, self._options))

    async def record_content(self, due: DueCertificate, found: CheckedCertificate) -> tuple[Change, ...]:
        return await self._db.write(
            lambda connection: contents.record_certificate_content(connection, due, found, self._options)
        )

    record_read_problem = write_operation(contents.record_certificate_problem)

    async def warn_of_expiry(self, *, limit: int) -> int:
        rows = await self._db.query(lambda connection: expiry.read_expiring_certificates(connection, limit))
        if not rows:
            return 0
        return await self._db.write(lambda connection: expiry.record_expiry_events(connection, rows))


def _make_reference_due(connection: Connection, id_: str) -> None:
    connection.execute(update(_certificate).where(_certificate.c.id == id_).values(next_check_at=db_now()))

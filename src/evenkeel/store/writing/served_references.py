"""Changed listeners that wait for a requested certificate: devices have their former references meanwhile.
Callers have locked the load balancer.
"""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, exists, select, update

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.resources.model import Listener
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.records import schema
from evenkeel.store.writing.certificates import certificate_id

_certificate = schema.certificate
_certificate_use = schema.certificate_use
_listener = schema.listener
_references_decoder = msgspec.json.Decoder(tuple[str, ...])

NO_SERVED_REFERENCES = "[]"


def awaits_certificate(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the SQL condition that a listener has a reference to a certificate that is not issued yet, and that meets
    the conditions.
    """
    return exists().where(
        _certificate_use.c.owner_id == _listener.c.id,
        _certificate_use.c.certificate_id == _certificate.c.id,
        _certificate.c.announced_sha256 == "",
        *conditions,
    )


def has_served_references() -> ColumnElement[bool]:
    """Return the SQL condition that former references of a listener are stored: devices have them while the
    listener waits for a certificate.
    """
    return _listener.c.served_container_refs != NO_SERVED_REFERENCES


def references_to_keep(connection: Connection, before: Listener) -> tuple[str, ...]:
    """Return the references that devices have of a listener which is about to wait for a certificate: the
    default one (empty: none), then those of SNI. Empty if devices do not have the listener, because it
    waits already. Call it before its uses of certificates are changed.
    """
    waiting = select(_listener.c.id).where(_listener.c.id == before.id, awaits_certificate())
    if before.served_container_refs or connection.scalar(waiting) is not None:
        return before.served_container_refs
    default, sni = before.default_tls_container_ref, before.sni_container_refs
    return (default or "", *sni) if default or sni else ()


def delete_served_references(connection: Connection, project_id: ProjectId, listener_ids: Sequence[str]) -> None:
    """Delete the former references, and the records of their use, of those of the listeners that no longer
    wait for a certificate.
    """
    columns = _listener.c.id, _listener.c.served_container_refs
    own = _listener.c.default_tls_container_ref, _listener.c.sni_container_refs
    ended = is_in_list(_listener.c.id, listener_ids), has_served_references(), ~awaits_certificate()
    for row in connection.execute(select(*columns, *own).where(*ended).order_by(_listener.c.id)).all():
        kept = {row.default_tls_container_ref, *_references_decoder.decode(row.sni_container_refs)}
        gone = {each for each in _references_decoder.decode(row.served_container_refs) if each} - kept
        ids = [certificate_id(project_id, each, CertificateKind.CERTIFICATE) for each in sorted(gone)]
        connection.execute(
            delete(_certificate_use).where(
                _certificate_use.c.owner_id == row.id, is_in_list(_certificate_use.c.certificate_id, ids)
            )
        )
        connection.execute(
            update(_listener).where(_listener.c.id == row.id).values(served_container_refs=NO_SERVED_REFERENCES)
        )

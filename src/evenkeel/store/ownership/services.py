"""Service definitions for the agent that owns a shard, page by page."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, func, literal, select

from evenkeel.core.certificates import CertificateFacts, CertificateKind
from evenkeel.core.errors import SessionLost
from evenkeel.core.ids import AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.messages import ServiceDefinitions
from evenkeel.core.service import ServiceCertificate, definition_of, refers_to_certificates
from evenkeel.store.engine.in_list import in_bound_list, in_list
from evenkeel.store.engine.statements import batches
from evenkeel.store.ownership.sql import is_of
from evenkeel.store.records import schema
from evenkeel.store.records.loading import load_trees

MAX_SERVICES_PER_PAGE = 1_000
MEMBERS_PER_PAGE = 5_000
"""Of a page with more than one load balancer."""

_shard = schema.shard
_root = schema.load_balancer
_member = schema.member
_certificate = schema.certificate
_use = schema.certificate_use


def read_services(
    connection: Connection,
    agent_id: AgentId,
    session_id: SessionId,
    shard_id: ShardId,
    epoch: int,
    *,
    load_balancer_ids: Sequence[LoadBalancerId] | None,
    after_id: str,
    limit: int,
) -> ServiceDefinitions:
    """A page of definitions. Raises :class:`SessionLost` unless the agent owns the shard."""
    size = max(1, min(limit, MAX_SERVICES_PER_PAGE))
    check_owner(connection, agent_id, session_id, shard_id, epoch)
    if load_balancer_ids is None:
        return _page(connection, _following(connection, shard_id, after_id, size + 1), size)
    found = _those_of(connection, shard_id, load_balancer_ids)
    missing = tuple(sorted(set(load_balancer_ids) - found))
    return _page(connection, sorted(id_ for id_ in found if id_ > after_id), size, missing)


def check_owner(
    connection: Connection, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
) -> None:
    """Raises :class:`SessionLost` unless the agent owns the shard, in that session."""
    statement = select(_shard.c.id).where(
        _shard.c.id == shard_id,
        _shard.c.acting_agent_id == agent_id,
        _shard.c.epoch == epoch,
        is_of(agent_id, session_id),
    )
    if connection.execute(statement).first() is None:
        raise SessionLost(f"shard {shard_id} is not owned by agent {agent_id} at epoch {epoch} in that session")


def _following(connection: Connection, shard_id: ShardId, after_id: str, limit: int) -> list[LoadBalancerId]:
    statement = (
        select(_root.c.id).where(_root.c.shard_id == shard_id, _root.c.id > after_id).order_by(_root.c.id).limit(limit)
    )
    return list(connection.scalars(statement))


def _those_of(connection: Connection, shard_id: ShardId, ids: Sequence[LoadBalancerId]) -> set[LoadBalancerId]:
    found: set[LoadBalancerId] = set()
    for batch in batches(ids):
        found.update(
            connection.scalars(select(_root.c.id).where(in_list(_root.c.id, batch), _root.c.shard_id == shard_id))
        )
    return found


def _page(
    connection: Connection, ids: Sequence[LoadBalancerId], size: int, missing: tuple[LoadBalancerId, ...] = ()
) -> ServiceDefinitions:
    """The first ``size`` of ``ids``, or fewer if they are large; one deleted since its id was read is left out."""
    shown = ids[:size]
    while len(shown) > 1 and _crowded(connection, shown):
        shown = shown[: len(shown) // 2]
    trees = load_trees(connection, shown)
    certificates = _certificates_of(connection, [id_ for id_, tree in trees.items() if refers_to_certificates(tree)])
    return ServiceDefinitions(
        services=tuple(definition_of(tree, certificates.get(id_, ())) for id_, tree in trees.items()),
        missing=missing,
        more=len(ids) > len(shown),
    )


def _certificates_of(connection: Connection, load_balancer_ids: Sequence[str]) -> dict[str, list[ServiceCertificate]]:
    """By load balancer; no query where none has references, which is usual."""
    found: dict[str, list[ServiceCertificate]] = {}
    if load_balancer_ids:
        for row in connection.execute(_REFERRED, {"wanted": list(load_balancer_ids)}):
            found.setdefault(row.load_balancer_id, []).append(
                _certificate_of(row.reference, row.kind, row.sha256, row.facts)
            )
    return found


def _certificate_of(reference: str, kind: str, sha256: str, facts: str | None) -> ServiceCertificate:
    known = ServiceCertificate(reference=reference, kind=CertificateKind(kind), sha256=sha256)
    if known.kind is not CertificateKind.CERTIFICATE or facts is None:
        return known
    decoded = _facts.decode(facts)
    return replace(known, key_type=decoded.key_type, names_sha256=decoded.names_sha256)


_facts = msgspec.json.Decoder(CertificateFacts)


_REFERRED = (
    select(
        _use.c.load_balancer_id,
        _certificate.c.reference,
        _certificate.c.kind,
        _certificate.c.sha256,
        _certificate.c.facts,
    )
    .join(_certificate, _certificate.c.id == _use.c.certificate_id)
    .where(in_bound_list(_use.c.load_balancer_id, "wanted"))
    .distinct()
)


def _crowded(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId]) -> bool:
    """Whether they have more members than one page reads; stops counting there."""
    some = select(literal(1)).where(in_list(_member.c.load_balancer_id, load_balancer_ids)).limit(MEMBERS_PER_PAGE + 1)
    return (connection.scalar(select(func.count()).select_from(some.subquery())) or 0) > MEMBERS_PER_PAGE

"""Certificates whose content an agent is authorised to read, because load balancers of its shard refer to them."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from evenkeel.core.kit.ids import AgentId, LoadBalancerId, ProjectId, SessionId, ShardId
from evenkeel.core.protocol.messages import CERTIFICATES_PER_CALL, WantedCertificate
from evenkeel.core.tls.certificates import CertificateKind, CertificateReader, ReadableCertificate
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.ownership.services import check_shard_owner
from evenkeel.store.records import schema
from evenkeel.store.records.standby import is_held_by_shard

_agent = schema.agent
_load_balancer = schema.load_balancer
_certificate = schema.certificate
_certificate_use = schema.certificate_use

ProjectByReference = dict[tuple[str, str, CertificateKind], ProjectId]
"""{(load balancer id, reference, kind): project in whose name the certificate is read}."""


def read_certificate_reader(
    connection: Connection,
    agent_id: AgentId,
    session_id: SessionId,
    shard_id: ShardId,
    epoch: int,
    wanted: Sequence[WantedCertificate],
) -> CertificateReader:
    """Return which of the certificates ``wanted`` the agent may read for the shard, at most
    :data:`CERTIFICATES_PER_CALL`, and its public key; without a key none may be read. Raises
    :class:`SessionLost` unless the agent owns the shard.
    """
    check_shard_owner(connection, agent_id, session_id, shard_id, epoch)
    sealing_key = _sealing_key(connection, agent_id, session_id)
    asked = wanted[:CERTIFICATES_PER_CALL]
    if not sealing_key or not asked:
        return CertificateReader(sealing_key=sealing_key, readable=())
    referred = _read_references(connection, shard_id, {each.load_balancer_id for each in asked})
    readable = [
        ReadableCertificate(project_id=project_id, reference=each.reference, kind=each.kind, sha256=each.sha256)
        for each in asked
        if (project_id := referred.get((each.load_balancer_id, each.reference, each.kind))) is not None
    ]
    return CertificateReader(sealing_key=sealing_key, readable=tuple(dict.fromkeys(readable)))


def _sealing_key(connection: Connection, agent_id: AgentId, session_id: SessionId) -> bytes:
    """Return the public key with which the agent's session was registered, for sealing private keys; empty if
    it has none.
    """
    # The key of a former session must not be used: its process is gone, or no longer the owner.
    statement = select(_agent.c.sealing_key).where(_agent.c.id == agent_id, _agent.c.sealing_session_id == session_id)
    return bytes.fromhex(connection.scalar(statement) or "")


def _read_references(
    connection: Connection, shard_id: ShardId, load_balancer_ids: set[LoadBalancerId]
) -> ProjectByReference:
    statement = (
        select(
            _certificate_use.c.load_balancer_id,
            _certificate.c.reference,
            _certificate.c.kind,
            _certificate.c.project_id,
        )
        .join(_certificate, _certificate.c.id == _certificate_use.c.certificate_id)
        .join(_load_balancer, _load_balancer.c.id == _certificate_use.c.load_balancer_id)
        # The condition on the shard is the authorisation: an agent may name any load balancer in its call.
        .where(is_in_list(_certificate_use.c.load_balancer_id, load_balancer_ids), is_held_by_shard(shard_id))
    )
    return {
        (row.load_balancer_id, row.reference, CertificateKind(row.kind)): ProjectId(row.project_id)
        for row in connection.execute(statement)
    }

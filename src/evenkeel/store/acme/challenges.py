"""Challenges on load balancers: which load balancers can have them, and their placement.

Load balancers are locked before rows of certificates, as in tenants' writes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, false, or_, select, update

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.resources.http_challenges import CHALLENGES_PER_LOAD_BALANCER, HttpChallenge
from evenkeel.core.resources.model import DATAGRAM_PROTOCOLS
from evenkeel.core.resources.statuses import ProvisioningStatus
from evenkeel.core.tls.acme.values import AcmeCertificate, AcmeStep, AcmeTarget, Authorization, PlacedChallenges
from evenkeel.store.acme.certificates import is_lease_current
from evenkeel.store.engine.in_list import is_in_list
from evenkeel.store.options import StoreOptions
from evenkeel.store.records import schema
from evenkeel.store.records.rows import columns_from_attributes
from evenkeel.store.writing.changes import new_change_parameter
from evenkeel.store.writing.revision_lock import read_changes, revision_assignments
from evenkeel.store.writing.revisions import store_revision_requesters

_load_balancer = schema.load_balancer
_listener = schema.listener
_vip_address = schema.vip_address
HTTP_PORT = 80
_challenges_decoder = msgspec.json.Decoder(tuple[HttpChallenge, ...])


def read_challenge_targets(
    connection: Connection, project_id: ProjectId, addresses: Sequence[str]
) -> tuple[AcmeTarget, ...]:
    """Return the project's load balancers that have one of the addresses as a VIP, sorted by id; deleted and
    held ones are left out. Three queries.
    """
    owned = (
        _load_balancer.c.project_id == project_id,
        _load_balancer.c.deleted == false(),
        _load_balancer.c.held == false(),
    )
    with_address = select(_vip_address.c.load_balancer_id).where(is_in_list(_vip_address.c.address, list(addresses)))
    roots = connection.execute(
        select(
            _load_balancer.c.id,
            _load_balancer.c.provider,
            _load_balancer.c.admin_state_up,
            _load_balancer.c.shard_id,
            _load_balancer.c.mirrored,
            _load_balancer.c.vip_port_id,
        )
        .where(*owned, _load_balancer.c.id.in_(with_address))
        .order_by(_load_balancer.c.id)
    ).all()
    ids = [row.id for row in roots]
    of = connection.execute(
        select(_vip_address.c.load_balancer_id, _vip_address.c.address).where(
            is_in_list(_vip_address.c.load_balancer_id, ids)
        )
    ).all()
    on_port = connection.execute(
        select(_listener.c.load_balancer_id, _listener.c.protocol, _listener.c.admin_state_up).where(
            is_in_list(_listener.c.load_balancer_id, ids),
            _listener.c.protocol_port == HTTP_PORT,
            _listener.c.protocol.not_in(sorted(DATAGRAM_PROTOCOLS)),
            _listener.c.deleted == false(),
        )
    ).all()
    listening = {each.load_balancer_id for each in on_port if each.protocol == "HTTP" and each.admin_state_up}
    taken = {each.load_balancer_id for each in on_port}
    return tuple(
        AcmeTarget(
            load_balancer_id=row.id,
            environment=row.provider,
            addresses=tuple(sorted(each.address for each in of if each.load_balancer_id == row.id)),
            port_id=row.vip_port_id,
            has_http_listener=row.id in listening,
            port_taken=row.id in taken,
            admin_state_up=row.admin_state_up,
            placed=row.shard_id is not None,
            mirrored=row.mirrored,
        )
        for row in roots
    )


def replace_challenges(
    connection: Connection,
    certificate: AcmeCertificate,
    wanted: Mapping[LoadBalancerId, Sequence[Authorization]],
    options: StoreOptions,
) -> tuple[tuple[PlacedChallenges, ...], tuple[Change, ...]]:
    """Replace the certificate's challenges on load balancers by ``wanted``; return the state of the wanted
    ones, and changes for hints to agents. Both are empty, and nothing is stored, if the caller's lease of
    the certificate is over.

    ``wanted``: {load balancer id: authorizations}; if empty, each load balancer keeps one closed challenge
    until the certificate is removed. Raises :class:`Conflict` if a load balancer would have more than
    :data:`CHALLENGES_PER_LOAD_BALANCER` open challenges.
    """
    rows = _lock_load_balancers(connection, certificate, list(wanted))
    if not is_lease_current(connection, certificate):
        return (), ()
    stored = {row.id: _challenges_decoder.decode(row.challenges) for row in rows}
    changed = []
    stay_prepared = not wanted and certificate.progress.step is not AcmeStep.REMOVE
    for row in rows:
        if stay_prepared:
            new = _closed_challenges(stored[row.id], certificate.id, row.revision + 1)
        else:
            new = _new_challenges(stored[row.id], certificate.id, wanted.get(row.id, ()), row.revision + 1)
        if sum(each.open for each in new) > CHALLENGES_PER_LOAD_BALANCER:
            raise Conflict(f"Load balancer {row.id} has {CHALLENGES_PER_LOAD_BALANCER} challenges, which is the most.")
        if new != stored[row.id]:
            stored[row.id] = new
            changed.append(row.id)
            _store_challenges(connection, row.id, new, options)
    placed = tuple(_placed_challenges(row, stored[row.id], certificate.id) for row in rows if row.id in wanted)
    return placed, read_changes(connection, is_in_list(_load_balancer.c.id, changed)) if changed else ()


def _lock_load_balancers(
    connection: Connection, certificate: AcmeCertificate, ids: Sequence[LoadBalancerId]
) -> Sequence[Any]:
    """Lock the project's load balancers with these ids or challenges of the certificate, in the order of
    their ids; return their rows.
    """
    columns = (
        _load_balancer.c.id,
        _load_balancer.c.challenges,
        _load_balancer.c.revision,
        _load_balancer.c.applied_revision,
    )
    concerned = or_(
        is_in_list(_load_balancer.c.id, list(ids)),
        _load_balancer.c.challenges.contains(f'"{certificate.id}"', autoescape=True),
    )
    statement = (
        select(*columns, _load_balancer.c.provisioning_status, _load_balancer.c.status_reason)
        .where(_load_balancer.c.project_id == certificate.project_id, _load_balancer.c.deleted == false(), concerned)
        .order_by(_load_balancer.c.id)
    )
    return connection.execute(statement.with_for_update(key_share=True)).all()


def _new_challenges(
    stored: Sequence[HttpChallenge], certificate_id: str, wanted: Sequence[Authorization], revision: int
) -> tuple[HttpChallenge, ...]:
    """Return ``stored`` with the certificate's challenges replaced by the wanted ones, last and sorted by
    token; unchanged challenges keep their revision.
    """
    known = {each.token: each for each in stored if each.certificate_id == certificate_id}
    new = []
    for one in sorted(wanted, key=lambda each: each.token):
        made = HttpChallenge(
            certificate_id=certificate_id, token=one.token, key_authorization=one.key_authorization, revision=revision
        )
        former = known.get(one.token)
        same = former is not None and replace(former, revision=revision) == made
        new.append(former if former is not None and same else made)
    return (*(each for each in stored if each.certificate_id != certificate_id), *new)


def _closed_challenges(
    stored: Sequence[HttpChallenge], certificate_id: str, revision: int
) -> tuple[HttpChallenge, ...]:
    """Return ``stored`` with one closed challenge in place of all that the certificate has; unchanged if none
    of them is open.
    """
    own = [each for each in stored if each.certificate_id == certificate_id]
    if not any(each.open for each in own):
        return tuple(stored)
    closed = replace(own[0], open=False, revision=revision)
    return (*(each for each in stored if each.certificate_id != certificate_id), closed)


def _store_challenges(
    connection: Connection, id_: str, challenges: tuple[HttpChallenge, ...], options: StoreOptions
) -> None:
    values = {**revision_assignments(), **columns_from_attributes({"challenges": challenges})}
    connection.execute(
        update(_load_balancer).where(_load_balancer.c.id == id_).ordered_values(*values.items()),
        {"deadline_seconds": options.pending_deadline_seconds, "new_change": new_change_parameter()},
    )
    store_revision_requesters(connection, _load_balancer.c.id == id_)


def _placed_challenges(row: Any, challenges: Sequence[HttpChallenge], certificate_id: str) -> PlacedChallenges:
    needed = max((each.revision for each in challenges if each.certificate_id == certificate_id), default=0)
    is_active = row.provisioning_status == ProvisioningStatus.ACTIVE.value
    return PlacedChallenges(
        load_balancer_id=row.id,
        applied=row.applied_revision >= needed,
        reason="" if is_active else row.status_reason,
    )

"""Reads service definitions for the agent that owns a shard, page by page."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection, Integer, Select, String, bindparam, func, literal, select

from evenkeel.core.control.moves import Move, MoveStep
from evenkeel.core.devices.service import (
    ServiceCertificate,
    ServiceDefinition,
    refers_to_certificates,
    rejected_definition,
    removal_definition,
    service_definition_of_tree,
)
from evenkeel.core.kit.errors import SessionLost
from evenkeel.core.kit.ids import COMMON_PROJECT, AgentId, LoadBalancerId, SessionId, ShardId
from evenkeel.core.networking.attachment import (
    DeviceAddressNotAllocated,
    NetworkNotAttachable,
    NetworkNotReady,
    NetworkRequestsNeeded,
    SubnetsInUse,
    common_networks_of,
    members_on_tunnels,
    service_networks,
    subnets_in_use,
    subnets_to_attach,
    tunnels_of_service,
)
from evenkeel.core.protocol.messages import ServiceDefinitions
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.tls.certificates import CertificateFacts, CertificateKind
from evenkeel.store.engine.in_list import is_in_bound_list
from evenkeel.store.engine.statements import split_into_batches
from evenkeel.store.networks.common import add_common_networks
from evenkeel.store.networks.common_services import read_network_services
from evenkeel.store.networks.facts import read_member_hosts
from evenkeel.store.networks.network_attachment import read_attachments, read_known_subnets
from evenkeel.store.networks.shard_locations import ShardLocation, shard_location_from_row, shard_locations_query
from evenkeel.store.ownership.sql import is_current_session
from evenkeel.store.records import schema
from evenkeel.store.records.loading import load_trees
from evenkeel.store.records.moves import move_from_row
from evenkeel.store.records.standby import has_silent_load_balancers, is_move_open, is_silent_on_shard

MAX_SERVICES_PER_PAGE = 1_000
MEMBERS_PER_PAGE = 5_000
"""Maximum number of members on a page with more than one load balancer."""

_shard = schema.shard
_load_balancer = schema.load_balancer
_member = schema.member
_load_balancer_move = schema.load_balancer_move
_certificate = schema.certificate
_certificate_use = schema.certificate_use


class DefinitionsPage(NamedTuple):
    """A page of service definitions for an agent, and the facts, ports and addresses that must be requested
    or allocated before other load balancers can have a definition.
    """

    page: ServiceDefinitions
    location: ShardLocation
    unallocated: dict[LoadBalancerId, SubnetsInUse]
    """{load balancer id: subnets in which devices need a route domain or addresses first}; these are not in the
    page.
    """
    needs: NetworkRequestsNeeded
    """Facts and ports to be requested from the network service."""
    awaited: frozenset[str] = frozenset()
    """Ids of shared networks that load balancers of the page use, if one of them waits for a network's configuration;
    empty if none waits.
    """


class StandbyMoves(NamedTuple):
    """Moves of load balancers of which a shard's devices may hold a copy that does not answer for the VIP."""

    moves: Mapping[LoadBalancerId, Move]
    is_known: bool
    """Whether the agent supports :attr:`ServiceDefinition.standby`: an agent that does not would let both sides answer
    for the VIP.
    """

    def definition_for_agent(self, service: ServiceDefinition, shard_id: ShardId) -> ServiceDefinition:
        """Return the definition as the shard's agent gets it: marked as standby, deleted or rejected if the
        load balancer moves, else unchanged.
        """
        move = self.moves.get(service.load_balancer_id)
        if move is None:
            return service
        if move.step is MoveStep.CLEANING and move.standby_shard_id == shard_id:
            return removal_definition(service.load_balancer_id, service.project_id)
        if service.deleted:
            return service
        if not self.is_known:
            return rejected_definition(service, "its agent has to be upgraded before it can move", waiting=True)
        return replace(service, standby=True)


NO_STANDBY_MOVES = StandbyMoves({}, is_known=False)


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
    unattachable: Mapping[LoadBalancerId, str],
    bare_tags: bool = False,
    knows_standby: bool = False,
) -> DefinitionsPage:
    """Return a page of at most ``limit`` (and 1000) definitions of the shard's load balancers, in order of
    ids after ``after_id``: of the given ids, or (None) of all. Large load balancers make a page shorter.
    For a common shard: definitions of networks.

    ``unattachable``: {load balancer for which an allocation failed: reason}; ``bare_tags``: whether
    listeners' tags without prefix may name enhanced services; ``knows_standby``: whether the agent supports
    :attr:`ServiceDefinition.standby`. Raises :class:`SessionLost` unless the agent owns the shard.
    """
    size = max(1, min(limit, MAX_SERVICES_PER_PAGE))
    location = check_shard_owner(connection, agent_id, session_id, shard_id, epoch)
    silent = _read_standby_moves(connection, shard_id) if location.has_silent else {}
    if location.project_id == COMMON_PROJECT:
        page = read_network_services(connection, location, load_balancer_ids, after_id, size)
        return DefinitionsPage(page, location, {}, NetworkRequestsNeeded())
    missing: tuple[LoadBalancerId, ...] = ()
    if load_balancer_ids is None:
        copies = {id_ for id_ in silent if id_ > after_id}
        ids = sorted({*_load_balancer_ids_after(connection, shard_id, after_id, size + 1), *copies})[: size + 1]
    else:
        found = _ids_on_shard(connection, shard_id, load_balancer_ids) | (silent.keys() & set(load_balancer_ids))
        missing = tuple(sorted(set(load_balancer_ids) - found))
        # In order of ids, as the whole shard's: the agent continues after the last one of a page.
        ids = sorted(id_ for id_ in found if id_ > after_id)
    silence = StandbyMoves(silent, is_known=knows_standby)
    return _definitions_page(connection, location, ids, size, missing, unattachable, bare_tags, silence)


def check_shard_owner(
    connection: Connection, agent_id: AgentId, session_id: SessionId, shard_id: ShardId, epoch: int
) -> ShardLocation:
    """Return the shard with its network layout. Raises :class:`SessionLost` unless the agent owns it at that epoch, in
    that session.
    """
    caller = {"b_shard": shard_id, "b_agent": agent_id, "b_epoch": epoch, "b_session": session_id}
    row = connection.execute(_READ_OWNED_SHARD, caller).first()
    if row is None:
        raise SessionLost(f"shard {shard_id} is not owned by agent {agent_id} at epoch {epoch} in that session")
    *columns, silent = row
    return shard_location_from_row(columns)._replace(has_silent=bool(silent))


def _owned_shard_location_query() -> Select[Any]:
    agent_id: Any = bindparam("b_agent", type_=String())
    session_id: Any = bindparam("b_session", type_=String())
    with_silent = shard_locations_query().add_columns(has_silent_load_balancers(_shard.c.id).label("silent"))
    return with_silent.where(
        _shard.c.id == bindparam("b_shard"),
        _shard.c.acting_agent_id == agent_id,
        _shard.c.epoch == bindparam("b_epoch"),
        is_current_session(agent_id, session_id),
    )


_READ_OWNED_SHARD = _owned_shard_location_query()


def _load_balancer_ids_after(
    connection: Connection, shard_id: ShardId, after_id: str, limit: int
) -> list[LoadBalancerId]:
    page = {"b_shard": shard_id, "b_after": after_id, "b_limit": limit}
    return list(connection.scalars(_READ_FOLLOWING_IDS, page))


_READ_FOLLOWING_IDS = (
    select(_load_balancer.c.id)
    .where(_load_balancer.c.shard_id == bindparam("b_shard"), _load_balancer.c.id > bindparam("b_after"))
    .order_by(_load_balancer.c.id)
    .limit(bindparam("b_limit", type_=Integer()))
)


def _ids_on_shard(connection: Connection, shard_id: ShardId, ids: Sequence[LoadBalancerId]) -> set[LoadBalancerId]:
    found: set[LoadBalancerId] = set()
    for batch in split_into_batches(ids):
        found.update(connection.scalars(_IDS_ON_SHARD, {"b_ids": list(batch), "b_shard": shard_id}))
    return found


_IDS_ON_SHARD = select(_load_balancer.c.id).where(
    is_in_bound_list(_load_balancer.c.id, "b_ids"), _load_balancer.c.shard_id == bindparam("b_shard")
)


def _definitions_page(
    connection: Connection,
    location: ShardLocation,
    ids: Sequence[LoadBalancerId],
    size: int,
    missing: tuple[LoadBalancerId, ...],
    unattachable: Mapping[LoadBalancerId, str],
    bare_tags: bool,
    standby_moves: StandbyMoves = NO_STANDBY_MOVES,
) -> DefinitionsPage:
    """Return definitions of the first ``size`` of ``ids``, or of fewer if they are large.

    A load balancer deleted since its id was read is left out.
    """
    shown = ids[:size]
    # Halved until few members are left; a single load balancer is sent however large it is.
    while len(shown) > 1 and _exceeds_members_per_page(connection, shown):
        shown = shown[: len(shown) // 2]
    trees = load_trees(connection, shown)
    certificates = _certificates_by_load_balancer(
        connection, [id_ for id_, tree in trees.items() if refers_to_certificates(tree)]
    )
    services = {
        LoadBalancerId(id_): standby_moves.definition_for_agent(
            service_definition_of_tree(tree, certificates.get(id_, ()), bare_tags=bare_tags), location.shard_id
        )
        for id_, tree in trees.items()
    }
    lacks = _MissingServiceInputs({}, NetworkRequestsNeeded(), frozenset())
    if location.layout.adjacent:
        # A deleted one needs no networks: they may be gone, and its removal must not wait for them.
        used = {id_: trees[id_] for id_, service in services.items() if not service.deleted}
        lacks = _add_networks(connection, location, services, used, unattachable)
    page = ServiceDefinitions(services=tuple(services.values()), missing=missing, more=len(ids) > len(shown))
    return DefinitionsPage(page, location, *lacks)


def _read_standby_moves(connection: Connection, shard_id: ShardId) -> dict[LoadBalancerId, Move]:
    rows = connection.execute(select(_load_balancer_move).where(is_move_open(), is_silent_on_shard(shard_id)))
    return {row.load_balancer_id: move_from_row(row) for row in rows}


class _MissingServiceInputs(NamedTuple):
    """Missing parts without which some load balancers cannot be served, as in the fields of the same names of
    :class:`DefinitionsPage`.
    """

    unallocated: dict[LoadBalancerId, SubnetsInUse]
    needs: NetworkRequestsNeeded
    awaited: frozenset[str]


def _add_networks(
    connection: Connection,
    location: ShardLocation,
    services: dict[LoadBalancerId, ServiceDefinition],
    trees: Mapping[LoadBalancerId, LoadBalancerTree],
    unattachable: Mapping[LoadBalancerId, str],
) -> _MissingServiceInputs:
    """Add networks to the definitions in ``services``, or the reason why devices cannot be attached;
    definitions that lack an allocation are removed from ``services``. Return the missing allocations, and
    the facts needed from the network service.

    Three queries, four with members on tunnels, and two more with shared networks.
    """
    uses = {id_: subnets_in_use(tree) for id_, tree in trees.items()}
    known = read_known_subnets(connection, frozenset().union(*(each.all for each in uses.values())))
    tunnels = tunnels_of_service(known.values())
    members = {id_: frozenset(members_on_tunnels(tree, tunnels)) for id_, tree in trees.items()}
    all_members: frozenset[tuple[str, str]] = frozenset().union(*members.values())
    hosts = read_member_hosts(connection, all_members)
    attached = replace(read_attachments(connection, location.shard_id), hosts=hosts)
    attached = add_common_networks(connection, location, attached, common_networks_of(known.values(), location.layout))
    unallocated: dict[LoadBalancerId, SubnetsInUse] = {}
    unknown = {id_: each.all - known.keys() for id_, each in uses.items()}
    needs = NetworkRequestsNeeded(
        subnets={id_: subnet_ids for id_, subnet_ids in unknown.items() if subnet_ids},
        members=all_members - hosts.keys(),
    )
    awaited: set[str] = set()
    for id_, each in uses.items():
        try:
            subnets = subnets_to_attach(each, known, location.layout, location.project_id)
            networks = service_networks(subnets, location.layout, attached, location.project_id, members[id_])
            services[id_] = replace(services[id_], networks=networks)
        except NetworkNotAttachable as error:
            # the reason of the network service is more precise than "unknown subnet"
            reason = unattachable.get(id_) if unknown[id_] else None
            services[id_] = rejected_definition(services[id_], reason or str(error))
        # The common shard's owner has to apply the network first; it is notified through "awaited".
        except NetworkNotReady as error:
            services[id_] = rejected_definition(services[id_], str(error), waiting=True)
            awaited |= attached.common.keys()
        except DeviceAddressNotAllocated:
            if id_ in unattachable:
                services[id_] = rejected_definition(services[id_], unattachable[id_])
            else:
                unallocated[id_] = each
                # Left out of this page: the caller allocates in a write transaction, and reads the page again.
                del services[id_]
    return _MissingServiceInputs(unallocated, needs, frozenset(awaited))


def _certificates_by_load_balancer(
    connection: Connection, load_balancer_ids: Sequence[str]
) -> dict[str, list[ServiceCertificate]]:
    """Return {load balancer id: certificates that the load balancer refers to}; load balancers without
    references are missing. One query, none without ids.
    """
    found: dict[str, list[ServiceCertificate]] = {}
    if load_balancer_ids:
        for row in connection.execute(_READ_REFERENCES, {"wanted": list(load_balancer_ids)}):
            found.setdefault(row.load_balancer_id, []).append(
                _service_certificate(row.reference, row.kind, row.sha256, row.facts)
            )
    return found


def _service_certificate(reference: str, kind: str, sha256: str, facts: str | None) -> ServiceCertificate:
    known = ServiceCertificate(reference=reference, kind=CertificateKind(kind), sha256=sha256)
    if known.kind is not CertificateKind.CERTIFICATE or facts is None:
        return known
    decoded = _certificate_facts_decoder.decode(facts)
    return replace(known, key_type=decoded.key_type, names_sha256=decoded.names_sha256)


_certificate_facts_decoder = msgspec.json.Decoder(CertificateFacts)


_READ_REFERENCES = (
    select(
        _certificate_use.c.load_balancer_id,
        _certificate.c.reference,
        _certificate.c.kind,
        _certificate.c.sha256,
        _certificate.c.facts,
    )
    .join(_certificate, _certificate.c.id == _certificate_use.c.certificate_id)
    .where(is_in_bound_list(_certificate_use.c.load_balancer_id, "wanted"))
    # A listener and a pool of one load balancer may refer to the same certificate.
    .distinct()
)


def _exceeds_members_per_page(connection: Connection, load_balancer_ids: Sequence[LoadBalancerId]) -> bool:
    """Whether the load balancers together have more than ``MEMBERS_PER_PAGE`` members; the database stops counting
    there.
    """
    asked = {"b_ids": list(load_balancer_ids), "b_limit": MEMBERS_PER_PAGE + 1}
    return (connection.scalar(_COUNT_MEMBERS, asked) or 0) > MEMBERS_PER_PAGE


_COUNT_MEMBERS = select(func.count()).select_from(
    select(literal(1))
    .where(is_in_bound_list(_member.c.load_balancer_id, "b_ids"))
    .limit(bindparam("b_limit", type_=Integer()))
    .subquery()
)

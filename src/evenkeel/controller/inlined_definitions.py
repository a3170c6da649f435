"""Selects the definitions inlined in hints: small ones of new load balancers, which agents would request at once.

The agent decides whether it may use one: see :mod:`evenkeel.agent.received_definitions`.
"""

from collections.abc import Mapping
from operator import attrgetter

from msgspec.structs import replace

from evenkeel.core.control.shards import OwnershipTerm
from evenkeel.core.control.writes import Change
from evenkeel.core.devices.service import ServiceDefinition, refers_to_certificates, service_definition_of_tree
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.message_chunks import encoded_bytes
from evenkeel.core.kit.values import Value
from evenkeel.core.protocol.messages import InlinedDefinitions
from evenkeel.core.resources.model import LoadBalancerTree

DEFINITION_BYTES_MAX = 16 * 1024
INLINED_BYTES_MAX = 64 * 1024
"""Limit for all definitions of one hint."""


class InlinedDefinition(Value):
    """A service definition small enough to be inlined in a work hint, with the ownership term of the shard
    for which it is meant.
    """

    term: OwnershipTerm
    service: ServiceDefinition
    size_bytes: int


def inlined_definition(change: Change) -> InlinedDefinition | None:
    """Return the definition of a load balancer that was just created; None if its agent has to request it.

    Definitions that refer to certificates, need other facts from the database, or exceed
    :data:`DEFINITION_BYTES_MAX` are not inlined.
    """
    tree, term = change.tree, change.term
    # The term names the owner for which the definition is meant; another one requests it.
    if (
        tree is None
        or term is None
        or not change.self_contained
        or tree.load_balancer.vip is None
        or refers_to_certificates(tree)
    ):
        return None
    service = service_definition_of_tree(_sort_children(tree))
    size = encoded_bytes(service)
    return InlinedDefinition(term=term, service=service, size_bytes=size) if size <= DEFINITION_BYTES_MAX else None


def _sort_children(tree: LoadBalancerTree) -> LoadBalancerTree:
    """Return the tree with its listeners, pools, members and L7 rules sorted by id, as the database returns
    objects that were created at the same time: then an inlined definition equals the one that an agent
    would read for the same revision.
    """
    return replace(
        tree,
        listeners=tuple(sorted(tree.listeners, key=_id)),
        pools=tuple(sorted(tree.pools, key=_id)),
        members=tuple(sorted(tree.members, key=_id)),
        l7rules=tuple(sorted(tree.l7rules, key=_id)),
    )


_id = attrgetter("id")


def inlined_definitions(definitions: Mapping[LoadBalancerId, InlinedDefinition | None]) -> InlinedDefinitions | None:
    """Return as many of the definitions (None: not to be inlined) as fit into a hint. Returns None if there
    are none, or if the shard's owner changed between their creations.
    """
    known = [each for each in definitions.values() if each is not None]
    if not known or any(each.term != known[0].term for each in known):
        return None
    services, left_bytes = [], INLINED_BYTES_MAX
    for each in known:
        # A large one is skipped, and smaller ones after it still fit.
        if each.size_bytes <= left_bytes:
            services.append(each.service)
            left_bytes -= each.size_bytes
    term = known[0].term
    return InlinedDefinitions(
        session_id=term.session_id, epoch=term.epoch, history=term.history, services=tuple(services)
    )

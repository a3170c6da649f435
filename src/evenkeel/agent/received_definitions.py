"""Definitions that came with hints, and when a shard's worker may apply one instead of requesting it.

Hints may be late, repeated and reordered: a definition may be older than a revision that the worker has confirmed
since, even for a load balancer that was deleted and removed from the devices. So a worker uses one only for a load
balancer for which it has never had, nor requested, another; and only if it is the first worker of the shard in this
session and at this epoch, so that everything written in them went through it. In any doubt the definition is dropped
and requested.

The first pass over a shard compares everything that devices hold with all definitions of the shard. A hint about a
shard that was created for its load balancers has all of them; the first pass uses them unless anything else happens
before.
"""

from collections.abc import Collection, Iterable

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.ids import LoadBalancerId, SessionId
from evenkeel.core.protocol.messages import InlinedDefinitions

WAITING_MAX = 200
SEEN_MAX = 20_000
"""Maximum number of remembered load balancers; a worker that has had more uses no inlined definitions any more."""


class ReceivedDefinitions:
    """Holds load balancers' definitions that came inside hints to one shard worker, until they are used or outdated."""

    def __init__(self, session_id: SessionId, epoch: int, *, first: bool) -> None:
        """``first``: True if no other worker has served the shard in this session at this epoch."""
        self._session_id = session_id
        self._epoch = epoch
        self._first = first
        self._seen: set[LoadBalancerId] = set()
        """Load balancers, present or deleted, for which the worker has had or requested a definition."""
        self._waiting: dict[LoadBalancerId, tuple[str, ServiceDefinition]] = {}
        """Unused definitions, each with the database history in which it was committed."""
        self._all: InlinedDefinitions | None = None
        """All definitions of a new shard, until a pass uses them or a change may have made them incomplete."""

    def offer(self, inlined: InlinedDefinitions | None, *, queued: Collection[LoadBalancerId]) -> None:
        """Keep the definitions of a hint that may be used (``inlined`` None: the hint had none). ``queued``:
        load balancers that already wait for a pass for another reason, whose definitions are requested
        instead.
        """
        if inlined is None or not self._is_usable(inlined):
            return
        for service in inlined.services:
            id_ = service.load_balancer_id
            # Hints arrive in any order: once a definition was seen, an inlined one may be older than what the devices
            # hold.
            if id_ not in queued and not self._is_known(id_) and len(self._waiting) < WAITING_MAX:
                self._waiting[id_] = inlined.history, service

    def offer_all(self, inlined: InlinedDefinitions | None, *, of: Collection[LoadBalancerId]) -> None:
        """Keep the definitions of a new shard, if they may be used and are exactly those of its load
        balancers ``of``. ``inlined`` None: the hint had none.
        """
        if inlined is None or not self._is_usable(inlined):
            return
        if {service.load_balancer_id for service in inlined.services} == set(of):
            self._all = inlined

    def take_all(self, history: str) -> tuple[ServiceDefinition, ...] | None:
        """Remove and return all definitions of a new shard. None: there are none of the database history
        ``history``, so they have to be requested.
        """
        found, self._all = self._all, None
        # A definition of another history may describe a commit that the database has lost.
        return found.services if found is not None and found.history == history else None

    def _is_usable(self, inlined: InlinedDefinitions) -> bool:
        # A hint can be older than this ownership: only one made for exactly this session and epoch is trusted. A later
        # worker of the same epoch cannot tell which definitions its predecessor has seen.
        return self._first and (inlined.session_id, inlined.epoch) == (self._session_id, self._epoch)

    def _is_known(self, load_balancer_id: LoadBalancerId) -> bool:
        return load_balancer_id in self._seen

    def discard(self, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
        """Discard definitions that were superseded or are in doubt, so that they are requested; also all
        definitions of a new shard, which may be incomplete by now.
        """
        self.discard_all_of_new_shard()
        for id_ in load_balancer_ids:
            self._waiting.pop(id_, None)

    def discard_all_of_new_shard(self) -> None:
        """Discard all definitions of a new shard, so that the first pass requests them."""
        self._all = None

    def take(self, load_balancer_ids: Iterable[LoadBalancerId], history: str) -> tuple[ServiceDefinition, ...]:
        """Remove the definitions of these load balancers, and return those that may be applied in the
        database history ``history``. All of the given load balancers count as known from now on.
        """
        taken = []
        for id_ in load_balancer_ids:
            found = self._waiting.pop(id_, None)
            # A definition of another history may describe a commit that the database has lost.
            if found is not None and found[0] == history and not self._is_known(id_):
                taken.append(found[1])
            self.mark_known((id_,))
        return tuple(taken)

    def mark_known(self, load_balancer_ids: Iterable[LoadBalancerId]) -> None:
        """Record that the worker has requested or received definitions of these load balancers."""
        self._seen.update(load_balancer_ids)
        if len(self._seen) > SEEN_MAX:
            # Without the set it is unknown what was seen, so every later definition is requested.
            self._first = False
            self._seen.clear()
            self._waiting.clear()

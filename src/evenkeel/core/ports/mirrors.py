"""Store port for load balancers that mirror another system's."""

from collections.abc import Collection, Sequence
from typing import Protocol

from evenkeel.core.control.mirrors import (
    ListenerTotals,
    MirrorChanges,
    MirroredSourceState,
    MirrorEntry,
    MirrorStatus,
    StoredMirror,
    WriterLease,
)
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.networking.chaining import ChainQuery
from evenkeel.core.networking.vip_plans import VipPlan
from evenkeel.core.resources.model import LoadBalancerTree
from evenkeel.core.tls.certificates import CheckedCertificate


class MirrorStore(Protocol):
    """Store port for mirrored load balancers, which another system's database defines. To *put* one is to
    send its whole state.

    No quota applies to mirrored load balancers, because the other system has its own; limits of one load
    balancer do. Every method may raise :class:`StoreUnavailable`.
    """

    async def find_mirrored_load_balancer(self, load_balancer_id: LoadBalancerId) -> StoredMirror | None:
        """Return the stored state of a mirrored load balancer; None if there is none with this id, or it is
        marked deleted, or it is no mirror.
        """
        ...

    async def put_mirrored_load_balancer(
        self,
        tree: LoadBalancerTree,
        plan: VipPlan,
        mark: MirroredSourceState,
        certificates: Sequence[CheckedCertificate] = (),
        *,
        unchained: ChainQuery | None = None,
    ) -> Change | None:
        """Store the whole state of a mirrored load balancer: create it by the plan of its VIP, or write the
        differences as one revision. Returns None if there are no differences and ``mark.change`` is None
        or as before; the mark is stored all the same. ``certificates``: checked contents of the references
        in the tree. ``unchained``: addresses that must not chain load balancers; None: no check.

        Raises :class:`MirrorConflict` and stores nothing if the stored snapshot is newer, the load balancer
        is another provider's or no mirror, it or one with a wanted address is being deleted, or an id is
        another object's; :class:`Conflict` for a VIP address in use, or objects of the tree that exclude each
        other; :class:`NotFound` for an object that the tree names but does not have;
        :class:`ObjectLimitReached`; :class:`Invalid` for a change of an attribute that is fixed, or protocols
        that do not match; :class:`Unsupported` for an address in ``unchained``; :class:`NetworkUnavailable`
        while a port of the VIP is being deleted.
        """
        ...

    async def remove_mirrored_load_balancer(
        self, load_balancer_id: LoadBalancerId, provider: str, snapshot: float
    ) -> Change | None:
        """Mark a mirrored load balancer deleted, with all its children; returns None if it does not exist or is marked
        deleted already. Afterwards, for at least an hour and until its devices have removed it, snapshots of it that
        are older than ``snapshot`` are refused. A port that was created for a load balancer that was never put is
        deleted soon.

        Raises :class:`MirrorConflict` if the stored snapshot is newer, or the load balancer is another provider's or no
        mirror.
        """
        ...

    async def store_vip_port(self, load_balancer_id: LoadBalancerId, provider: str, port_id: str) -> None:
        """Store that a claimed port is for a load balancer that the other system is about to store, so that it outlives
        the claim's grace time: until the load balancer is put, or :meth:`remove_mirrored_load_balancer` gives the port
        back, at most seven days. A repetition only renews that time.

        Raises :class:`NetworkUnavailable` if the port's deletion has begun or was requested, :class:`MirrorConflict` if
        the load balancer is another provider's, or was put or deleted already.
        """
        ...

    async def find_unused_ports(self, provider: str, older_seconds: float) -> tuple[LoadBalancerId, ...]:
        """Return the ids of at most 500 load balancers of a provider that were never put, and whose ports
        were claimed more than ``older_seconds`` ago and stored by :meth:`store_vip_port`; earliest claim
        first. One query.
        """
        ...

    async def read_statuses(self, load_balancer_ids: Collection[LoadBalancerId]) -> tuple[MirrorStatus, ...]:
        """Return the statuses of these mirrored load balancers and of their children, sorted by id; ids of no
        mirrored load balancer are left out. The number of queries is constant.
        """
        ...

    async def list_mirrored_load_balancers(self, provider: str, *, marker: str, limit: int) -> tuple[MirrorEntry, ...]:
        """Return at most ``limit`` of a provider's mirrored load balancers whose ids come after ``marker``
        (empty: from the first), sorted by id; also deleted ones that devices still have to remove. One
        query.
        """
        ...

    async def changes_since(self, provider: str, since: str) -> MirrorChanges:
        """Return the ids of a provider's mirrored load balancers whose statuses have changed since ``since``,
        the cursor of an earlier answer; some ids are repeated in the next answer. ``all`` is true, without
        ids, if the cursor is unknown or over an hour old, or there are more than 500. At most two queries.
        """
        ...

    async def read_statistics(self, load_balancer_ids: Collection[LoadBalancerId]) -> tuple[ListenerTotals, ...]:
        """Return the traffic totals of the listeners of these mirrored load balancers, sorted by listener id;
        listeners without totals are left out. One query.
        """
        ...

    async def take_writer_lease(self, provider: str, holder: str, seconds: float) -> WriterLease:
        """Take or renew a provider's writer lease for ``holder`` and ``seconds`` by the database's clock, if
        no other holder has it; with 0 seconds give it back. Returns who holds the lease now (empty: nobody),
        and whether that is ``holder``.
        """
        ...

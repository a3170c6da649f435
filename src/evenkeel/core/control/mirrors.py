"""Mirrored load balancers: each shows one of another system's database, which alone changes it. Octavia's provider
driver sends them.
"""

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import LoadBalancerTree

DIGEST_CHARACTERS_MAX = 64
CHANGE_CHARACTERS_MAX = 64
HOLDER_CHARACTERS_MAX = 255
LEASE_SECONDS_MAX = 60.0
"""Longest lease of a writer in seconds: after its holder has died, no other process writes for so long."""
IDS_MAX = 500
"""Maximum number of load balancers in one request for statuses or statistics, and on one page."""


class MirrorConflict(Conflict):
    """A write of a mirrored load balancer was refused: the stored state is not the one on which the writer
    relies. ``code``: kind of conflict: :data:`STALE_SNAPSHOT`, :data:`BEING_DELETED`, :data:`ID_TAKEN` or
    :data:`ADDRESS_TAKEN`.
    """


STALE_SNAPSHOT = "stale_snapshot"
"""Code of a conflict: a newer snapshot of the other system's database is stored."""
BEING_DELETED = "being_deleted"
"""Code of a conflict: the load balancer, or one with the VIP's address, was deleted here, and its devices have not
confirmed that yet.
"""
ID_TAKEN = "id_taken"
"""Code of a conflict: the id belongs to another object, or to one that is no mirror of this provider."""
ADDRESS_TAKEN = "address_taken"
"""Code of a conflict: another load balancer has the VIP's address."""


class MirroredSourceState(Value):
    """The state of the other system's database that a mirrored load balancer shows."""

    provider: str
    snapshot: float
    """Time of the state by the clock of the other system's database, in seconds."""
    digest: str
    """Checksum of the state, computed by the other system; not interpreted by this one."""
    change: str | None = None
    """Identity of the other system's pending operation; not interpreted by this one. A new identity makes devices apply
    the load balancer again, even if no object changed: a failover. None: no operation is pending, or it is not known.
    """


class StoredMirror(Value):
    """Stored state of a load balancer that mirrors another system's: the load balancer, and which state of
    the other system it shows.
    """

    mark: MirroredSourceState
    tree: LoadBalancerTree


class MirrorEntry(Value):
    """A mirrored load balancer in a list, without its children. ``snapshot``, ``digest``: see
    :class:`MirroredSourceState`.
    """

    id: LoadBalancerId
    snapshot: float
    digest: str
    provisioning_status: str


class MirrorChanges(Value):
    """Mirrored load balancers whose own statuses, or those of their children, have changed since a cursor."""

    cursor: str
    """Opaque text to send with the next request, which returns later changes."""
    ids: tuple[LoadBalancerId, ...] = ()
    all: bool = False
    """True: any load balancer may have changed, because the cursor is not known or there are too many changes."""


class ListenerTotals(Value):
    """Traffic totals of one listener since it was created: bytes, connections and errors;
    ``active_connections``: number open now.
    """

    id: str
    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
    request_errors: int


class WriterLease(Value):
    """The right of one process to write a provider's load balancers."""

    holder: str
    """Name of the process that has the lease, which may be another one than the caller; empty: no process has it."""
    is_held: bool
    """True: the process that requested the lease has it."""


class ObjectStatus(Value):
    """Provisioning and operating status of one object of a mirrored load balancer."""

    id: str
    provisioning_status: str
    operating_status: str


class MirrorStatus(Value):
    """Statuses of a mirrored load balancer and its children, also of children that devices still have to
    remove. ``snapshot``, ``digest``: see :class:`MirroredSourceState`.
    """

    id: LoadBalancerId
    snapshot: float
    digest: str
    revision: int
    applied_revision: int
    provisioning_status: str
    operating_status: str
    status_reason: str
    """Reason why the load balancer is PENDING or ERROR (human-readable); empty when it is ACTIVE."""
    listeners: tuple[ObjectStatus, ...] = ()
    pools: tuple[ObjectStatus, ...] = ()
    members: tuple[ObjectStatus, ...] = ()
    healthmonitors: tuple[ObjectStatus, ...] = ()
    l7policies: tuple[ObjectStatus, ...] = ()
    l7rules: tuple[ObjectStatus, ...] = ()

"""Load balancers that mirror those of another system's database, as Octavia's provider driver puts them."""

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.ids import LoadBalancerId
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import LoadBalancerTree

DIGEST_CHARACTERS_MAX = 64
CHANGE_CHARACTERS_MAX = 64
HOLDER_CHARACTERS_MAX = 255
LEASE_SECONDS_MAX = 60.0
"""Longest lease, seconds: for so long no other process writes after its holder has died."""
IDS_MAX = 500
"""Most load balancers in one request for statuses or statistics, and on one page."""


class MirrorConflict(Conflict):
    """The mirror has another state than the writer believes. ``code``: a word for the kind of conflict."""


STALE_SNAPSHOT = "stale_snapshot"
"""Code: the stored snapshot is newer."""
BEING_DELETED = "being_deleted"
"""Code: the load balancer, or one that has the VIP's address, was deleted here, and its devices have not confirmed that
yet.
"""
ID_TAKEN = "id_taken"
"""Code: the id belongs to another object, or to one that is no mirror of this provider."""
ADDRESS_TAKEN = "address_taken"
"""Code: another load balancer has the VIP's address."""


class MirrorMark(Value):
    """The state of the other system's database that a mirrored load balancer shows."""

    provider: str
    snapshot: float
    """Time of the state by the clock of the other system's database, in seconds."""
    digest: str
    """Checksum of the state, computed by the other system; opaque here."""
    change: str | None = None
    """Identity of the other system's operation that is pending; opaque here. A new one is applied to devices even if
    it changed no object: a failover. None: none is pending, or it is not known.
    """


class Mirrored(Value):
    """Stored state of a load balancer that mirrors another system's."""

    mark: MirrorMark
    tree: LoadBalancerTree


class MirrorEntry(Value):
    """A mirrored load balancer in a list."""

    id: LoadBalancerId
    snapshot: float
    digest: str
    provisioning_status: str


class MirrorChanges(Value):
    """Mirrored load balancers whose statuses, or those of objects below them, have changed."""

    cursor: str
    """Text from which the next request goes on."""
    ids: tuple[LoadBalancerId, ...] = ()
    all: bool = False
    """True: any may have changed, because the cursor is not known or there are too many."""


class ListenerTotals(Value):
    """Totals of one listener since it was created; bytes and connections."""

    id: str
    bytes_in: int
    bytes_out: int
    active_connections: int
    total_connections: int
    request_errors: int


class WriterLease(Value):
    """The right of one process to write a provider's load balancers."""

    holder: str
    """The process that has it, also if it is another one; empty: none."""
    is_held: bool
    """True: the process that requested the lease has it."""


class ObjectStatus(Value):
    """Provisioning and operating status of one object of a mirrored load balancer."""

    id: str
    provisioning_status: str
    operating_status: str


class MirrorStatus(Value):
    """Statuses of a mirrored load balancer and its children, also of those that devices still have to remove."""

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

"""Requests of another system whose load balancers are mirrored: create requests of the Octavia API in which every
object has its id, and refers to pools by id.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import (
    ADDITIONAL_VIPS_MAX,
    END,
    NO_NUL,
    Address,
    ObjectId,
    ProjectId,
    SecurityGroups,
    Tags,
    Text,
)
from evenkeel.api.responses.decode_errors import REFUSAL
from evenkeel.api.usecases.l7_requests import L7PolicyParts, L7RuleNew
from evenkeel.api.usecases.pool_requests import MemberNew, NestedHealthMonitor, PoolParts
from evenkeel.api.usecases.requests import ListenerParts
from evenkeel.core.control.mirrors import (
    CHANGE_CHARACTERS_MAX,
    DIGEST_CHARACTERS_MAX,
    HOLDER_CHARACTERS_MAX,
    LEASE_SECONDS_MAX,
)
from evenkeel.core.kit.names import MAX_ENVIRONMENT_NAME_CHARACTERS
from evenkeel.core.resources.limits import LoadBalancerLimits
from evenkeel.core.resources.model import L7_RULES_MAX, LbAlgorithm, ListenerProtocol, PoolProtocol

_LIMITS = LoadBalancerLimits()

MirrorId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}" + END,
        description="A UUID of 36 characters in lower case",
        extra={REFUSAL: "Value should be UUID format"},
    ),
]
Provider = Annotated[str, Meta(min_length=1, max_length=MAX_ENVIRONMENT_NAME_CHARACTERS)]
Snapshot = Annotated[float, Meta(ge=0, le=1e11)]
"""Time of a state in seconds since the epoch; the bound keeps a wrong unit from blocking all later states."""
Digest = Annotated[str, Meta(max_length=DIGEST_CHARACTERS_MAX, pattern=r"^[\x20-\x7e]*" + END)]
ChangeKey = Annotated[str, Meta(max_length=CHANGE_CHARACTERS_MAX, pattern=r"^[\x20-\x7e]*" + END)]
Metadata = dict[str, Any]


class MirroredMember(MemberNew, kw_only=True):
    """A member of a mirrored pool."""

    id: MirrorId


class MirroredMonitor(NestedHealthMonitor, kw_only=True):
    """The health monitor of a mirrored pool, with its id."""

    id: MirrorId


class MirroredPool(PoolParts, kw_only=True):
    """A pool with its members and health monitor. Null or absent attributes: the default."""

    id: MirrorId
    protocol: PoolProtocol
    lb_algorithm: LbAlgorithm
    healthmonitor: MirroredMonitor | None = None
    # a decoded list is not changed, so a list of a subclass will do
    members: Annotated[list[MirroredMember], Meta(max_length=_LIMITS.member)] | None = None  # type: ignore[assignment]


class MirroredRule(L7RuleNew, kw_only=True):
    """An L7 rule of a mirrored L7 policy."""

    id: MirrorId


class MirroredPolicy(L7PolicyParts, kw_only=True):
    """An L7 policy with its rules. Null or absent attributes: the default."""

    id: MirrorId
    redirect_pool_id: MirrorId | None = None
    rules: Annotated[list[MirroredRule], Meta(max_length=L7_RULES_MAX)] | None = None  # type: ignore[assignment]


class MirroredListener(ListenerParts, kw_only=True):
    """A listener with its L7 policies. Null or absent attributes: the default."""

    id: MirrorId
    default_pool_id: MirrorId | None = None
    l7policies: Annotated[list[MirroredPolicy], Meta(max_length=_LIMITS.l7policy)] | None = None


class MirroredVip(Request):
    """An additional VIP, on the port of the VIP."""

    subnet_id: ObjectId
    ip_address: Address


class MirroredParts(Request, kw_only=True):
    """A whole load balancer without its VIP. Metadata of its flavor and availability zone are given instead
    of their ids, which belong to the other system's catalogue. Null or absent attributes: the default.
    """

    id: MirrorId | None = None
    project_id: ProjectId
    provider: Provider
    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    tags: Tags | None = None
    additional_vips: Annotated[list[MirroredVip], Meta(max_length=ADDITIONAL_VIPS_MAX)] | None = None
    vip_qos_policy_id: ObjectId | None = None
    vip_sg_ids: SecurityGroups | None = None
    flavor_data: Metadata | None = None
    availability_zone_data: Metadata | None = None
    listeners: Annotated[list[MirroredListener], Meta(max_length=_LIMITS.listener)] | None = None
    pools: Annotated[list[MirroredPool], Meta(max_length=_LIMITS.pool)] | None = None


class MirroredLoadBalancer(MirroredParts, kw_only=True):
    """A whole load balancer of another system, with its VIP."""

    vip_address: Address
    vip_subnet_id: ObjectId
    vip_network_id: ObjectId
    vip_port_id: ObjectId


class CheckedLoadBalancer(MirroredParts, kw_only=True):
    """A load balancer to be checked, whose VIP may not be allocated yet."""

    vip_address: Address | None = None
    vip_subnet_id: ObjectId | None = None
    vip_network_id: ObjectId | None = None
    vip_port_id: ObjectId | None = None


class ImportedLoadBalancer(CheckedLoadBalancer, kw_only=True):
    """A load balancer that comes from another system, with the VIP that it has there.

    ``vip_network_id``: None: the network of the subnet. ``vip_port_id``: required where a network service has ports.
    ``flavor_id`` and ``availability_zone`` are of this catalogue, not of the other system's.
    """

    vip_address: Address
    vip_subnet_id: ObjectId
    flavor_id: ObjectId | None = None
    availability_zone: Text | None = None


class ImportPut(Request):
    """Body of PUT /imports/loadbalancers/{id}. Without ``apply`` everything is checked and nothing is stored.

    ``held``: a new load balancer is stored for a later switch-over, and no device gets it before. Has no effect on a
    load balancer that exists.
    """

    loadbalancer: ImportedLoadBalancer
    apply: bool = False
    held: bool = False


class HeldPut(Request):
    """Body of PUT /imports/loadbalancers/{id}/held. False: devices get the load balancer, and tenants may change it;
    true: its devices remove it, and only the system from which it was imported changes it.
    """

    held: bool


class CheckedMembers(Request):
    """Members of a pool to be checked."""

    members: Annotated[list[MirroredMember], Meta(max_length=_LIMITS.member)]


class WantedMirrorVip(Request):
    """An additional VIP to be allocated; ``ip_address`` null: any address of the subnet."""

    subnet_id: ObjectId
    ip_address: Address | None = None


class VipPortNew(Request, kw_only=True):
    """Body of POST /mirror/vip-ports: network, addresses and options of the port of a load balancer that is
    not stored yet.
    """

    provider: Provider
    loadbalancer_id: MirrorId
    project_id: ProjectId
    vip_subnet_id: ObjectId | None = None
    vip_network_id: ObjectId | None = None
    vip_address: Address | None = None
    vip_qos_policy_id: ObjectId | None = None
    vip_sg_ids: SecurityGroups | None = None
    additional_vips: Annotated[list[WantedMirrorVip], Meta(max_length=ADDITIONAL_VIPS_MAX)] | None = None
    flavor_data: Metadata | None = None


class MirrorPut(Request):
    """Body of PUT /mirror/loadbalancers/{id}. ``snapshot``: time of the state by the clock of the other
    system's database, in seconds since the epoch. ``digest``: the state's checksum; opaque. ``change``:
    identity of the operation that is pending; opaque; None: none.
    """

    snapshot: Snapshot
    digest: Digest
    loadbalancer: MirroredLoadBalancer
    change: ChangeKey | None = None


Operation = Literal["create", "update", "delete", "failover"]
Kind = Literal["loadbalancer", "listener", "pool", "member", "members", "healthmonitor", "l7policy", "l7rule"]


class MirrorCheck(Request, kw_only=True):
    """Body of POST /mirror/check. ``object``: the object as it will be after the operation, in the form that
    it has inside a whole load balancer. ``loadbalancer_id``, ``listener_id``, ``pool_id``,
    ``l7policy_id``: stored objects that the object belongs to or is used by, as far as the caller knows
    them, against which it is checked. ``listener_protocol``, ``pool_protocol``: protocols of the listener
    and pool that the object is used with; null: those of the stored ones.
    """

    provider: Provider
    operation: Operation
    kind: Kind
    object: dict[str, Any]
    loadbalancer_id: MirrorId | None = None
    listener_id: MirrorId | None = None
    pool_id: MirrorId | None = None
    l7policy_id: MirrorId | None = None
    listener_protocol: ListenerProtocol | None = None
    pool_protocol: PoolProtocol | None = None


class MetadataCheck(Request):
    """Body of POST /mirror/check-flavor and POST /mirror/check-availability-zone: the metadata of a flavor or
    zone.
    """

    provider: Provider
    metadata: Metadata


class MirrorLease(Request):
    """Body of PUT /mirror/lease. ``seconds``: time for which ``holder`` keeps the provider's lease; 0 gives
    it back.
    """

    provider: Provider
    holder: Annotated[str, Meta(min_length=1, max_length=HOLDER_CHARACTERS_MAX, pattern=NO_NUL)]
    seconds: Annotated[float, Meta(ge=0, le=LEASE_SECONDS_MAX)]

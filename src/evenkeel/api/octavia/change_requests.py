"""What clients may send to change things, as types: an absent attribute is left alone, null means the default.

They have the attributes of the requests that make things, as far as an update may set them.
"""

from typing import Annotated, ClassVar

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.bodies import Request
from evenkeel.api.fields import MAX_MEMBERS, Address, ObjectId, Port, ProjectId
from evenkeel.api.octavia.given import changes_of
from evenkeel.api.octavia.requests import (
    HealthMonitorNew,
    ListenerNew,
    LoadBalancerNew,
    MemberNew,
    PoolNew,
)
from evenkeel.core.model import HealthMonitor, Listener, LoadBalancer, Member, Pool


@changes_of(MemberNew, Member)
class MemberBatchItem(Request):
    """One server of a pool as it is to be: what is absent keeps the value of the member that is there."""

    address: Address
    protocol_port: Port
    subnet_id: ObjectId | UnsetType | None = UNSET
    project_id: ProjectId | UnsetType | None = UNSET
    tenant_id: ProjectId | UnsetType | None = UNSET
    request_sriov: bool | UnsetType | None = UNSET


@changes_of(MemberNew, Member)
class MemberChange(Request):
    """What can be changed of a member."""


@changes_of(HealthMonitorNew, HealthMonitor)
class HealthMonitorChange(Request):
    """What can be changed of a health monitor."""

    CHECKS_MAY_OVERLAP: ClassVar[bool] = False
    """See :class:`evenkeel.api.octavia.pool_requests.NestedHealthMonitor`."""


@changes_of(PoolNew, Pool)
class PoolChange(Request):
    """What can be changed of a pool."""


@changes_of(ListenerNew, Listener)
class ListenerChange(Request):
    """What can be changed of a listener."""


@changes_of(LoadBalancerNew, LoadBalancer)
class LoadBalancerChange(Request):
    """What can be changed of a load balancer."""


class LoadBalancerChangeBody(Request):
    """Body of PUT /loadbalancers/{id}."""

    loadbalancer: LoadBalancerChange


class ListenerChangeBody(Request):
    """Body of PUT /listeners/{id}."""

    listener: ListenerChange


class PoolChangeBody(Request):
    """Body of PUT /pools/{id}."""

    pool: PoolChange


class MemberChangeBody(Request):
    """Body of PUT /pools/{id}/members/{id}."""

    member: MemberChange


class MemberBatchBody(Request):
    """Body of PUT /pools/{id}/members."""

    members: Annotated[list[MemberBatchItem], Meta(max_length=MAX_MEMBERS)]


class HealthMonitorChangeBody(Request):
    """Body of PUT /healthmonitors/{id}."""

    healthmonitor: HealthMonitorChange

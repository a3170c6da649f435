"""Change requests: absent attributes stay unchanged, null means the default, but leaves tags unchanged. They
have the attributes of the create requests that an update may set.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import REQUEST_MEMBERS_MAX, Address, CookieName, PersistenceSeconds, Port, ProjectId, Uuid
from evenkeel.api.usecases.attribute_values import derive_change_request
from evenkeel.api.usecases.requests import HealthMonitorNew, ListenerNew, LoadBalancerNew, MemberNew, PoolNew
from evenkeel.core.resources.model import HealthMonitor, Listener, LoadBalancer, Member, PersistenceType, Pool


@derive_change_request(MemberNew, Member)
class MemberBatchItem(Request):
    """One member of a batch. Of an existing member, an absent name, absent tags, an absent subnet and an
    absent ``request_sriov`` leave the stored value; all other absent attributes go back to their default.
    """

    address: Address
    protocol_port: Port
    subnet_id: Uuid | UnsetType | None = UNSET
    project_id: ProjectId | UnsetType | None = UNSET
    tenant_id: ProjectId | UnsetType | None = UNSET
    request_sriov: bool | UnsetType | None = UNSET


@derive_change_request(MemberNew, Member)
class MemberChange(Request):
    """Changes of a member: absent attributes stay unchanged, null sets the default, but leaves tags
    unchanged.
    """


@derive_change_request(HealthMonitorNew, HealthMonitor)
class HealthMonitorChange(Request):
    """Changes of a health monitor, times in seconds: absent attributes stay unchanged, null sets the default,
    but leaves tags unchanged.
    """


class PersistenceChange(Request):
    """A change of session persistence: a new one if ``type`` is present, else changes of some attributes of
    the pool's. The time-out is in seconds.
    """

    type: PersistenceType | UnsetType = UNSET
    cookie_name: CookieName | UnsetType | None = UNSET
    persistence_timeout: PersistenceSeconds | UnsetType | None = UNSET
    persistence_granularity: Address | UnsetType | None = UNSET


@derive_change_request(PoolNew, Pool, session_persistence=PersistenceChange | None)
class PoolChange(Request):
    """Changes of a pool: absent attributes stay unchanged, null sets the default, but leaves tags unchanged."""


@derive_change_request(ListenerNew, Listener)
class ListenerChange(Request):
    """Changes of a listener, time-outs in milliseconds: absent attributes stay unchanged, null sets the
    default, but leaves tags unchanged.
    """


@derive_change_request(LoadBalancerNew, LoadBalancer)
class LoadBalancerChange(Request):
    """Changes of a load balancer: absent attributes stay unchanged, null sets the default, but leaves tags
    unchanged.
    """


class LoadBalancerChangeBody(Request):
    """Body of PUT /loadbalancers/{id}."""

    loadbalancer: LoadBalancerChange


class LoadBalancerResizeBody(Request):
    """Body of PUT /loadbalancers/{id}/resize."""

    new_flavor_id: Uuid


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

    members: Annotated[list[MemberBatchItem], Meta(max_length=REQUEST_MEMBERS_MAX)]


class HealthMonitorChangeBody(Request):
    """Body of PUT /healthmonitors/{id}."""

    healthmonitor: HealthMonitorChange

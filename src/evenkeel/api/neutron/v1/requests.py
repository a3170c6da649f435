"""Request types of LBaaS v1. Null means the default; absent attributes of a change stay unchanged."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import (
    Address,
    CookieName,
    ExpectedCodes,
    HttpMethod,
    NeutronUrlPath,
    ProjectId,
    ProviderName,
    Text,
)
from evenkeel.api.neutron.bodies import NeutronChange, NeutronNew
from evenkeel.api.neutron.fields import ConnectionLimit, Flag, Port, Retries, Seconds, Uuid, Weight
from evenkeel.core.resources.model import PersistenceType
from evenkeel.core.resources.pool_rooted import SharedMonitorType

Protocol = Literal["TCP", "HTTP", "HTTPS"]
LbMethod = Literal["ROUND_ROBIN", "LEAST_CONNECTIONS", "SOURCE_IP"]
OneMonitor = Annotated[list[Uuid], Meta(max_length=1, description="Ids of health monitors; a pool can have one")]

_STATUS_ATTRIBUTES = frozenset({"status", "status_description"})


class V1Persistence(Request):
    """Session persistence of a vip; none without a type."""

    type: PersistenceType | None = None
    cookie_name: CookieName | None = None


class V1VipNew(NeutronNew):
    """A new vip: an address and port in front of a pool. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "port_id"}) | _STATUS_ATTRIBUTES

    subnet_id: Uuid
    protocol: Protocol
    protocol_port: Port
    pool_id: Uuid
    address: Address | None = None
    session_persistence: V1Persistence | None = None
    connection_limit: ConnectionLimit | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V1VipChange(NeutronChange):
    """Changes of a vip: absent attributes stay unchanged, null sets the default. Absent session persistence
    is removed, like in LBaaS v1.
    """

    READ_ONLY: ClassVar[frozenset[str]] = (
        NeutronChange.READ_ONLY | {"subnet_id", "address", "port_id", "protocol", "protocol_port"} | _STATUS_ATTRIBUTES
    )

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    pool_id: Uuid | UnsetType = UNSET
    session_persistence: V1Persistence | None = None
    connection_limit: ConnectionLimit | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V1PoolNew(NeutronNew):
    """A new pool: a group of members. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = (
        frozenset({"id", "vip_id", "members", "health_monitors_status"}) | _STATUS_ATTRIBUTES
    )

    subnet_id: Uuid
    protocol: Protocol
    lb_method: LbMethod
    provider: ProviderName | None = None
    health_monitors: OneMonitor | None = None
    name: Text | None = None
    description: Text | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V1PoolChange(NeutronChange):
    """Changes of a pool: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = (
        NeutronChange.READ_ONLY
        | {"subnet_id", "protocol", "provider", "vip_id", "members", "health_monitors_status"}
        | _STATUS_ATTRIBUTES
    )

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    lb_method: LbMethod | UnsetType = UNSET
    health_monitors: OneMonitor | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V1MemberNew(NeutronNew):
    """A new member: one server of a pool. Null or absent attributes: the default."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id"}) | _STATUS_ATTRIBUTES

    pool_id: Uuid
    address: Address
    protocol_port: Port
    weight: Weight | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V1MemberChange(NeutronChange):
    """Changes of a member: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = NeutronChange.READ_ONLY | {"address", "protocol_port"} | _STATUS_ATTRIBUTES

    pool_id: Uuid | UnsetType = UNSET
    weight: Weight | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V1HealthMonitorNew(NeutronNew):
    """A new health monitor: how members are checked, in any number of pools. ``delay`` and ``timeout`` are in
    seconds. Null or absent attributes: the default.
    """

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset({"id", "pools"}) | _STATUS_ATTRIBUTES

    type: SharedMonitorType
    delay: Seconds
    timeout: Seconds
    max_retries: Retries
    http_method: HttpMethod | None = None
    url_path: NeutronUrlPath | None = None
    expected_codes: ExpectedCodes | None = None
    admin_state_up: Flag | None = None
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


class V1HealthMonitorChange(NeutronChange):
    """Changes of a health monitor: absent attributes stay unchanged, null sets the default. ``delay`` and
    ``timeout`` are in seconds.
    """

    READ_ONLY: ClassVar[frozenset[str]] = NeutronChange.READ_ONLY | {"type", "pools"} | _STATUS_ATTRIBUTES

    delay: Seconds | UnsetType = UNSET
    timeout: Seconds | UnsetType = UNSET
    max_retries: Retries | UnsetType = UNSET
    http_method: HttpMethod | UnsetType | None = UNSET
    url_path: NeutronUrlPath | UnsetType | None = UNSET
    expected_codes: ExpectedCodes | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V1Association(NeutronNew):
    """The health monitor to associate with a pool. ``tenant_id`` and ``project_id`` are ignored."""

    NOT_ALLOWED: ClassVar[frozenset[str]] = frozenset()

    id: Uuid
    tenant_id: ProjectId | None = None
    project_id: ProjectId | None = None


# -- bodies


class V1VipNewBody(Request):
    """Body of POST /vips."""

    vip: V1VipNew


class V1VipChangeBody(Request):
    """Body of PUT /vips/{id}."""

    vip: V1VipChange


class V1PoolNewBody(Request):
    """Body of POST /pools."""

    pool: V1PoolNew


class V1PoolChangeBody(Request):
    """Body of PUT /pools/{id}."""

    pool: V1PoolChange


class V1MemberNewBody(Request):
    """Body of POST /members."""

    member: V1MemberNew


class V1MemberChangeBody(Request):
    """Body of PUT /members/{id}."""

    member: V1MemberChange


class V1HealthMonitorNewBody(Request):
    """Body of POST /health_monitors."""

    health_monitor: V1HealthMonitorNew


class V1HealthMonitorChangeBody(Request):
    """Body of PUT /health_monitors/{id}."""

    health_monitor: V1HealthMonitorChange


class V1AssociationBody(Request):
    """Body of POST /pools/{id}/health_monitors."""

    health_monitor: V1Association

"""Change requests of LBaaS v2: absent attributes stay unchanged, null means the default."""

from typing import ClassVar

from msgspec import UNSET, UnsetType

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import ExpectedCodes, HttpMethod, NeutronUrlPath, Text
from evenkeel.api.neutron.bodies import NeutronChange
from evenkeel.api.neutron.fields import (
    ConnectionLimit,
    ContainerRef,
    ContainerRefs,
    Flag,
    Position,
    Retries,
    Seconds,
    Uuid,
    Weight,
)
from evenkeel.api.neutron.v2.requests import L7PolicyAction, L7RuleType, LbAlgorithm, V2Key, V2Persistence, V2RuleValue
from evenkeel.api.usecases.l7_requests import Url
from evenkeel.core.resources.model import L7RuleCompareType

_COMMON = NeutronChange.READ_ONLY


class V2LoadBalancerChange(NeutronChange):
    """Changes of a load balancer: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {
        "vip_subnet_id",
        "vip_network_id",
        "vip_address",
        "vip_port_id",
        "provider",
        "flavor_id",
        "provisioning_status",
        "operating_status",
        "listeners",
        "pools",
    }

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2ListenerChange(NeutronChange):
    """Changes of a listener: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {
        "protocol",
        "protocol_port",
        "loadbalancer_id",
        "loadbalancers",
        "l7policies",
    }

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    default_pool_id: Uuid | UnsetType | None = UNSET
    connection_limit: ConnectionLimit | UnsetType | None = UNSET
    default_tls_container_ref: ContainerRef | UnsetType | None = UNSET
    sni_container_refs: ContainerRefs | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2PoolChange(NeutronChange):
    """Changes of a pool: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {
        "protocol",
        "listener_id",
        "loadbalancer_id",
        "healthmonitor_id",
        "members",
        "listeners",
        "loadbalancers",
    }

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    lb_algorithm: LbAlgorithm | UnsetType = UNSET
    session_persistence: V2Persistence | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2MemberChange(NeutronChange):
    """Changes of a member: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {"address", "protocol_port", "subnet_id"}

    name: Text | UnsetType | None = UNSET
    weight: Weight | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2HealthMonitorChange(NeutronChange):
    """Changes of a health monitor: absent attributes stay unchanged, null sets the default. ``delay`` and
    ``timeout`` are in seconds.
    """

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {"type", "pool_id", "pools"}

    name: Text | UnsetType | None = UNSET
    delay: Seconds | UnsetType = UNSET
    timeout: Seconds | UnsetType = UNSET
    max_retries: Retries | UnsetType = UNSET
    max_retries_down: Retries | UnsetType | None = UNSET
    http_method: HttpMethod | UnsetType | None = UNSET
    url_path: NeutronUrlPath | UnsetType | None = UNSET
    expected_codes: ExpectedCodes | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2L7PolicyChange(NeutronChange):
    """Changes of an L7 policy: absent attributes stay unchanged, null sets the default."""

    READ_ONLY: ClassVar[frozenset[str]] = _COMMON | {"listener_id", "rules"}

    name: Text | UnsetType | None = UNSET
    description: Text | UnsetType | None = UNSET
    action: L7PolicyAction | UnsetType = UNSET
    redirect_pool_id: Uuid | UnsetType | None = UNSET
    redirect_url: Url | UnsetType | None = UNSET
    position: Position | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2L7RuleChange(NeutronChange):
    """Changes of an L7 rule: absent attributes stay unchanged, null sets the default. An empty ``key`` means
    none.
    """

    type: L7RuleType | UnsetType = UNSET
    compare_type: L7RuleCompareType | UnsetType = UNSET
    value: V2RuleValue | UnsetType = UNSET
    key: V2Key | UnsetType | None = UNSET
    invert: Flag | UnsetType | None = UNSET
    admin_state_up: Flag | UnsetType | None = UNSET


class V2LoadBalancerChangeBody(Request):
    """Body of PUT /loadbalancers/{id}."""

    loadbalancer: V2LoadBalancerChange


class V2ListenerChangeBody(Request):
    """Body of PUT /listeners/{id}."""

    listener: V2ListenerChange


class V2PoolChangeBody(Request):
    """Body of PUT /pools/{id}."""

    pool: V2PoolChange


class V2MemberChangeBody(Request):
    """Body of PUT /pools/{id}/members/{id}."""

    member: V2MemberChange


class V2HealthMonitorChangeBody(Request):
    """Body of PUT /healthmonitors/{id}."""

    healthmonitor: V2HealthMonitorChange


class V2L7PolicyChangeBody(Request):
    """Body of PUT /l7policies/{id}."""

    l7policy: V2L7PolicyChange


class V2L7RuleChangeBody(Request):
    """Body of PUT /l7policies/{id}/rules/{id}."""

    rule: V2L7RuleChange

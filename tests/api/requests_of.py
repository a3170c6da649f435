"""A request for every route: paths filled in, and a body where the route takes one."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.api.app import ROUTES
from evenkeel.api.common.openapi import openapi_routes
from evenkeel.api.http.routing import Operation
from tests.api import bodies
from tests.api.personas import PROJECT

_segments = itertools.count(77)


class Route(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    operation: Operation

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Known(NamedTuple):
    """Ids of what is there."""

    load_balancer: str
    listener: str
    pool: str
    member: str
    monitor: str
    agent: str
    environment: str = "dev"
    subnet: str = bodies.SUBNET_ID
    project: str = PROJECT
    flavor: str = "no-flavor"
    flavor_profile: str = "no-profile"
    zone: str = "no-zone"
    zone_profile: str = "no-profile"
    l7policy: str = "no-policy"
    l7rule: str = "no-rule"
    rate_limit_policy: str = "no-policy"
    rate_limit_rule: str = "no-rule"
    extension: str = "lbaasv2"
    enhanced_service: str = "no-service"
    network: str = "no-network"


def routes() -> Iterator[Route]:
    """Every route that is served, under its first prefix."""
    for route_map in (*ROUTES, openapi_routes(ROUTES)):
        for operation in route_map.operations:
            yield Route(operation.method, route_map.prefixes[0] + operation.path or "/", operation)


_BY_SEGMENT = {
    "loadbalancers": "load_balancer",
    "listeners": "listener",
    "pools": "pool",
    "members": "member",
    "healthmonitors": "monitor",
    "health_monitors": "monitor",
    "vips": "listener",
    "l7policies": "l7policy",
    "rules": "l7rule",
    "ratelimitpolicies": "rate_limit_policy",
    "extensions": "extension",
    "agents": "agent",
    "environments": "environment",
    "enhanced_services": "enhanced_service",
    "providers": "environment",
    "subnets": "subnet",
    "networks": "network",
    "moves": "load_balancer",
    "quotas": "project",
    "certificates": "project",
    "flavors": "flavor",
    "flavorprofiles": "flavor_profile",
    "availabilityzones": "zone",
    "availabilityzoneprofiles": "zone_profile",
}


def path_of(route: Route, known: Known) -> str:
    """The path with the ids of what is there."""
    parts = route.path.split("/")
    for at, part in enumerate(parts):
        if part.startswith("{"):
            of_limit = parts[at - 1] == "rules" and "ratelimitpolicies" in parts
            name = "rate_limit_rule" if of_limit else _BY_SEGMENT.get(parts[at - 1], "agent")
            parts[at] = getattr(known, name)
    return "/".join(parts) + _query_of(route)


def _query_of(route: Route) -> str:
    """The query parameters without which the route answers nothing."""
    if "/mirror/" in route.path:
        return {"GET": "?provider=dev", "DELETE": "?provider=dev&snapshot=2"}.get(route.method, "")
    cascade = route.method == "DELETE" and route.path.endswith(("lbaas/loadbalancers/{id}", "v1/loadbalancers/{id}"))
    return "?cascade=true" if cascade else "?prefix=abcd" if route.path.endswith("/ids") else ""


def body_of(operation: Operation, known: Known) -> Any:
    """A body that is accepted; None where there is none. A new type of body needs a line here."""
    if operation.body is None:
        return None
    return _bodies(known)[operation.body.__name__]


def _bodies(known: Known) -> Mapping[str, Any]:
    address = {"address": "10.9.9.9", "protocol_port": 81}
    return {
        "LoadBalancerNewBody": bodies.load_balancer(project_id=PROJECT),
        "LoadBalancerChangeBody": {"loadbalancer": {"name": "changed"}},
        "LoadBalancerResizeBody": {"new_flavor_id": known.flavor},
        "ListenerNewBody": {
            "listener": {"loadbalancer_id": known.load_balancer, "protocol": "HTTP", "protocol_port": 8081}
        },
        "ListenerChangeBody": {"listener": {"name": "changed"}},
        "PoolNewBody": {
            "pool": {"loadbalancer_id": known.load_balancer, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
        },
        "PoolChangeBody": {"pool": {"name": "changed"}},
        "MemberNewBody": {"member": address},
        "MemberChangeBody": {"member": {"weight": 7}},
        "MemberBatchBody": {"members": [address]},
        "HealthMonitorNewBody": {
            "healthmonitor": {"pool_id": known.pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
        },
        "HealthMonitorChangeBody": {"healthmonitor": {"name": "changed"}},
        "L7PolicyNewBody": {"l7policy": {"listener_id": known.listener, "action": "REJECT"}},
        "L7PolicyChangeBody": {"l7policy": {"name": "changed"}},
        "L7RuleNewBody": {"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}},
        "L7RuleChangeBody": {"rule": {"value": "/changed"}},
        "RateLimitPolicyNewBody": {"ratelimitpolicy": {"listener_id": known.listener, "action": "DENY"}},
        "RateLimitPolicyChangeBody": {"ratelimitpolicy": {"name": "changed"}},
        "RateLimitRuleNewBody": {"rule": {"metric": "REQUESTS", "threshold": 50}},
        "RateLimitRuleChangeBody": {"rule": {"threshold": 60}},
        "IrulesBody": {"irules": []},
        "MoveBody": {"move": {"load_balancer_id": known.load_balancer, "to_group": 1}},
        "AdoptionBody": {"adoption": {"apply": True}},
        "HeldPut": {"held": False},
        "QuotaSetBody": {"quota": {"pool": -1}},
        "FlavorNewBody": {"flavor": {"name": "another", "flavor_profile_id": known.flavor_profile}},
        "FlavorChangeBody": {"flavor": {"description": "changed"}},
        "FlavorProfileNewBody": {"flavorprofile": {"name": "another", "provider_name": "dev", "flavor_data": "{}"}},
        "FlavorProfileChangeBody": {"flavorprofile": {"name": "changed"}},
        "ZoneNewBody": {"availability_zone": {"name": "another", "availability_zone_profile_id": known.zone_profile}},
        "ZoneChangeBody": {"availability_zone": {"description": "changed"}},
        "ZoneProfileNewBody": {
            "availability_zone_profile": {
                "name": "another",
                "provider_name": "dev",
                "availability_zone_data": "{}",
            }
        },
        "ZoneProfileChangeBody": {"availability_zone_profile": {"name": "changed"}},
        **_neutron_bodies(known),
        "AgentChangeBody": {"agent": {"admin_state_up": True}},
        "ForceDownBody": {"down": False},
        "RebindBody": {"to": known.agent},
        "EnvironmentNewBody": {"environment": {"name": "another", "device_driver": "noop"}},
        "EnvironmentChangeBody": {"environment": {"description": "changed"}},
        "SubnetNewBody": {"subnet": {"name": "another", "cidr": "10.77.0.0/24"}},
        "SubnetChangeBody": {"subnet": {"device_addresses": []}},
        "NetworkNewBody": {"network": {"network_type": "vxlan", "segmentation_id": next(_segments)}},
        "NetworkChangeBody": {"network": {"mtu": 1450}},
        "RefreshBody": {"refresh": {}},
        **_mirror_bodies(known),
        "RevocationBody": {"revocation": {"reason": "superseded"}},
        "CertificateNewBody": {"certificate": {"project_id": known.project, "name": "another", "pem": "no PEM"}},
    }


def _mirror_bodies(known: Known) -> Mapping[str, Any]:
    vip = {"vip_address": "203.0.113.1", "vip_subnet_id": "s", "vip_network_id": "n", "vip_port_id": "p"}
    load_balancer = {"project_id": known.project, "provider": known.environment, **vip}
    return {
        "MirrorPut": {"loadbalancer": load_balancer, "snapshot": 1.0, "digest": "d"},
        "ImportPut": {"loadbalancer": load_balancer},
        "IdsBody": {"ids": [known.load_balancer]},
        "MirrorLease": {"provider": known.environment, "holder": "h", "seconds": 5},
        "MirrorCheck": {
            "provider": known.environment,
            "operation": "create",
            "kind": "loadbalancer",
            "object": load_balancer,
        },
        "MetadataCheck": {"provider": known.environment, "metadata": {}},
        "VipPortNew": {
            "provider": known.environment,
            "loadbalancer_id": known.load_balancer,
            "project_id": known.project,
            "vip_subnet_id": known.subnet,
        },
    }


def _neutron_bodies(known: Known) -> Mapping[str, Any]:
    member = {"address": "10.20.0.77", "protocol_port": 8080, "subnet_id": known.subnet}
    return {
        "V2LoadBalancerNewBody": {"loadbalancer": {"vip_subnet_id": known.subnet, "tenant_id": known.project}},
        "V2LoadBalancerChangeBody": {"loadbalancer": {"name": "changed"}},
        "V2ListenerNewBody": {
            "listener": {"loadbalancer_id": known.load_balancer, "protocol": "HTTP", "protocol_port": 8082}
        },
        "V2ListenerChangeBody": {"listener": {"name": "changed"}},
        "V2PoolNewBody": {
            "pool": {"loadbalancer_id": known.load_balancer, "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}
        },
        "V2PoolChangeBody": {"pool": {"name": "changed"}},
        "V2MemberNewBody": {"member": member},
        "V2MemberChangeBody": {"member": {"weight": "7"}},
        "V2HealthMonitorNewBody": {
            "healthmonitor": {"pool_id": known.pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
        },
        "V2HealthMonitorChangeBody": {"healthmonitor": {"name": "changed"}},
        "V2L7PolicyNewBody": {"l7policy": {"listener_id": known.listener, "action": "REJECT"}},
        "V2L7PolicyChangeBody": {"l7policy": {"name": "changed"}},
        "V2L7RuleNewBody": {"rule": {"type": "PATH", "compare_type": "EQUAL_TO", "value": "/"}},
        "V2L7RuleChangeBody": {"rule": {"value": "/changed"}},
        "V2GraphNewBody": {
            "graph": {"loadbalancer": {"vip_subnet_id": known.subnet, "tenant_id": known.project, "listeners": []}}
        },
        "V1VipNewBody": {
            "vip": {"subnet_id": known.subnet, "protocol": "HTTP", "protocol_port": 83, "pool_id": known.pool}
        },
        "V1VipChangeBody": {"vip": {"name": "changed"}},
        "V1PoolNewBody": {
            "pool": {
                "subnet_id": known.subnet,
                "protocol": "HTTP",
                "lb_method": "ROUND_ROBIN",
                "tenant_id": known.project,
            }
        },
        "V1PoolChangeBody": {"pool": {"name": "changed"}},
        "V1MemberNewBody": {"member": {"pool_id": known.pool, "address": "10.20.0.78", "protocol_port": 8080}},
        "V1MemberChangeBody": {"member": {"weight": "7"}},
        "V1HealthMonitorNewBody": {
            "health_monitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2, "tenant_id": known.project}
        },
        "V1HealthMonitorChangeBody": {"health_monitor": {"max_retries": "3"}},
        "V1AssociationBody": {"health_monitor": {"id": known.monitor}},
        "NeutronAgentChangeBody": {"agent": {"admin_state_up": True}},
        "NeutronQuotaChangeBody": {"quota": {"pool": -1}},
    }

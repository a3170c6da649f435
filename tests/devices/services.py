"""Service definitions for tests of device drivers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from evenkeel.core.devices.device import PartitionBatch
from evenkeel.core.devices.service import (
    ServiceDefinition,
    ServiceL7Policy,
    ServiceL7Rule,
    ServiceListener,
    ServiceMember,
    ServiceMonitor,
    ServicePool,
    ServiceRateLimit,
    ServiceRateLimitRule,
)
from evenkeel.core.resources.model import Vip
from evenkeel.core.tls.certificates import CertificateContent

PROJECT = "a3f1c2"


def vip(number: int) -> Vip:
    return Vip(address=f"10.1.{number // 250}.{number % 250 + 1}", subnet_id="s", network_id="n", port_id="p")


def service(number: int = 1, *, members: int = 3, revision: int = 1, **changes: Any) -> ServiceDefinition:
    """A load balancer with an HTTP listener, a pool, its monitor and members."""
    fields: dict[str, Any] = {
        "load_balancer_id": f"lb-{number}",
        "project_id": PROJECT,
        "revision": revision,
        "vip": vip(number),
        "listeners": (listener(number),),
        "pools": (pool(number, members=members),),
    }
    return ServiceDefinition(**{**fields, **changes})


def listener(number: int = 1, **changes: Any) -> ServiceListener:
    fields = {
        "id": f"listener-{number}",
        "protocol": "HTTP",
        "protocol_port": 80,
        "default_pool_id": f"pool-{number}",
    }
    return ServiceListener(**{**fields, **changes})


def pool(number: int = 1, *, members: int | tuple[ServiceMember, ...] = 3, **changes: Any) -> ServicePool:
    fields: dict[str, Any] = {
        "id": f"pool-{number}",
        "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN",
        "members": tuple(member(number, place) for place in range(1, members + 1))
        if isinstance(members, int)
        else members,
        "monitor": monitor(number),
    }
    return ServicePool(**{**fields, **changes})


def member(number: int = 1, place: int = 1, **changes: Any) -> ServiceMember:
    fields = {"id": f"member-{number}-{place}", "address": f"10.2.{number % 250}.{place}", "protocol_port": 8080}
    return ServiceMember(**{**fields, **changes})


def monitor(number: int = 1, **changes: Any) -> ServiceMonitor:
    fields = {"id": f"monitor-{number}", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}
    return ServiceMonitor(**{**fields, **changes})


def policy(place: int = 1, *rules: ServiceL7Rule, **changes: Any) -> ServiceL7Policy:
    """An L7 policy that rejects, with a rule if none is given."""
    fields: dict[str, Any] = {"id": f"policy-{place}", "action": "REJECT", "rules": rules or (rule(),)}
    return ServiceL7Policy(**{**fields, **changes})


def rate_limit(*rules: ServiceRateLimitRule, number: int = 1, **changes: Any) -> ServiceRateLimit:
    """A rate limit policy with these rules."""
    fields: dict[str, Any] = {"id": f"limit-{number}", "action": "DENY", "rules": rules or (rate_rule(),)}
    return ServiceRateLimit(**{**fields, **changes})


def rate_rule(number: int = 1, **changes: Any) -> ServiceRateLimitRule:
    """A limit of requests in ten minutes."""
    fields: dict[str, Any] = {"id": f"rate-rule-{number}", "metric": "REQUESTS", "threshold": 3, "interval": 600}
    return ServiceRateLimitRule(**{**fields, **changes})


def rule(number: int = 1, **changes: Any) -> ServiceL7Rule:
    """A condition on the path."""
    fields = {"id": f"rule-{number}", "type": "PATH", "compare_type": "STARTS_WITH", "value": "/private"}
    return ServiceL7Rule(**{**fields, **changes})


def gone(number: int = 1, *, revision: int = 9) -> ServiceDefinition:
    """A deleted load balancer."""
    return service(number, revision=revision, listeners=(), pools=(), deleted=True)


def session_of(epoch: int) -> str:
    """The session that owns at this epoch, where a test does not say another."""
    return f"session-{epoch}"


def batch(
    *services: ServiceDefinition,
    epoch: int = 1,
    session_id: str | None = None,
    complete: bool = False,
    certificates: Mapping[str, CertificateContent] = MappingProxyType({}),
) -> PartitionBatch:
    return PartitionBatch(
        project_id=PROJECT,
        epoch=epoch,
        session_id=session_of(epoch) if session_id is None else session_id,
        services=services,
        complete=complete,
        certificates=dict(certificates),
    )

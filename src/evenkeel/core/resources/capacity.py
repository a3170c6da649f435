"""Utilization of a device group by its operator's ``capacity_policy``, and the additional utilization by a new load
balancer. Metric names and syntax are those of F5's OpenStack agents. A group with a score below 1 accepts more load
balancers. Pure.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from evenkeel.core.kit.values import Wire

OPTION = "capacity_policy"


CAPACITY_MAX = 1e18
"""Largest value and limit of a metric: results computed from them stay finite."""


class CapacityFigure(Wire):
    """The measured value of a metric, and its limit by the operator's ``capacity_policy``."""

    value: Annotated[float, msgspec.Meta(ge=-CAPACITY_MAX, le=CAPACITY_MAX)]
    limit: Annotated[float, msgspec.Meta(gt=0, le=CAPACITY_MAX)]


class Metric(StrEnum):
    """A metric that a capacity policy may limit. In a group of several devices, the highest value counts."""

    THROUGHPUT = "throughput"  # bits per second, in and out
    INBOUND_THROUGHPUT = "inbound_throughput"  # bits per second inwards, in the counting of the devices
    OUTBOUND_THROUGHPUT = "outbound_throughput"  # bits per second outwards
    ACTIVE_CONNECTIONS = "active_connections"  # open connections of clients
    TENANT_COUNT = "tenant_count"  # partitions in use, other than Common
    NODE_COUNT = "node_count"  # addresses of members
    ROUTE_DOMAIN_COUNT = "route_domain_count"  # other than the default one
    VLAN_COUNT = "vlan_count"
    TUNNEL_COUNT = "tunnel_count"
    SSLTPS = "ssltps"  # TLS connections accepted per second
    CLIENTSSL_PROFILE_COUNT = "clientssl_profile_count"


def parse_policy(text: str) -> dict[str, float]:
    """Parse ``metric:limit, metric:limit`` to {metric: limit}; an empty text has no limits. Raises
    :class:`ValueError` naming the option, what is wrong and what is allowed.
    """
    policy: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, limit = (part.strip() for part in entry.partition(":"))
        if not colon:
            raise ValueError(f"{OPTION}: {entry!r}: allowed is metric:limit, metric:limit, …")
        if name not in set(Metric):
            raise ValueError(f"{OPTION}: {name!r} is no metric; allowed are {', '.join(Metric)}")
        if name in policy:
            raise ValueError(f"{OPTION}: {name} is given twice; allowed is one limit for each metric")
        policy[name] = _parse_limit(name, limit)
    return policy


def _parse_limit(name: str, text: str) -> float:
    try:
        limit = float(text)
    except ValueError:
        # NaN fails the comparison below, so that both kinds of mistakes are reported by one text.
        limit = math.nan
    if not 0 < limit <= CAPACITY_MAX:
        raise ValueError(
            f"{OPTION}: {name}: {text!r} is no limit; allowed are numbers above 0, at most {CAPACITY_MAX:g}"
        )
    return limit


def capacity_figures(policy: Mapping[str, float], measured: Mapping[str, float]) -> dict[str, CapacityFigure]:
    """Return {metric: its measured value and limit} for the metrics of the policy; metrics without a
    measurement are left out.
    """
    return {
        name: CapacityFigure(value=measured[name], limit=limit) for name, limit in policy.items() if name in measured
    }


def capacity_score(figures: Mapping[str, CapacityFigure], reserved: Mapping[str, float] | None = None) -> float:
    """Return the highest share of its limit that a metric has reached (1.0: the limit), including
    ``reserved`` amounts of load balancers that are placed and not measured yet; 0 without figures.
    """
    more = reserved or {}
    shares = ((each.value + more.get(name, 0.0)) / each.limit for name, each in figures.items())
    return max(shares, default=0.0)


def metrics_at_limit(
    figures: Mapping[str, CapacityFigure], reserved: Mapping[str, float] | None = None
) -> tuple[str, ...]:
    """Return texts for the metrics that are at or above their limit, with ``reserved`` amounts, such as
    ``tenant_count 10 of 10``; sorted by name.
    """
    more = reserved or {}
    used = {name: each.value + more.get(name, 0.0) for name, each in figures.items()}
    return tuple(
        f"{name} {_number_text(used[name])} of {_number_text(each.limit)}"
        for name, each in sorted(figures.items())
        if used[name] >= each.limit
    )


def _number_text(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.1f}"


def amounts_of_new_load_balancer(addresses: int, *, new_tenant: bool) -> dict[str, float]:
    """Return {metric: amount} by which a new load balancer raises the metrics that count objects; amounts of
    0 are left out. ``addresses``: number of its distinct member addresses. ``new_tenant``: it is the first
    load balancer of its tenant on the group.

    An address that the tenant already has on the group is counted again: the reservation may be too large for
    a moment, never too small. TLS profiles are not counted.
    """
    counted = {Metric.TENANT_COUNT.value: float(new_tenant), Metric.NODE_COUNT.value: float(addresses)}
    return {name: amount for name, amount in counted.items() if amount}


COUNTED_METRICS = frozenset({Metric.TENANT_COUNT.value, Metric.NODE_COUNT.value, Metric.CLIENTSSL_PROFILE_COUNT.value})
"""Metrics that grow when a load balancer is placed: counts of objects rather than load."""

"""The rate limits of one listener, whatever they come from: rate limit policies of tenants, and the part ``rate_limit``
of enhanced services. Pure; each driver renders the counters and conditions for its devices.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from evenkeel.config.esd.parts import Parts, RequestRate
from evenkeel.core.devices.rate_limits import Counter, counter_of
from evenkeel.core.devices.service import ServiceListener, ServiceRateLimit, ServiceRateLimitRule
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import RateLimitAction
from evenkeel.devices.errors import Unrenderable

KBYTE = 1024
"""Bytes of one unit of the metric KBYTES."""


class Condition(NamedTuple):
    """A counter has passed a threshold."""

    counter: Counter
    threshold: int
    """In requests, or bytes."""
    of_bytes: bool = False
    """True: bytes in both directions are counted; False: requests."""
    urls: tuple[str, ...] = ()
    """Paths to which the condition applies; none: all."""
    id: str = ""
    """Id of the tenant's rule; empty: the condition is of an enhanced service."""


class ClientLimit(Value):
    """An action for requests that meet all conditions."""

    conditions: tuple[Condition, ...]
    action: RateLimitAction = "DENY"
    status: int = 429
    """Status of responses of the action ``DENY``."""

    @property
    def retry_after(self) -> int:
        """Seconds after which the first of the conditions may not be met any more."""
        return min(condition.counter.interval for condition in self.conditions)


def rate_limits(listener: ServiceListener, parts: Parts) -> tuple[ClientLimit, ...]:
    """The rate limits of a listener with these parts of enhanced services."""
    own = () if parts.rate_limit is None else (_of_service(parts.rate_limit),)
    return (*own, *map(_of_policy, listener.rate_limits))


def conditions_of(limits: Iterable[ClientLimit]) -> dict[Counter, list[Condition]]:
    """Conditions by counter, counters in order of first use."""
    found: dict[Counter, list[Condition]] = {}
    for limit in limits:
        for condition in limit.conditions:
            found.setdefault(condition.counter, []).append(condition)
    return found


def rendered_action(limit: ClientLimit, commands: Mapping[str, str]) -> str:
    """The device's command for an action other than ``DENY``. Raises :class:`Unrenderable` if it has none."""
    if limit.action not in commands:
        raise Unrenderable(f"rate limit action {limit.action}: DENY, {', '.join(commands)} are possible")
    return commands[limit.action]


def _of_service(rate: RequestRate) -> ClientLimit:
    counter = Counter("client", rate.interval)
    if rate.header is not None:
        counter = Counter("header", rate.interval, rate.header)
    elif rate.cookie is not None:
        counter = Counter("cookie", rate.interval, rate.cookie)
    return ClientLimit(conditions=(Condition(counter, rate.requests),), status=rate.status)


def _of_policy(policy: ServiceRateLimit) -> ClientLimit:
    return ClientLimit(conditions=tuple(map(_of_rule, policy.rules)), action=policy.action)


def _of_rule(rule: ServiceRateLimitRule) -> Condition:
    of_bytes = rule.metric == "KBYTES"
    return Condition(
        counter_of(rule),
        rule.threshold * KBYTE if of_bytes else rule.threshold,
        of_bytes=of_bytes,
        urls=rule.urls if rule.metric == "REQUESTS_PER_URL" else (),
        id=rule.id,
    )

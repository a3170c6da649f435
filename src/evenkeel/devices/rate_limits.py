"""Rate limits of one listener, from tenants' rate limit policies and from the part ``rate_limit`` of enhanced services.

Pure; each driver renders the counters and conditions for its devices.
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
    """Condition that a counter exceeds a threshold."""

    counter: Counter
    threshold: int
    """Threshold in requests, or in bytes."""
    of_bytes: bool = False
    """Whether bytes in both directions are counted; False: requests are."""
    urls: tuple[str, ...] = ()
    """Paths to which the condition applies; empty: all."""
    id: str = ""
    """Id of the tenant's rule; empty: the condition comes from an enhanced service."""


class ClientLimit(Value):
    """An action for requests of a client that meet all conditions at once."""

    conditions: tuple[Condition, ...]
    action: RateLimitAction = "DENY"
    status: int = 429
    """HTTP status of responses if the action is ``DENY``."""

    @property
    def retry_after(self) -> int:
        """Return the shortest interval of the conditions, in seconds, for the header Retry-After: one of them
        may be false then.
        """
        return min(condition.counter.interval for condition in self.conditions)


def rate_limits(listener: ServiceListener, parts: Parts) -> tuple[ClientLimit, ...]:
    """Return the rate limits of a listener: first that of its enhanced services, if ``parts`` has one, then
    those of its tenant's policies.
    """
    own = () if parts.rate_limit is None else (_service_limit(parts.rate_limit),)
    return (*own, *map(_policy_limit, listener.rate_limits))


def conditions_by_counter(limits: Iterable[ClientLimit]) -> dict[Counter, list[Condition]]:
    """Group the conditions of all limits by counter, counters in order of first use."""
    found: dict[Counter, list[Condition]] = {}
    for limit in limits:
        for condition in limit.conditions:
            found.setdefault(condition.counter, []).append(condition)
    return found


def action_command(limit: ClientLimit, commands: Mapping[str, str]) -> str:
    """Return the device's command for an action other than ``DENY``. ``commands``: by action. Raises
    :class:`Unrenderable` if the device type has none.
    """
    if limit.action not in commands:
        raise Unrenderable(f"rate limit action {limit.action}: DENY, {', '.join(commands)} are possible")
    return commands[limit.action]


def _service_limit(rate: RequestRate) -> ClientLimit:
    counter = Counter("client", rate.interval)
    if rate.header is not None:
        counter = Counter("header", rate.interval, rate.header)
    elif rate.cookie is not None:
        counter = Counter("cookie", rate.interval, rate.cookie)
    return ClientLimit(conditions=(Condition(counter, rate.requests),), status=rate.status)


def _policy_limit(policy: ServiceRateLimit) -> ClientLimit:
    return ClientLimit(conditions=tuple(map(_rule_condition, policy.rules)), action=policy.action)


def _rule_condition(rule: ServiceRateLimitRule) -> Condition:
    of_bytes = rule.metric == "KBYTES"
    return Condition(
        counter_of(rule),
        rule.threshold * KBYTE if of_bytes else rule.threshold,
        of_bytes=of_bytes,
        urls=rule.urls if rule.metric == "REQUESTS_PER_URL" else (),
        id=rule.id,
    )

"""Rate limits that a device type supports, and checks of rate limits against it. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, get_args

from evenkeel.core.devices.service import ServiceRateLimit, ServiceRateLimitRule
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import ListenerProtocol, RateLimitAction, RateLimitMetric


class RateLimitSupport(Value):
    """Rate limit policies that one device type supports."""

    protocols: tuple[str, ...] = ()
    """Protocols of listeners that may have rate limit policies."""
    metrics: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()
    refusals: dict[str, str] = {}
    """{unsupported metric or action: reason}."""
    counters_max: int | None = None
    """Maximum number of different counters (:class:`Counter`) of one listener; None: any number."""


EVERY_RATE_LIMIT = RateLimitSupport(
    protocols=get_args(ListenerProtocol), metrics=get_args(RateLimitMetric), actions=get_args(RateLimitAction)
)


class Counter(NamedTuple):
    """Value that a device counts for each client or key over an interval; rate limits with equal counters
    share one.
    """

    key: Literal["client", "url", "header", "cookie"]
    """``client``: the client's address; ``url``: address and path; else the value of a header or cookie, of enhanced
    services only.
    """
    interval: int
    """Seconds over which the device counts."""
    name: str = ""
    """Name of the header or cookie."""


def counter_of(rule: ServiceRateLimitRule) -> Counter:
    """Return the counter whose value decides about a rate limit rule."""
    return Counter("url" if rule.metric == "REQUESTS_PER_URL" else "client", rule.interval)


def distinct_counters(limits: Iterable[ServiceRateLimit]) -> tuple[Counter, ...]:
    """Return the different counters that the rules of these policies need, in order of first use."""
    return tuple(dict.fromkeys(counter_of(rule) for limit in limits for rule in limit.rules))


def counters_text(counters: Iterable[Counter]) -> str:
    """Return the counters as text, joined by commas (``client in 10 s``), for the error about more counters
    than a device supports.
    """
    return ", ".join(f"{counter.key} in {counter.interval} s" for counter in counters)


def rate_limit_problems(
    support: RateLimitSupport, protocol: str | None, limits: Sequence[ServiceRateLimit]
) -> Iterator[str]:
    """Yield error texts about a listener's rate limit policies that a device type does not support; none if
    all are supported. ``protocol``: the listener's; None: not checked.
    """
    if limits and protocol is not None and protocol not in support.protocols:
        allowed = ", ".join(support.protocols) or "none"
        yield f"rate limit policy of a listener of protocol {protocol}. Allowed: {allowed}."
        return
    for limit in limits:
        yield from _unsupported_value_texts(support, "action", limit.action, support.actions)
        for rule in limit.rules:
            yield from _unsupported_value_texts(support, "metric", rule.metric, support.metrics)
    counters = distinct_counters(limits)
    if support.counters_max is not None and len(counters) > support.counters_max:
        yield (
            f"{len(counters)} different counters of a listener's rate limits ({counters_text(counters)})."
            f" Allowed: {support.counters_max}; rules with the same interval share one."
        )


def _unsupported_value_texts(
    support: RateLimitSupport, field: str, value: str, allowed: Sequence[str]
) -> Iterator[str]:
    if value not in allowed:
        reason = f" ({support.refusals[value]})" if value in support.refusals else ""
        yield f"{field} {value}{reason}. Allowed: {', '.join(allowed) or 'none'}."

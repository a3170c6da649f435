from typing import Any

import pytest
from msgspec.structs import replace

from evenkeel.core.devices.rate_limits import (
    EVERY_RATE_LIMIT,
    Counter,
    RateLimitSupport,
    distinct_counters,
    rate_limit_problems,
)
from evenkeel.core.devices.service import ServiceRateLimit, ServiceRateLimitRule

FEW = RateLimitSupport(
    protocols=("HTTP",), metrics=("REQUESTS",), actions=("DENY",), refusals={"PACKETS": "none are seen"}, counters_max=1
)


def limit(*rules: dict[str, Any], **changes: Any) -> ServiceRateLimit:
    made = (ServiceRateLimitRule(**{"id": "r", "metric": "REQUESTS", "threshold": 1, **each}) for each in rules)
    return ServiceRateLimit(**{"id": "p", "action": "DENY", "rules": tuple(made), **changes})


def test_rules_with_the_same_key_and_interval_share_a_counter() -> None:
    by_path = {"metric": "REQUESTS_PER_URL", "urls": ("/",)}
    limits = (limit({}, {"metric": "KBYTES"}, by_path), limit({"threshold": 9}, {"interval": 5}))
    assert distinct_counters(limits) == (Counter("client", 30), Counter("url", 30), Counter("client", 5))


@pytest.mark.parametrize(
    ("protocol", "wanted", "words"),
    [
        ("HTTP", limit({}), ""),
        (None, limit({}), ""),
        ("TCP", limit({}), "rate limit policy of a listener of protocol TCP. Allowed: HTTP."),
        ("HTTP", limit({"metric": "PACKETS"}), "metric PACKETS (none are seen). Allowed: REQUESTS."),
        ("HTTP", limit(action="QUEUE"), "action QUEUE. Allowed: DENY."),
        ("HTTP", limit({}, {"interval": 5}), "2 different counters of a listener's rate limits (client in 30 s, "),
    ],
)
def test_first_problem_names_value_and_what_is_allowed(
    protocol: str | None, wanted: ServiceRateLimit, words: str
) -> None:
    assert next(rate_limit_problems(FEW, protocol, [wanted]), "").startswith(words)
    assert bool(words) == bool(list(rate_limit_problems(FEW, protocol, [wanted])))


def test_a_driver_that_takes_everything_has_no_problem() -> None:
    everything = [limit({"metric": "PACKETS", "interval": number}, action="QUEUE") for number in range(1, 20)]
    assert list(rate_limit_problems(EVERY_RATE_LIMIT, "UDP", everything)) == []
    assert list(rate_limit_problems(replace(FEW, protocols=()), "HTTP", [])) == []

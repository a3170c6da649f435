"""Create and change requests of rate limit policies and rules. Names are those of Octavia's specification."""

from typing import Annotated

from msgspec import Meta

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import END, ProjectId, Tags, Text, Uuid
from evenkeel.api.usecases.attribute_values import derive_change_request
from evenkeel.core.resources.model import (
    RATE_LIMIT_URLS_MAX,
    RateLimitAction,
    RateLimitMetric,
    RateLimitPolicy,
    RateLimitRule,
)

Threshold = Annotated[int, Meta(ge=1, le=1_000_000)]
IntervalSeconds = Annotated[int, Meta(ge=1, le=3600)]
LimitedPath = Annotated[
    str,
    Meta(
        max_length=255,
        # Paths are compared after percent-decoding, and file formats of devices end lines at blanks.
        pattern=r"^/[A-Za-z0-9._~!$&'()*+,;=:@/-]*" + END,
        description="A decoded URL path of ASCII characters that begins with a slash, without a query",
    ),
]


class RateLimitPolicyNew(Request, kw_only=True):
    """A new rate limit policy of a listener. Null or absent attributes: the default."""

    listener_id: Uuid
    action: RateLimitAction
    name: Text | None = None
    description: Text | None = None
    enabled: bool | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None


class RateLimitPolicyNewBody(Request):
    """Body of POST /ratelimitpolicies."""

    ratelimitpolicy: RateLimitPolicyNew


class RateLimitRuleNew(Request, kw_only=True):
    """A new rule of a rate limit policy: a threshold of one metric. Null or absent attributes: the default."""

    metric: RateLimitMetric
    threshold: Threshold
    interval: IntervalSeconds | None = None
    urls: Annotated[list[LimitedPath], Meta(max_length=RATE_LIMIT_URLS_MAX)] | None = None
    name: Text | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None


class RateLimitRuleNewBody(Request):
    """Body of POST /ratelimitpolicies/{id}/rules."""

    rule: RateLimitRuleNew


# -- changes: absent attributes stay, null means the default


@derive_change_request(RateLimitPolicyNew, RateLimitPolicy)
class RateLimitPolicyChange(Request):
    """Changes of a rate limit policy: absent attributes stay unchanged, null sets the default, but leaves
    tags unchanged.
    """


@derive_change_request(RateLimitRuleNew, RateLimitRule)
class RateLimitRuleChange(Request):
    """Changes of a rate limit rule: absent attributes stay unchanged, null sets the default, but leaves tags
    unchanged.
    """


class RateLimitPolicyChangeBody(Request):
    """Body of PUT /ratelimitpolicies/{id}."""

    ratelimitpolicy: RateLimitPolicyChange


class RateLimitRuleChangeBody(Request):
    """Body of PUT /ratelimitpolicies/{id}/rules/{id}."""

    rule: RateLimitRuleChange

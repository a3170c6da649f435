"""Create and change requests of L7 policies and rules. Names and bounds are Octavia's."""

from typing import Annotated, Literal

from msgspec import Meta

from evenkeel.api.http.bodies import Request
from evenkeel.api.http.fields import END, HTTP_NAME_CHARACTERS, ProjectId, Tags, Text, Uuid
from evenkeel.api.responses.decode_errors import REFUSAL
from evenkeel.api.usecases.attribute_values import derive_change_request
from evenkeel.api.usecases.pool_requests import NestedPool
from evenkeel.core.resources.model import (
    L7_POSITION_MAX,
    L7_RULES_MAX,
    L7Policy,
    L7PolicyAction,
    L7Rule,
    L7RuleCompareType,
    L7RuleType,
)

MAX_L7POLICIES = 200
"""Most L7 policies in one new listener."""

_HOST = r"([A-Za-z0-9._~!$&'()*+,;=:@\[\]-]|%[0-9A-Fa-f]{2})+"
_REST = r"([/?#]([A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-Fa-f]{2})*)?"
Url = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=r"^[Hh][Tt][Tt][Pp][Ss]?://" + _HOST + _REST + END,
        description="An http or https URL",
        extra={REFUSAL: "Value must be a valid URL string"},
    ),
]
Position = Annotated[int, Meta(ge=1, le=L7_POSITION_MAX)]
RedirectCode = Literal[301, 302, 303, 307, 308]
Key = Annotated[
    str,
    Meta(
        max_length=255,
        pattern=f"^[{HTTP_NAME_CHARACTERS}]*{END}",  # empty: none
        description="A name of a header, cookie or field: letters, digits and !#$%&'*+.^_`|~-",
    ),
]
RuleValue = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=255,
        pattern=r"^[^\x00-\x1f\x7f]+" + END,
        description="A text of 1 to 255 characters without control characters",
    ),
]


class L7RuleNew(Request):
    """A new L7 rule: one condition on a request. Null or absent attributes: the default."""

    type: L7RuleType
    compare_type: L7RuleCompareType
    value: RuleValue
    key: Key | None = None
    invert: bool | None = None
    admin_state_up: bool | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None


class L7PolicyParts(Request):
    """Attributes of every new L7 policy. Null or absent attributes: the default."""

    action: L7PolicyAction
    name: Text | None = None
    description: Text | None = None
    admin_state_up: bool | None = None
    redirect_url: Url | None = None
    redirect_prefix: Url | None = None
    redirect_http_code: RedirectCode | None = None
    position: Position | None = None
    rules: Annotated[list[L7RuleNew], Meta(max_length=L7_RULES_MAX)] | None = None
    tags: Tags | None = None
    project_id: ProjectId | None = None
    tenant_id: ProjectId | None = None


class L7PolicyWithPool(L7PolicyParts):
    """An L7 policy inside a new listener. ``redirect_pool``: a new pool, created together with the policy,
    instead of the existing ``redirect_pool_id``; null or absent: none.
    """

    redirect_pool_id: Uuid | None = None
    redirect_pool: NestedPool | None = None


class L7PolicyNew(L7PolicyWithPool, kw_only=True):
    """A new L7 policy of a listener."""

    listener_id: Uuid


class L7PolicyNewBody(Request):
    """Body of POST /l7policies."""

    l7policy: L7PolicyNew


class L7RuleNewBody(Request):
    """Body of POST /l7policies/{id}/rules."""

    rule: L7RuleNew


# -- changes: absent attributes stay, null means the default


@derive_change_request(L7PolicyNew, L7Policy)
class L7PolicyChange(Request):
    """Changes of an L7 policy: absent attributes stay unchanged, null sets the default."""


@derive_change_request(L7RuleNew, L7Rule)
class L7RuleChange(Request):
    """Changes of an L7 rule: absent attributes stay unchanged, null sets the default."""


class L7PolicyChangeBody(Request):
    """Body of PUT /l7policies/{id}."""

    l7policy: L7PolicyChange


class L7RuleChangeBody(Request):
    """Body of PUT /l7policies/{id}/rules/{id}."""

    rule: L7RuleChange

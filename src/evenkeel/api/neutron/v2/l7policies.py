"""LBaaS v2 L7 policies and their rules: create and change."""

import re
from typing import TypeVar

from msgspec import UnsetType
from msgspec.structs import replace

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call
from evenkeel.api.http.fields import HTTP_NAME_CHARACTERS
from evenkeel.api.neutron.errors import NeutronRefusal, bad_request
from evenkeel.api.neutron.v2 import change_requests, requests
from evenkeel.api.neutron.v2.listeners import different_load_balancers_error
from evenkeel.api.neutron.v2.resources import convert_body
from evenkeel.api.usecases import l7_requests as octavia
from evenkeel.api.usecases.l7_changes import stored_changes
from evenkeel.api.usecases.l7_rules import add_default_redirect_code
from evenkeel.api.usecases.l7policies import change_l7policy, change_l7rule, make_l7policy, make_l7rule
from evenkeel.core.resources.model import L7Policy, L7Rule, Listener, Pool

Rule = TypeVar("Rule", requests.V2L7RuleNew, change_requests.V2L7RuleChange)

_TYPES_WITH_KEY = frozenset({"HEADER", "COOKIE"})
_KEY_PATTERN = re.compile(f"[{HTTP_NAME_CHARACTERS}]+")


async def make_l7policy_of_v2(services: Services, call: Call, wanted: requests.V2L7PolicyNew) -> L7Policy:
    """Create an L7 policy; returns the stored policy. A target that the action does not need is stored, too.
    Raises :class:`NeutronRefusal` for a missing target or a pool elsewhere, and the errors of
    :func:`make_l7policy`.
    """
    check_redirect_target(wanted.action, wanted.redirect_pool_id, wanted.redirect_url)
    if wanted.action == "REDIRECT_TO_POOL":
        await _check_same_load_balancer(services, call, wanted.listener_id, wanted.redirect_pool_id)
    return await make_l7policy(services, call, convert_body(octavia.L7PolicyNew, wanted), add_default_redirect_code)


def check_redirect_target(action: str, pool_id: str | None, url: str | None) -> None:
    """Check that a redirecting action has its target. Raises :class:`NeutronRefusal` (409)."""
    if action == "REDIRECT_TO_POOL" and pool_id is None:
        raise pool_missing_error()
    if action == "REDIRECT_TO_URL" and url is None:
        raise NeutronRefusal(
            409, "L7PolicyRedirectUrlMissing", "Redirect URL is missing for L7 Policy with URL redirect action."
        )


def pool_missing_error() -> NeutronRefusal:
    """Build the error for a redirect policy without a pool."""
    return NeutronRefusal(
        409, "L7PolicyRedirectPoolIdMissing", "Redirect pool id is missing for L7 Policy with pool redirect action."
    )


async def _check_same_load_balancer(services: Services, call: Call, listener_id: str, pool_id: str | None) -> None:
    """Check that listener and pool are of one load balancer. Raises :class:`NeutronRefusal` if they are not,
    :class:`NotFound` for one of them.
    """
    scope = call.caller.scope
    pool: Pool = await services.tenants.get(Pool, str(pool_id), project_id=scope)
    listener: Listener = await services.tenants.get(Listener, listener_id, project_id=scope)
    if pool.load_balancer_id != listener.load_balancer_id:
        raise different_load_balancers_error()


async def change_l7policy_of_v2(
    services: Services, call: Call, policy_id: str, wanted: change_requests.V2L7PolicyChange
) -> L7Policy:
    """Change an L7 policy; returns the stored policy. The action changes only if the request names one; a
    target that does not fit the action is stored without effect. Raises :class:`NotFound`,
    :class:`NeutronRefusal`, and the errors of :func:`change_l7policy`.
    """
    current: L7Policy = await services.tenants.get(L7Policy, policy_id, project_id=call.caller.scope)
    action = current.action if isinstance(wanted.action, UnsetType) else wanted.action
    pool_id = current.redirect_pool_id if isinstance(wanted.redirect_pool_id, UnsetType) else wanted.redirect_pool_id
    url = current.redirect_url if isinstance(wanted.redirect_url, UnsetType) else wanted.redirect_url
    check_redirect_target(action, pool_id, url)
    if action == "REDIRECT_TO_POOL" and pool_id != current.redirect_pool_id:
        await _check_same_load_balancer(services, call, current.listener_id, pool_id)
    changes = convert_body(octavia.L7PolicyChange, wanted)
    return await change_l7policy(services, call, policy_id, changes, stored_changes)


async def make_l7rule_of_v2(services: Services, call: Call, policy: L7Policy, wanted: requests.V2L7RuleNew) -> L7Rule:
    """Add a rule to an L7 policy; returns the stored rule. Raises :class:`NeutronRefusal` for key or value,
    and the errors of :func:`make_l7rule`.
    """
    checked = checked_rule(wanted, wanted.type, wanted.value)
    return await make_l7rule(services, call, policy, convert_body(octavia.L7RuleNew, checked))


async def change_l7rule_of_v2(
    services: Services, call: Call, policy_id: str, rule_id: str, wanted: change_requests.V2L7RuleChange
) -> L7Rule:
    # Only these attributes are checked by the type, which a change usually leaves to the current rule.
    if isinstance(wanted.key, str) or wanted.value == "":
        current: L7Rule = await services.tenants.get(L7Rule, rule_id, parent_id=policy_id, project_id=call.caller.scope)
        kind = current.type if isinstance(wanted.type, UnsetType) else wanted.type
        wanted = checked_rule(wanted, kind, current.value if isinstance(wanted.value, UnsetType) else wanted.value)
    return await change_l7rule(services, call, policy_id, rule_id, convert_body(octavia.L7RuleChange, wanted))


def checked_rule(wanted: Rule, kind: str, value: str) -> Rule:
    """Return the rule with an empty key replaced by None. ``kind``: type of the rule. Raises
    :class:`NeutronRefusal` (400), with LBaaS v2's error types, for an empty value or an invalid key.
    """
    if value == "":
        refused = "L7RuleInvalidCookieValue" if kind == "COOKIE" else "L7RuleInvalidHeaderValue"
        raise bad_request("Invalid characters in value: it is empty. See RFC 7230.", refused)
    if not isinstance(wanted.key, str):
        return wanted
    if wanted.key == "":
        return replace(wanted, key=None)
    if kind in _TYPES_WITH_KEY and not _KEY_PATTERN.fullmatch(wanted.key):
        raise bad_request("Invalid characters in key. See RFCs 2616, 2965, 6265, 7230.", "L7RuleInvalidKey")
    return wanted

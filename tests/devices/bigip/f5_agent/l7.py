"""L7 policies and their rules: one policy of the device for a listener, and an iRule for each rule of REGEX."""

from collections.abc import Iterator, Sequence
from typing import Any

from evenkeel.core.devices.service import ServiceL7Policy, ServiceL7Rule, ServiceListener
from tests.devices.bigip.f5_agent.requests import Request, change, create, path_of, remove
from tests.devices.bigip.f5_agent.tenants import Tenant

_COMPARISONS = {"STARTS_WITH": "startsWith", "ENDS_WITH": "endsWith", "CONTAINS": "contains", "EQUAL_TO": "equals"}
_OPERANDS: dict[str, dict[str, Any]] = {
    "HOST_NAME": {"httpHost": True, "host": True},
    "PATH": {"httpUri": True, "path": True},
    "FILE_TYPE": {"httpUri": True, "extension": True},
    "HEADER": {"httpHeader": True},
    "COOKIE": {"httpCookie": True},
}
_IN_RULES = {"HOST_NAME": "host", "PATH": "path", "FILE_TYPE": "uri", "HEADER": "header", "COOKIE": "cookie"}
_SHAPE = {"strategy": "first-match", "legacy": True, "requires": ["http"], "controls": ["forwarding"]}


def wrapper(listener: ServiceListener) -> str:
    return f"wrapper_policy_{listener.id}"


def create_policies(tenant: Tenant, listener: ServiceListener, before: Sequence[str] = ()) -> Iterator[Request]:
    """All L7 policies of a listener, as after the last of them was created. ``before``: paths of the iRules that it
    has.
    """
    if not listener.l7policies:
        return
    virtual = tenant.named(listener.id)
    rules = [_rule(tenant, place, policy) for place, policy in enumerate(listener.l7policies, 1)]
    # the agent drops a policy of the device in which no rule has a condition
    if any(each["conditions"] for each in rules):
        yield create("ltm/policy", tenant.partition, wrapper(listener), rules=rules, **_SHAPE)
        path = path_of("ltm/virtual", tenant.partition, virtual, "policies")
        yield Request("POST", path, {"name": wrapper(listener), "partition": tenant.partition})
    codes = dict(_codes(tenant, listener))
    for name, code in codes.items():
        yield create("ltm/rule", tenant.partition, name, apiAnonymous=code, listener=listener.id)
        done = [f"/{tenant.partition}/{each}" for each in list(codes)[: list(codes).index(name) + 1]]
        yield change("ltm/virtual", tenant.partition, virtual, rules=[*before, *done])


def _rule(tenant: Tenant, place: int, policy: ServiceL7Policy) -> dict[str, Any]:
    conditions = [
        _condition(index, rule) for index, rule in enumerate(policy.rules) if rule.compare_type in _COMPARISONS
    ]
    name = f"{policy.action.lower()}_{place}"
    return {"name": name, "ordinal": place, "conditions": conditions, "actions": [_action(tenant, policy)]}


def _condition(index: int, rule: ServiceL7Rule) -> dict[str, Any]:
    found: dict[str, Any] = {"name": str(index), "request": True, "values": [rule.value], **_OPERANDS[rule.type]}
    if rule.type in ("HEADER", "COOKIE"):
        found["tmName"] = rule.key
    if rule.invert:
        found["not"] = True
    return {
        **found,
        _COMPARISONS[rule.compare_type]: True,
        "not_regex": True,
    }


def _action(tenant: Tenant, policy: ServiceL7Policy) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "0", "request": True}
    if policy.action == "REDIRECT_TO_POOL":
        return found | {"forward": True, "pool": _pool(tenant, policy)}
    if policy.action == "REDIRECT_TO_URL":
        return found | {"redirect": True, "location": policy.redirect_url, "httpReply": True}
    return found | {"reset": True, "forward": True}


def _pool(tenant: Tenant, policy: ServiceL7Policy) -> str:
    return f"/{tenant.partition}/{tenant.named(str(policy.redirect_pool_id))}"


def _codes(tenant: Tenant, listener: ServiceListener) -> Iterator[tuple[str, str]]:
    """Names and code of the iRules."""
    for policy in listener.l7policies:
        for rule in policy.rules:
            if rule.compare_type != "REGEX":
                continue
            operand = " ".join(filter(None, (_IN_RULES[rule.type], rule.key)))
            comparison = "ends_with" if rule.type == "FILE_TYPE" else "matches_regex"
            is_pool = policy.action == "REDIRECT_TO_POOL"
            then = f"pool {_pool(tenant, policy)}" if is_pool else f'HTTP::redirect "{policy.redirect_url}"'
            test = f'[HTTP::{operand}] {comparison} "{rule.value}"'
            yield f"irule_{rule.id}", f"when HTTP_REQUEST {{\n if {{{test}}} {{\n {then}\n }}\n}}"


def remove_policies(tenant: Tenant, listener: ServiceListener, before: Sequence[str] = ()) -> Iterator[Request]:
    if not listener.l7policies:
        return
    codes = dict(_codes(tenant, listener))
    if codes:
        yield change("ltm/virtual", tenant.partition, tenant.named(listener.id), rules=list(before))
        for name in codes:
            yield remove("ltm/rule", tenant.partition, name)
    if any(rule.compare_type in _COMPARISONS for policy in listener.l7policies for rule in policy.rules):
        attached = f"policies/~{tenant.partition}~{wrapper(listener)}"
        yield remove("ltm/virtual", tenant.partition, tenant.named(listener.id), attached)
        yield remove("ltm/policy", tenant.partition, wrapper(listener))


def create_redirect(tenant: Tenant, listener: ServiceListener) -> Iterator[Request]:
    """The option ``redirect_up`` of F5's driver: the listener sends clients to HTTPS."""
    virtual = tenant.named(listener.id)
    name = f"redirect-policy-{virtual}"
    action = {"name": "0", "httpReply": True, "redirect": True, "request": True}
    action["location"] = "tcl:https://[HTTP::host][HTTP::uri]"
    rules = [{"name": "redirect", "conditions": [], "actions": [action]}]
    yield create("ltm/policy", tenant.partition, name, rules=rules, **_SHAPE)
    path = path_of("ltm/virtual", tenant.partition, virtual, "policies")
    yield Request("POST", path, {"name": f"/{tenant.partition}/{name}", "partition": tenant.partition})

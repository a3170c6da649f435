"""L7 policies of a listener. Pure.

=========================  ==========================================================================
Octavia                    HAProxy
=========================  ==========================================================================
rule                       ``acl``, called ``l7.<index of the policy>.<index of the rule>``
HOST_NAME                  ``req.hdr(host)`` without the port, case-insensitive
PATH                       ``path``
FILE_TYPE EQUAL_TO         ``path`` that ends with ``.`` and the value; REGEX matches the whole path
HEADER, COOKIE             ``req.hdr``, ``req.cook``
SSL_CONN_HAS_CERT          ``ssl_c_used``; this and the next two never match without TLS
SSL_VERIFY_RESULT          ``ssl_c_err``; 0 also without a certificate
SSL_DN_FIELD               ``ssl_c_s_dn``
REJECT                     ``http-request deny``: 403
REDIRECT_TO_URL, _PREFIX   ``http-request redirect location`` or ``prefix``
REDIRECT_TO_POOL           ``http-request set-var(txn.pool)``, and at the end one ``use_backend``
=========================  ==========================================================================

HAProxy evaluates all ``http-request`` lines before any ``use_backend``, so a REJECT would win over the pool of an
earlier policy. Hence the choice of the pool is an ``http-request`` line too, and after it no later policy matches: the
first matching policy wins, whatever its action. A policy that is disabled, has no enabled rule, or redirects to a
disabled pool never matches, as in Octavia.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from evenkeel.core.devices.service import ServiceL7Policy, ServiceL7Rule, ServiceListener
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.model import L7_RULES_MAX
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.haproxy.render.modes import listener_mode
from evenkeel.devices.haproxy.render.quoting import log_format_literal, quote_argument, quote_line
from evenkeel.devices.l7 import (
    check_compare_type,
    check_compares_true,
    check_regex,
    redirect_code,
    redirect_url,
    unquoted_value,
    verify_result_code,
)

CHOSEN_POOL_ACL = "l7.chosen"
MATCH_METHODS = {"REGEX": "reg", "STARTS_WITH": "beg", "ENDS_WITH": "end", "CONTAINS": "sub", "EQUAL_TO": "str"}
FILE_TYPE_MATCH_METHODS = {"REGEX": "reg", "EQUAL_TO": "end"}
_TOKEN_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,255}")
_FIELD_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")


class PolicyLines(Value):
    """HAProxy lines of a listener's L7 policies.

    ``condition_lines`` lines evaluate requests; ``action_lines`` lines (``use_backend``) apply the choice.
    """

    condition_lines: tuple[str, ...] = ()
    action_lines: tuple[str, ...] = ()


def redirect_pools(listener: ServiceListener) -> frozenset[str]:
    """Return the ids of the pools that policies redirect to, enabled or not, so that enabling a policy does not change
    the pool's rendering.
    """
    return frozenset(policy.redirect_pool_id for policy in listener.l7policies if policy.redirect_pool_id)


def pools_in_use(listener: ServiceListener) -> frozenset[str]:
    """Return the ids of the pools that policies redirect to which are enabled and have an enabled rule."""
    return frozenset(
        policy.redirect_pool_id for policy in listener.l7policies if policy.redirect_pool_id and _is_enabled(policy)
    )


def policy_lines(listener: ServiceListener, backends: Mapping[str, str]) -> PolicyLines:
    """Render all policies of a listener. ``backends``: ``{pool id: backend name}`` of enabled pools.

    Raises :class:`Unrenderable` for a listener without HTTP, and for a policy or rule that HAProxy cannot
    implement.
    """
    if listener.l7policies and listener_mode(listener) != "http":
        raise Unrenderable(f"listener {listener.id}: l7policies need protocol HTTP, not {listener.protocol}")
    found = [policy for policy in listener.l7policies if _is_enabled(policy) and _has_usable_target(policy, backends)]
    chooses = any(policy.action == "REDIRECT_TO_POOL" for policy in found)
    condition_lines = [f"acl {CHOSEN_POOL_ACL} var(txn.pool) -m found"] if chooses else []
    for place, policy in enumerate(found, start=1):
        condition_lines += _policy_lines(policy, place, backends, guard=(f"!{CHOSEN_POOL_ACL}",) if chooses else ())
    action_lines = (f"use_backend %[var(txn.pool)] if {CHOSEN_POOL_ACL}",) if chooses else ()
    return PolicyLines(condition_lines=tuple(condition_lines), action_lines=action_lines)


def _is_enabled(policy: ServiceL7Policy) -> bool:
    return policy.admin_state_up and any(rule.admin_state_up for rule in policy.rules)


def _has_usable_target(policy: ServiceL7Policy, backends: Mapping[str, str]) -> bool:
    return policy.action != "REDIRECT_TO_POOL" or (policy.redirect_pool_id or "") in backends


def _policy_lines(
    policy: ServiceL7Policy, place: int, backends: Mapping[str, str], *, guard: tuple[str, ...]
) -> Iterator[str]:
    rules = [rule for rule in policy.rules if rule.admin_state_up]
    if len(rules) > L7_RULES_MAX:
        raise Unrenderable(f"l7policy {policy.id}: {len(rules)} rules: at most {L7_RULES_MAX} are possible")
    names = [f"l7.{place}.{number}" for number in range(1, len(rules) + 1)]
    for name, rule in zip(names, rules, strict=True):
        yield _acl_line(name, rule)
    conditions = [f"!{name}" if rule.invert else name for name, rule in zip(names, rules, strict=True)]
    yield " ".join((_policy_action(policy, backends), "if", *guard, *conditions))


def _policy_action(policy: ServiceL7Policy, backends: Mapping[str, str]) -> str:
    if policy.action == "REJECT":
        return "http-request deny deny_status 403"
    if policy.action == "REDIRECT_TO_POOL":
        return f"http-request set-var(txn.pool) str({backends[policy.redirect_pool_id or '']})"
    if policy.action == "REDIRECT_TO_URL":
        return _redirect_action(policy, "location")
    if policy.action == "REDIRECT_PREFIX":
        return _redirect_action(policy, "prefix")
    raise Unrenderable(f"l7policy {policy.id}: action {policy.action} is not possible on HAProxy")


def _redirect_action(policy: ServiceL7Policy, how: str) -> str:
    url, code = redirect_url(policy), redirect_code(policy)
    return quote_line("http-request", "redirect", how, log_format_literal(url), "code", str(code))


# -- rules


def _acl_line(name: str, rule: ServiceL7Rule) -> str:
    render = _CONDITIONS_BY_TYPE.get(rule.type)
    if render is None:
        raise Unrenderable(f"l7rule {rule.id}: type {rule.type} is not possible on HAProxy")
    try:
        # "--" ends the flags
        *what, value = render(rule)
        return quote_line("acl", name, *what, "--", value)
    except ValueError as error:
        raise Unrenderable(f"l7rule {rule.id}: value {error}") from error


def _host_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    return ("req.hdr(host),host_only", "-i", "-m", _match_method(rule), _rule_value(rule))


def _path_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    return ("path", "-m", _match_method(rule), _rule_value(rule))


def _file_type_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    value = _rule_value(rule)
    if rule.compare_type == "EQUAL_TO" and not value.startswith("."):
        value = f".{value}"
    return ("path", "-m", _match_method(rule, FILE_TYPE_MATCH_METHODS), value)


def _header_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    return (f"req.hdr({_rule_key(rule)})", "-m", _match_method(rule), _rule_value(rule))


def _cookie_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    return (f"req.cook({_rule_key(rule)})", "-m", _match_method(rule), _rule_value(rule))


def _certificate_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    _require_equal_to(rule)
    check_compares_true(rule)
    return ("ssl_c_used", "-m", "int", "1")


def _verify_result_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    _require_equal_to(rule)
    return ("ssl_c_err", "-m", "int", verify_result_code(rule))


def _dn_field_condition(rule: ServiceL7Rule) -> tuple[str, ...]:
    if not _FIELD_PATTERN.fullmatch(rule.key or ""):
        raise Unrenderable(f"l7rule {rule.id}: key {rule.key!r} is no field of a distinguished name")
    return (f"ssl_c_s_dn({rule.key})", "-m", _match_method(rule), _rule_value(rule))


def _require_equal_to(rule: ServiceL7Rule) -> None:
    if rule.compare_type != "EQUAL_TO":
        raise Unrenderable(f"l7rule {rule.id}: compare_type {rule.compare_type}: EQUAL_TO is possible")


_CONDITIONS_BY_TYPE: dict[str, Callable[[ServiceL7Rule], tuple[str, ...]]] = {
    "HOST_NAME": _host_condition,
    "PATH": _path_condition,
    "FILE_TYPE": _file_type_condition,
    "HEADER": _header_condition,
    "COOKIE": _cookie_condition,
    "SSL_CONN_HAS_CERT": _certificate_condition,
    "SSL_VERIFY_RESULT": _verify_result_condition,
    "SSL_DN_FIELD": _dn_field_condition,
}


def _match_method(rule: ServiceL7Rule, possible: Mapping[str, str] = MATCH_METHODS) -> str:
    check_compare_type(rule, possible)
    return possible[rule.compare_type]


def _rule_key(rule: ServiceL7Rule) -> str:
    if not _TOKEN_PATTERN.fullmatch(rule.key or ""):
        raise Unrenderable(f"l7rule {rule.id}: key {rule.key!r} is no name of a header or cookie")
    return quote_argument(rule.key or "")


def _rule_value(rule: ServiceL7Rule) -> str:
    """Return the value with which an L7 rule compares: a regular expression as it is, else without enclosing
    quotes. Raises :class:`Unrenderable` for a text that is no regular expression.
    """
    if rule.compare_type == "REGEX":
        check_regex(rule)
        return rule.value
    return unquoted_value(rule)

"""Octavia's rules between attributes of L7 policies and rules: the same for creates and changes.

A failed check raises :class:`Invalid` (400), whose text names the attributes or values that are not allowed.
"""

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from msgspec.structs import replace

from evenkeel.api.responses.errors import invalid_input, shorten
from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import L7_PROTOCOLS, L7_TARGETS, PROMETHEUS_PROTOCOL, L7Policy, L7Rule
from evenkeel.core.resources.patterns import ALLOWED_WORDS, PatternRefused, check_pattern
from evenkeel.core.resources.protocol_pairs import children_not_allowed_error

DEFAULT_REDIRECT_CODE = 302
KEYED = frozenset({"HEADER", "COOKIE", "SSL_DN_FIELD"})
"""Types of rules that use ``key``."""

_VISIBLE_PATTERN = re.compile(r"[\x21-\x7e]+")
_QUOTED_PATTERN = re.compile(r'"[\x20-\x7e]+"')
_COOKIE_VALUE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")
_DN_FIELD = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


def check_l7_listener(protocol: str) -> None:
    """Check that the listener's protocol allows L7 policies: only listeners that parse requests do. Raises
    :class:`Invalid`.
    """
    if protocol == PROMETHEUS_PROTOCOL:
        raise children_not_allowed_error()
    if protocol not in L7_PROTOCOLS:
        allowed = ", ".join(sorted(L7_PROTOCOLS))
        raise Invalid(
            f"Validation failure: L7 policies are only valid for listeners of protocol {allowed}, not {protocol}."
        )


def check_action_supported(action: str) -> None:
    """Check that ``action``, of a policy that is created with a new pool, redirects to a pool. Raises :class:`Invalid`
    if it does not.
    """
    if action != "REDIRECT_TO_POOL":
        raise Invalid(f"Invalid L7 Policy arguments: redirect_pool needs action REDIRECT_TO_POOL, not {action}.")


def normalise_targets(policy: L7Policy) -> L7Policy:
    """Return the policy with only the target that its action needs, and with a code if it redirects to a URL
    (302 by default). Other targets are dropped, like in Octavia.
    """
    wanted = L7_TARGETS.get(policy.action)
    targets = {name: getattr(policy, name) if name == wanted else None for name in L7_TARGETS.values()}
    return replace(policy, redirect_http_code=_redirect_code(policy), **targets)


def add_default_redirect_code(policy: L7Policy) -> L7Policy:
    """Return the policy with all its targets, like in LBaaS v2, and with a code if it redirects to a URL (302
    by default), else without.
    """
    return replace(policy, redirect_http_code=_redirect_code(policy))


def _redirect_code(policy: L7Policy) -> int | None:
    redirects = L7_TARGETS.get(policy.action) in ("redirect_url", "redirect_prefix")
    return (policy.redirect_http_code or DEFAULT_REDIRECT_CODE) if redirects else None


_INVALID_RULE_PREFIX = "Invalid L7 Rule: "
_WRONG_COMPARE = {
    "SSL_CONN_HAS_CERT": "L7rule type SSL_CONN_HAS_CERT only supports the EQUAL_TO compare type.",
    "SSL_VERIFY_RESULT": "L7rule type SSL_VERIFY_RESULT only supports the EQUAL_TO compare type.",
}
"""Octavia's error text for a wrong compare type, by rule type, where it has one."""


def check_l7policy(policy: L7Policy) -> None:
    """Check that the target that an L7 policy's action needs is set, and that URLs are valid. Raises
    :class:`Invalid`.
    """
    wanted = L7_TARGETS.get(policy.action)
    if wanted is not None and getattr(policy, wanted) is None:
        named = "redirect_pool_id or redirect_pool" if wanted == "redirect_pool_id" else wanted
        raise Invalid(f"Invalid L7 Policy arguments: {named} must not be None with action {policy.action}.")
    for name in ("redirect_url", "redirect_prefix"):
        if (url := getattr(policy, name)) is not None:
            _check_url(name, url)


def _check_url(field: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        # Reading the port raises ValueError for a text, or for a number above 65535.
        good = bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise invalid_input(field, url, "Value must be a valid URL string: http or https.")


def check_l7rule(rule: L7Rule) -> None:
    """Check that an L7 rule's key, compare type and value are valid for its type. Raises :class:`Invalid`."""
    if rule.type in KEYED and rule.key is None:
        what = "L7 rule type requires a key"
        if rule.type == "SSL_DN_FIELD":
            what = "L7rule type SSL_DN_FIELD needs to specify a key and a value."
        raise _rule_error(f"{_INVALID_RULE_PREFIX}{what} ({rule.type})", code="l7rule_key_missing")
    if rule.type not in KEYED and rule.key is not None:
        raise _rule_error(f"L7 rule type {rule.type} does not use the key field; it is '{shorten(rule.key)}'")
    _CHECKS_BY_TYPE[rule.type](rule)


def _check_text_value(rule: L7Rule) -> None:
    if rule.compare_type == "REGEX":
        _check_regex(rule.value)
    elif not _VISIBLE_PATTERN.fullmatch(rule.value) and not _QUOTED_PATTERN.fullmatch(rule.value):
        allowed = "visible ASCII characters; with blanks between them in double quotes"
        raise _invalid_rule_value(rule, "Invalid characters in comparison value", allowed, code="l7rule_value")


def _check_file_type_rule(rule: L7Rule) -> None:
    _check_compare_type(rule, "REGEX", "EQUAL_TO")
    _check_text_value(rule)


def _check_cookie_rule(rule: L7Rule) -> None:
    if rule.compare_type == "REGEX":
        _check_regex(rule.value)
    elif not _COOKIE_VALUE.fullmatch(rule.value):
        allowed = 'visible ASCII characters but for ", comma, semicolon and backslash'
        raise _invalid_rule_value(rule, "Invalid characters in cookie value", allowed, code="l7rule_cookie_value")


def _check_ssl_conn_has_cert_rule(rule: L7Rule) -> None:
    _check_compare_type(rule, "EQUAL_TO")
    if rule.value.lower() != "true":
        raise _invalid_rule_value(
            rule, f"{_INVALID_RULE_PREFIX}L7rule value {shorten(rule.value)} is not a boolean True string.", "true"
        )


def _check_verify_result_rule(rule: L7Rule) -> None:
    _check_compare_type(rule, "EQUAL_TO")
    if not (rule.value.isascii() and rule.value.isdigit()):
        text = f"{_INVALID_RULE_PREFIX}L7rule type SSL_VERIFY_RESULT needs a int value, which is >= 0"
        raise _invalid_rule_value(rule, text, "a whole number from 0 on")


def _check_dn_field_rule(rule: L7Rule) -> None:
    if rule.key is None or not _DN_FIELD.fullmatch(rule.key):
        raise _rule_error(f"key '{shorten(rule.key)}' is no field of a distinguished name")
    _check_text_value(rule)


_CHECKS_BY_TYPE: dict[str, Callable[[L7Rule], None]] = {
    "HOST_NAME": _check_text_value,
    "PATH": _check_text_value,
    "HEADER": _check_text_value,
    "COOKIE": _check_cookie_rule,
    "FILE_TYPE": _check_file_type_rule,
    "SSL_CONN_HAS_CERT": _check_ssl_conn_has_cert_rule,
    "SSL_VERIFY_RESULT": _check_verify_result_rule,
    "SSL_DN_FIELD": _check_dn_field_rule,
}


def _check_compare_type(rule: L7Rule, *allowed: str) -> None:
    if rule.compare_type not in allowed:
        raise _rule_error(
            f"{_INVALID_RULE_PREFIX}{_WRONG_COMPARE.get(rule.type, 'invalid comparison type for rule type')} "
            f"{rule.type} takes {' or '.join(allowed)}, not {rule.compare_type}",
            code="l7rule_compare_type",
        )


def _check_regex(text: str) -> None:
    try:
        check_pattern(text)
    except PatternRefused as error:
        raise _rule_error(
            f"value '{shorten(text)}' is no regular expression that is taken: {error}. Allowed: {ALLOWED_WORDS}",
            code="l7rule_regex",
        ) from error


def _invalid_rule_value(rule: L7Rule, problem: str, allowed: str, *, code: str | None = None) -> Invalid:
    """Build the error for a rule's value. ``problem``: sentence in Octavia's words."""
    text = f"{problem} (value '{shorten(rule.value)}' of rule type {rule.type}; allowed: {allowed})"
    return _rule_error(text, code=code)


def _rule_error(text: str, *, code: str | None = None) -> Invalid:
    return Invalid(f"Error parsing L7Rule: {text}.", code=code)

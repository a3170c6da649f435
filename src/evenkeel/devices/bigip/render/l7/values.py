"""Validates L7 rules, and converts them to the comparisons that a BIG-IP makes. Pure.

===================  ==================================================================================
Octavia              compared on a BIG-IP
===================  ==================================================================================
HOST_NAME            the Host header without port, case-insensitive
PATH                 the path as sent, without the query
FILE_TYPE            EQUAL_TO: the path ends with ``.`` and the value; REGEX: the whole path
HEADER               each comma-separated value of each header of that name
COOKIE               each cookie of that name
SSL_CONN_HAS_CERT    whether the client sent a certificate; this and the next two never match without TLS
SSL_VERIFY_RESULT    OpenSSL's number; 0 also without a certificate
SSL_DN_FIELD         the field of the certificate's subject, the first one in the certificate
===================  ==================================================================================

Comparisons are case-sensitive, except of host names and by regular expressions that begin with ``(?i)``.
"""

import re

from evenkeel.core.devices.service import ServiceL7Rule
from evenkeel.core.kit.values import Value
from evenkeel.devices.bigip.capabilities import CAPABILITIES
from evenkeel.devices.bigip.render.l7.regexes import RegexNotPossible, count_atoms, tcl_regex
from evenkeel.devices.errors import Unrenderable
from evenkeel.devices.l7 import check_compare_type, check_compares_true, check_regex, unquoted_value, verify_result_code

COMPARISONS = {
    "EQUAL_TO": "equal",
    "STARTS_WITH": "starts",
    "ENDS_WITH": "ends",
    "CONTAINS": "contains",
    "REGEX": "regex",
}
"""``{compare type of the API: word in the iRule}``."""
OPERANDS = {
    "HOST_NAME": "host",
    "PATH": "path",
    "FILE_TYPE": "path",
    "HEADER": "header",
    "COOKIE": "cookie",
    "SSL_CONN_HAS_CERT": "certificate",
    "SSL_VERIFY_RESULT": "verification",
    "SSL_DN_FIELD": "subject",
}
"""``{type of an L7 rule: word in the iRule for what the rule compares}``."""
RULE_TYPES_WITH_KEY = frozenset({"HEADER", "COOKIE", "SSL_DN_FIELD"})
RULE_TYPES_ABOUT_CERTIFICATES = frozenset({"SSL_CONN_HAS_CERT", "SSL_VERIFY_RESULT", "SSL_DN_FIELD"})
_COMPARE_TYPES_BY_RULE_TYPE = {
    "FILE_TYPE": ("REGEX", "EQUAL_TO"),
    "SSL_CONN_HAS_CERT": ("EQUAL_TO",),
    "SSL_VERIFY_RESULT": ("EQUAL_TO",),
}
_TOKEN_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~][A-Za-z0-9!#$%&'*+.^_`|~-]{0,254}")


class Comparison(Value):
    """A validated L7 rule. ``operand`` and ``operator``: words of :data:`OPERANDS` and :data:`COMPARISONS`."""

    operand: str
    operator: str
    value: str
    key: str = ""
    invert: bool = False


def parse_comparison(rule: ServiceL7Rule) -> Comparison:
    """Validate the rule and return the comparison that the device makes. Raises :class:`Unrenderable` for a
    type, compare type, key or value that is not possible on a BIG-IP.
    """
    if rule.type not in OPERANDS:
        raise Unrenderable(f"l7rule {rule.id}: type {rule.type} is not possible on a BIG-IP")
    check_compare_type(rule, _COMPARE_TYPES_BY_RULE_TYPE.get(rule.type, tuple(COMPARISONS)))
    return Comparison(
        operand=OPERANDS[rule.type],
        operator="ends"
        if (rule.type, rule.compare_type) == ("FILE_TYPE", "EQUAL_TO")
        else COMPARISONS[rule.compare_type],
        value=_rule_value(rule),
        key=_rule_key(rule) if rule.type in RULE_TYPES_WITH_KEY else "",
        invert=rule.invert,
    )


def _rule_value(rule: ServiceL7Rule) -> str:
    if rule.type == "SSL_CONN_HAS_CERT":
        check_compares_true(rule)
        return "1"
    if rule.type == "SSL_VERIFY_RESULT":
        return verify_result_code(rule)
    if rule.compare_type == "REGEX":
        return _rule_regex(rule)
    value = unquoted_value(rule)
    if not 1 <= len(value) <= 255 or any(ord(char) < 32 or ord(char) == 127 for char in value):
        raise Unrenderable(f"l7rule {rule.id}: value {value!r}: 1 to 255 characters, none a control character")
    if rule.type == "FILE_TYPE" and not value.startswith("."):
        return f".{value}"
    return value.lower() if rule.type == "HOST_NAME" else value


def _rule_regex(rule: ServiceL7Rule) -> str:
    check_regex(rule)
    try:
        found = tcl_regex(rule.value)
    except RecursionError as error:
        raise Unrenderable(f"l7rule {rule.id}: value {rule.value!r} is no regular expression") from error
    except RegexNotPossible as error:
        raise Unrenderable(f"l7rule {rule.id}: value {rule.value!r} is not possible on a BIG-IP: {error}") from error
    # Host names are compared regardless of case, and Tcl takes the option only at the beginning.
    return f"(?i){found.removeprefix('(?i)')}" if rule.type == "HOST_NAME" else found


def regex_atoms(rule: ServiceL7Rule) -> int:
    """Return the size, in atoms, of the rule's regular expression; 0 for other comparisons."""
    return count_atoms(rule.value) if rule.compare_type == "REGEX" else 0


def _rule_key(rule: ServiceL7Rule) -> str:
    key = rule.key or ""
    if rule.type == "SSL_DN_FIELD":
        if key.upper() not in CAPABILITIES.l7rule_dn_fields:
            allowed = ", ".join(CAPABILITIES.l7rule_dn_fields)
            raise Unrenderable(f"l7rule {rule.id}: key {key!r}: {allowed} are possible on a BIG-IP")
        return key.upper()
    if not _TOKEN_PATTERN.fullmatch(key):
        raise Unrenderable(
            f"l7rule {rule.id}: key {key!r} is no name of a header or cookie that a BIG-IP reads; it begins with no '-'"
        )
    return key

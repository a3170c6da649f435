"""Checks of L7 policies and rules that are the same for every device type. Pure.

What no device can implement raises :class:`~evenkeel.devices.errors.Unrenderable`, naming object, field and
value.
"""

import re
import warnings
from collections.abc import Iterable

from evenkeel.core.devices.service import ServiceL7Policy, ServiceL7Rule
from evenkeel.devices.errors import Unrenderable

REDIRECT_CODES = frozenset({301, 302, 303, 307, 308})
_URL_PATTERN = re.compile(r"https?://[A-Za-z0-9._~!$&'()*+,;=:@/?#\[\]%-]{1,255}", re.IGNORECASE)
_RESULT_PATTERN = re.compile(r"[0-9]{1,9}")
_QUOTED_PATTERN = re.compile(r'"([^"]+)"')


def redirect_code(policy: ServiceL7Policy) -> int:
    """Return the HTTP status code of a redirecting policy, 302 by default. Raises :class:`Unrenderable` for a
    code that is not in ``REDIRECT_CODES``.
    """
    code = policy.redirect_http_code or 302
    if code not in REDIRECT_CODES:
        allowed = ", ".join(map(str, sorted(REDIRECT_CODES)))
        raise Unrenderable(f"l7policy {policy.id}: redirect_http_code {code}: {allowed} are possible")
    return code


def redirect_url(policy: ServiceL7Policy) -> str:
    """Return the URL, or for ``REDIRECT_PREFIX`` the prefix, of a redirecting policy. Raises
    :class:`Unrenderable` if it is no http or https URL.
    """
    field = "redirect_prefix" if policy.action == "REDIRECT_PREFIX" else "redirect_url"
    url = policy.redirect_prefix if policy.action == "REDIRECT_PREFIX" else policy.redirect_url
    if url is None or not _URL_PATTERN.fullmatch(url):
        raise Unrenderable(f"l7policy {policy.id}: {field} {url!r} is no http or https URL")
    return url


def check_compare_type(rule: ServiceL7Rule, possible: Iterable[str]) -> None:
    """Raise :class:`Unrenderable` for a compare type that is not in ``possible`` for the rule's type."""
    allowed = tuple(possible)
    if rule.compare_type not in allowed:
        raise Unrenderable(
            f"l7rule {rule.id}: compare_type {rule.compare_type} of type {rule.type}: {', '.join(allowed)} are possible"
        )


def check_compares_true(rule: ServiceL7Rule) -> None:
    """Raise :class:`Unrenderable` if the rule, which must be of type SSL_CONN_HAS_CERT, compares with
    anything but true. Case does not matter.
    """
    if rule.value.lower() != "true":
        raise Unrenderable(f"l7rule {rule.id}: value {rule.value!r}: true is possible")


def verify_result_code(rule: ServiceL7Rule) -> str:
    """Return the OpenSSL verification code that a rule of type SSL_VERIFY_RESULT compares with, without
    leading zeros. Raises :class:`Unrenderable` unless the value is 0 to 999999999.
    """
    if not _RESULT_PATTERN.fullmatch(rule.value):
        raise Unrenderable(f"l7rule {rule.id}: value {rule.value!r}: 0 to 999999999 are possible")
    return str(int(rule.value))


def unquoted_value(rule: ServiceL7Rule) -> str:
    """Return the rule's value without enclosing double quotes, which Octavia requires around a value with
    spaces.
    """
    quoted = _QUOTED_PATTERN.fullmatch(rule.value)
    return quoted[1] if quoted else rule.value


def check_regex(rule: ServiceL7Rule) -> None:
    """Raise :class:`Unrenderable` if the rule's value is no regular expression by Python's rules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # FutureWarning about syntax that may change its meaning
            re.compile(rule.value)
    except (re.error, OverflowError, RecursionError) as error:
        # OverflowError: a count is too large; RecursionError: groups are nested too deeply.
        raise Unrenderable(f"l7rule {rule.id}: value {rule.value!r} is no regular expression") from error

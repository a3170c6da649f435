"""Checks of tenants' regular expressions, which a device may match against every request. Pure.

A device aborts a match that costs too much and treats it as *no match*: HAProxy at PCRE's match limit, and with PCRE's
JIT compiler when its stack of 32 KiB is full, which ``(a|b)*`` fills with 2,000 characters. A REJECT policy would then
let the request pass. So only expressions are accepted that stay below these limits for every request.

This package has its own parser. Python's parses another syntax than PCRE (``[[:alpha:]]`` is one class in PCRE, a class
and a bracket in Python), and its tree is not public; syntax that they interpret differently is refused here.
"""

from evenkeel.core.resources.patterns.costs import check_costs
from evenkeel.core.resources.patterns.limits import PatternLimits, limit_problems
from evenkeel.core.resources.patterns.parser import parse
from evenkeel.core.resources.patterns.tree import ALLOWED_WORDS, PatternRefused

__all__ = ["ALLOWED_WORDS", "PatternLimits", "PatternRefused", "check_pattern", "limit_problems"]


def check_pattern(text: str) -> None:
    """Check that a tenant's regular expression is accepted: its syntax, its size and its cost. Raises
    :class:`PatternRefused` with the problem; :data:`ALLOWED_WORDS` lists what is allowed.
    """
    check_costs(parse(text))

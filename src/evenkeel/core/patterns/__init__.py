"""Regular expressions of tenants that a device may hold against every request. Pure.

A device gives up a match that costs too much, and takes it for *no match*: HAProxy at PCRE's match limit, and with
PCRE's compiler (JIT) when its stack of 32 KiB is full, which ``(a|b)*`` fills with 2,000 characters. A REJECT would
then let the request pass. So only expressions are taken that no request, of whatever content, makes that dear.

They are read by a parser of our own. Python's reads another language than PCRE (``[[:alpha:]]`` is one class to the
one, a class and a bracket to the other), and its tree is not public; what both might read otherwise is refused here.
"""

from evenkeel.core.patterns.costs import check_costs
from evenkeel.core.patterns.parser import parse
from evenkeel.core.patterns.tree import ALLOWED_WORDS, PatternRefused

__all__ = ["ALLOWED_WORDS", "PatternRefused", "check_pattern"]


def check_pattern(text: str) -> None:
    """Raises :class:`PatternRefused` saying what is wrong; :data:`ALLOWED_WORDS` says what is allowed."""
    check_costs(parse(text))

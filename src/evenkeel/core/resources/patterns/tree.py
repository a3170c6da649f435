"""Nodes of a parsed expression. A set of characters is an integer with a bit for each byte and one for the end of the
text.
"""

from evenkeel.core.kit.values import Value

END = 1 << 256
"""Bit for the end of the text, as a character after the last byte."""
ANY = (1 << 256) - 1
CHARACTERS_MAX = 255
COUNT_MAX = 1000
"""Largest count of a counted repetition of one character."""
GROUP_COUNT_MAX = 20
"""Largest count of a counted repetition of a group."""
ALLOWED_WORDS = (
    "characters, classes, groups, alternatives, ^, $, \\b, \\d, \\w, \\s, look-ahead; *, + and {n,} after one "
    f"character or class; groups repeated at most {GROUP_COUNT_MAX} times, characters {COUNT_MAX}; one repetition at "
    "most of which a request may choose the length, as of .* before what .* matches too"
)


class PatternRefused(ValueError):
    """A tenant's expression is refused; the exception's text gives the reason."""


class CharacterClass(Value):
    """One character out of a set. ``mask``: the set, a bit for each byte."""

    mask: int


class Assertion(Value):
    """A condition on a position that consumes no character. ``mask``: characters that may come next where it holds."""

    mask: int = ANY | END


class Quantifier(Value):
    """A repetition of a node, ``minimum`` to ``maximum`` times; ``maximum`` None: without limit."""

    body: "Node"
    minimum: int
    maximum: int | None


class Sequence(Value):
    """Nodes that match one after the other."""

    items: tuple["Node", ...]


class Alternation(Value):
    """Alternative nodes, of which one matches."""

    branches: tuple["Node", ...]


class Lookahead(Value):
    """A positive or negative look-ahead: a condition on the text that follows, which consumes no character."""

    body: "Node"


Node = CharacterClass | Assertion | Quantifier | Sequence | Alternation | Lookahead

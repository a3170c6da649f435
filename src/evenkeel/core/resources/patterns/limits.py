"""Limits of a device type for regular expressions that the API accepts: its engine does not match all of them, or not
in a bounded time.
"""

from collections.abc import Iterator

from evenkeel.core.kit.values import Value
from evenkeel.core.resources.patterns.costs import SIZE_MAX, expanded_size
from evenkeel.core.resources.patterns.parser import parse
from evenkeel.core.resources.patterns.tree import COUNT_MAX, Alternation, Lookahead, Node, Quantifier, Sequence


class PatternLimits(Value):
    """Limits of a device type for regular expressions. The defaults are those of the API."""

    look_ahead: bool = True
    count_max: int = COUNT_MAX
    """Largest count of a counted repetition."""
    size_max: int = SIZE_MAX
    """Most characters of an expression, with all counted repetitions expanded."""


def limit_problems(text: str, limits: PatternLimits) -> Iterator[str]:
    """Yield error texts about the parts of an expression that are beyond the limits of a device type. Raises
    :class:`PatternRefused` for an expression that the API does not accept.
    """
    tree = parse(text)
    nodes = list(_all_nodes(tree))
    if not limits.look_ahead and any(isinstance(node, Lookahead) for node in nodes):
        yield "it has a look-ahead"
    counts = [max(node.minimum, node.maximum or 0) for node in nodes if isinstance(node, Quantifier)]
    if max(counts, default=0) > limits.count_max:
        yield f"something is repeated {max(counts)} times; at most {limits.count_max} is allowed"
    if (size := expanded_size(tree)) > limits.size_max:
        yield f"with its repetitions written out it has {size} characters; at most {limits.size_max} are allowed"


def _all_nodes(node: Node) -> Iterator[Node]:
    yield node
    inner: tuple[Node, ...] = ()
    match node:
        case Quantifier() | Lookahead():
            inner = (node.body,)
        case Sequence():
            inner = node.items
        case Alternation():
            inner = node.branches
    for each in inner:
        yield from _all_nodes(each)

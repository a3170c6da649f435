"""Names of rules in routes and policy files. Rules that Octavia has, have Octavia's names."""

from collections.abc import Callable

OCTAVIA = "os_load-balancer_api"
OWN = "evenkeel"

PUBLIC = "evenkeel:public"
"""Name for routes without authentication. It is not a rule, so policy files cannot change it."""

GLOBAL_SUFFIX = "-global"
"""Suffix of the rule that allows a list to show all projects' objects."""


def own_rule(kind: str, action: str) -> str:
    """Return the policy rule's name for a route that Octavia does not have, such as ``evenkeel:agent:get``."""
    return f"{OWN}:{kind}:{action}"


UNLIMITED_RATE = own_rule("request", "unlimited")
"""Name of the rule that allows callers to exceed the rate limit."""


def octavia_rule(kind: str, action: str) -> str:
    """Return the name of Octavia's policy rule for an action, such as ``os_load-balancer_api:listener:get_one``."""
    return f"{OCTAVIA}:{kind}:{action}"


_OCTAVIA_ACTIONS = {"list": "get_all", "show": "get_one", "create": "post", "change": "put"}
_OWN_ACTIONS = {"list": "get", "show": "get", "change": "update"}


def octavia_rules(kind: str) -> Callable[[str], str]:
    """Return a function from an operation on ``kind`` to the name of Octavia's policy rule: list, show,
    create and change are converted to Octavia's words, others (delete, failover) are used as given.
    """
    return lambda operation: octavia_rule(kind, _OCTAVIA_ACTIONS.get(operation, operation))


def own_rules(kind: str) -> Callable[[str], str]:
    """Return a function from an operation on ``kind`` to the name of Even Keel's own policy rule; list and
    show have the same rule, ``get``.
    """
    return lambda operation: own_rule(kind, _OWN_ACTIONS.get(operation, operation))

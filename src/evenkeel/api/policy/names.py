"""Names of rules, as routes and operators' policy files write them. Octavia's are Octavia's."""

OCTAVIA = "os_load-balancer_api"
OWN = "evenkeel"

PUBLIC = "evenkeel:public"
"""Of routes that everybody may ask without logging in. It is no rule, so that no policy file can close or widen it."""

GLOBAL_SUFFIX = "-global"
"""Of the rule beside ``…:get_all`` that lets a list show every project's."""


def own(kind: str, action: str) -> str:
    """The rule for a route that Octavia does not have."""
    return f"{OWN}:{kind}:{action}"


UNHURRIED = own("request", "unlimited")
"""Of callers to whom the rate limit does not apply."""


def octavia(kind: str, action: str) -> str:
    """Octavia's rule for an action on a kind of objects, such as ``listener``, ``get_one``."""
    return f"{OCTAVIA}:{kind}:{action}"

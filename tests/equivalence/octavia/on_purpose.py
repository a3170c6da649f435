"""Why clients or members see something else of our load balancers than of Octavia's: each has a row in
``docs/reference/differences.md``, "Traffic".
"""

from collections.abc import Callable, Mapping

from evenkeel.core.service import ServiceDefinition, ServiceListener, ServicePool


def _idle_pool(tree: ServiceDefinition, found: str) -> bool:
    """A pool whose members are checked, although no listener that is up uses it."""
    if not found.startswith("checks at"):
        return False
    up = [one for one in tree.listeners if one.admin_state_up and tree.admin_state_up]
    used = {one.default_pool_id for one in up}
    used |= {each.redirect_pool_id for one in up for each in one.l7policies if each.admin_state_up}
    return any(pool.id not in used or not pool.admin_state_up for pool in tree.pools)


def _http_pool_behind_tcp(tree: ServiceDefinition, found: str) -> bool:
    """A listener that forwards bytes, to a pool of protocol HTTP."""
    listener = _listener(tree, found)
    pool = _default_pool(tree, listener)
    return bool(pool and listener and listener.protocol == "TCP" and pool.protocol == "HTTP")


def _other_clients(tree: ServiceDefinition, found: str) -> bool:
    listener = _listener(tree, found)
    return bool(listener and listener.allowed_cidrs and "closed" in found)


REASONS: Mapping[str, Callable[[ServiceDefinition, str], bool]] = {
    "checks of members do not depend on who uses their pool": _idle_pool,
    "a TCP listener forwards bytes, whatever its pool's protocol is": _http_pool_behind_tcp,
    "allowed_cidrs are HAProxy's; in Octavia security groups' in front of it": _other_clients,
}


def reason(tree: ServiceDefinition, found: str) -> str:
    """Why a difference is on purpose; empty: it is not."""
    return next((text for text, applies in REASONS.items() if applies(tree, found)), "")


def _listener(tree: ServiceDefinition, found: str) -> ServiceListener | None:
    return next((one for one in tree.listeners if found.startswith(f"{one.id}:")), None)


def _default_pool(tree: ServiceDefinition, listener: ServiceListener | None) -> ServicePool | None:
    return next((one for one in tree.pools if listener and one.id == listener.default_pool_id), None)

"""Which protocols of listeners and pools fit each other, with the errors in Octavia's words. Pure."""

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.resources.model import POOL_PROTOCOLS_OF_LISTENER, PROMETHEUS_PROTOCOL


def children_not_allowed_error() -> Invalid:
    """Return the error for a pool or policy of a listener that cannot have any."""
    return Invalid(f"Protocol {PROMETHEUS_PROTOCOL} listeners cannot have child objects.", code="protocol_mismatch")


def check_protocol_pair(listener_protocol: str, pool_protocol: str) -> None:
    """Check that a listener with ``listener_protocol`` may send to a pool with ``pool_protocol``. Raises
    :class:`Invalid`.
    """
    if listener_protocol == PROMETHEUS_PROTOCOL:
        raise children_not_allowed_error()
    allowed = POOL_PROTOCOLS_OF_LISTENER[listener_protocol]
    if pool_protocol not in allowed:
        raise Invalid(
            f"Validation failure: The pool protocol '{pool_protocol}' is invalid while the listener protocol is "
            f"'{listener_protocol}'. Allowed: {', '.join(sorted(allowed))}.",
            code="protocol_mismatch",
        )

"""Values of listeners that all renderers compute alike. Pure."""

import ipaddress

from evenkeel.core.devices.service import ServiceListener
from evenkeel.devices.errors import Unrenderable


def allowed_networks(listener: ServiceListener) -> list[str]:
    """Return the networks of ``allowed_cidrs`` in canonical form, sorted, so that another order is no change.

    Raises :class:`Unrenderable` for a text that is no network.
    """
    return sorted({_canonical_network(listener, text) for text in listener.allowed_cidrs})


def _canonical_network(listener: ServiceListener, text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError as error:
        raise Unrenderable(f"listener {listener.id}: allowed_cidrs: {text!r} is no network") from error

"""Builds an iRule from parts, each made by the module of one concern. Pure.

A part has fixed lines only: nothing in them is text from a tenant. A tenant's values reach an iRule as a number of a
fixed set or as a record of a data group.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum

from evenkeel.core.kit.values import Value

EVENTS = (
    "RULE_INIT",
    "CLIENT_ACCEPTED",
    "CLIENT_DATA",
    "CLIENTSSL_CLIENTHELLO",
    "CLIENTSSL_HANDSHAKE",
    "CLIENTSSL_CLIENTCERT",
    "HTTP_REQUEST",
    "LB_SELECTED",
    "LB_FAILED",
    "SERVER_CONNECTED",
    "SERVERSSL_CLIENTHELLO_SEND",
    "SERVERSSL_HANDSHAKE",
    "HTTP_REQUEST_SEND",
    "HTTP_RESPONSE",
    "CLIENT_CLOSED",
)
"""Events of an iRule in the order in which they happen on a connection; the code has them in this order."""
_POSITIONS_OF_EVENTS = {event: place for place, event in enumerate(EVENTS)}


class Order(IntEnum):
    """Order of the parts within an event. A ``return`` in one part ends the event for all later parts."""

    CHALLENGE = 5
    """Parts that answer a certificate authority."""
    ADMISSION = 10
    """Parts that refuse clients."""
    CLEANING = 20
    """Parts that remove headers that clients must not send."""
    ROUTING = 50
    """Parts that choose a pool, or answer and return; requests are unchanged before them, except for cleaning."""
    PERSISTENCE = 60
    INSERTION = 70
    """Parts that add information for members."""


class RulePart(Value):
    """Lines for the body of one event's handler, with their indentation."""

    event: str
    order: Order
    lines: tuple[str, ...]


def code_lines(parts: Iterable[RulePart]) -> Iterator[str]:
    """Yield the lines of the iRule: one handler per event, with its parts in their order; equal orders stay as given.

    Raises :class:`KeyError` for an event that is not in :data:`EVENTS`.
    """
    found = sorted(parts, key=lambda part: (_POSITIONS_OF_EVENTS[part.event], part.order))
    for event in EVENTS:
        lines = [line for part in found if part.event == event for line in part.lines]
        if lines:
            yield f"when {event} {{"
            yield from lines
            yield "}"

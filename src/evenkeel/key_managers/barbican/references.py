"""References to secrets and containers. Pure."""

import re
from typing import Literal, NamedTuple

_REFERENCE = re.compile(
    r"https?://[^/?#\s]{1,200}(?:/[^?#\s]{0,100})?/v1/(?P<kind>secrets|containers)/"
    r"(?P<id>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})/?"
)


class BarbicanReference(NamedTuple):
    """What a reference names. The host in it is passed over: a tenant wrote it, and our login goes to the configured
    Barbican only."""

    kind: Literal["secrets", "containers"]
    id: str

    @property
    def path(self) -> str:
        """Below Barbican's endpoint."""
        return f"/v1/{self.kind}/{self.id}"


def parsed_reference(reference: str) -> BarbicanReference | None:
    """None for what is no reference to Barbican."""
    found = _REFERENCE.fullmatch(reference)
    if found is None:
        return None
    return BarbicanReference("secrets" if found["kind"] == "secrets" else "containers", found["id"].lower())

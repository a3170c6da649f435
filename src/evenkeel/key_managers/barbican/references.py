"""Parses references to Barbican's secrets and containers. Pure."""

import re
from typing import Literal, NamedTuple

_REFERENCE_PATTERN = re.compile(
    r"https?://[^/?#\s]{1,200}(?:/[^?#\s]{0,100})?/v1/(?P<kind>secrets|containers)/"
    r"(?P<id>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})/?"
)


class BarbicanReference(NamedTuple):
    """The secret or container that a reference names. The reference's host is ignored: a tenant wrote it, and our
    credentials must be sent only to the configured Barbican.
    """

    kind: Literal["secrets", "containers"]
    id: str

    @property
    def path(self) -> str:
        """URL path of the secret or container below Barbican's endpoint."""
        return f"/v1/{self.kind}/{self.id}"


def parse_barbican_reference(reference: str) -> BarbicanReference | None:
    """Parse a URL of a secret or container in Barbican; None if the text is no such URL."""
    found = _REFERENCE_PATTERN.fullmatch(reference)
    if found is None:
        return None
    return BarbicanReference("secrets" if found["kind"] == "secrets" else "containers", found["id"].lower())

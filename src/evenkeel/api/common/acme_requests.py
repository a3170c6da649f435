"""Settings of requests for certificates by names."""

from typing import NamedTuple

from evenkeel.core.ports import KeyPairMaker


class AcmeRequests(NamedTuple):
    """How certificates are requested from the authority by ACME."""

    maker: KeyPairMaker
    """Makes self-signed certificates for the time until a certificate is issued."""
    names_max: int
    """Limit of names of a certificate."""
    per_project_max: int
    """Limit of requested certificates of a project."""

"""Settings of requests for certificates by names."""

from collections.abc import Sequence
from typing import NamedTuple

from evenkeel.core.ports import KeyPairMaker
from evenkeel.core.tls.acme.authorities import AuthorityScope
from evenkeel.core.tls.acme.zones import ZoneScope

SELF_SIGNED_DAYS = 365
"""Lifetime, in days, of self-signed certificates that listeners use until the authority has issued a certificate."""


class AcmeRequests(NamedTuple):
    """Settings of certificate requests to authorities by ACME."""

    maker: KeyPairMaker
    """Makes self-signed certificates for the time until a certificate is issued."""
    authorities: Sequence[AuthorityScope]
    names_max: int
    """Most DNS names of a requested certificate."""
    per_project_max: int
    """Limit of requested certificates of a project."""
    zones: Sequence[ZoneScope] = ()
    """DNS zones in which the controllers can prove names, also wildcards, to an authority."""

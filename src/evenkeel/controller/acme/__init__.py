"""Certificates by ACME: controllers take steps of orders, one controller at a time for each certificate."""

from evenkeel.controller.acme.dns_proof import ConfiguredZone
from evenkeel.controller.acme.issuing import AcmeDependencies, AcmeIssuing, AcmeSettings, ConfiguredAuthority
from evenkeel.controller.acme.waits import AwaitedCertificates

__all__ = [
    "AcmeDependencies",
    "AcmeIssuing",
    "AcmeSettings",
    "AwaitedCertificates",
    "ConfiguredAuthority",
    "ConfiguredZone",
]

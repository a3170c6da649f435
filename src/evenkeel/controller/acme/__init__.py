"""Certificates by ACME: controllers take steps of orders, one controller at a time for each certificate."""

from evenkeel.controller.acme.dns_proof import UsedZone
from evenkeel.controller.acme.issuing import AcmeIssuing, AcmeParts, AcmeSettings, UsedAuthority
from evenkeel.controller.acme.waits import AwaitedCertificates

__all__ = ["AcmeIssuing", "AcmeParts", "AcmeSettings", "AwaitedCertificates", "UsedAuthority", "UsedZone"]

"""What references of a load balancer name, as paths of files on the device. Pure.

A file is called after what is in it, so that a renewed certificate is another file, several load balancers share one,
and a profile that names a file names its content.
"""

import re
from collections.abc import Iterable

from evenkeel.core.certificates import CertificateKind
from evenkeel.core.service import ServiceDefinition
from evenkeel.core.values import Value
from evenkeel.devices.bigip.naming import AUTHORITY, CERTIFICATE, CHAIN, KEY, REVOCATION, BigIpNames
from evenkeel.devices.bigip.objects import CertificateNeed
from evenkeel.devices.errors import Unrenderable

_SHA256 = re.compile(r"[0-9a-f]{64}")


class CertificatePaths(Value):
    """Where a certificate, its key and its intermediates are."""

    certificate: str
    key: str
    chain: str
    """There may be none: that is known where the content or the device is."""


class References:
    """The references of one load balancer; remembers which contents were asked for."""

    def __init__(self, service: ServiceDefinition, names: BigIpNames) -> None:
        self._known = {(each.reference, each.kind): each for each in service.certificates}
        self._names = names
        self._folder = f"/{names.partition(service.project_id)}"
        self._needs: dict[CertificateNeed, None] = {}

    @property
    def needs(self) -> tuple[CertificateNeed, ...]:
        """All that were asked for, in order."""
        return tuple(self._needs)

    def certificate(self, what: str, reference: str) -> CertificatePaths:
        """The files of a certificate. ``what`` it is of, for people. Raises :class:`Unrenderable`, as do the others."""
        sha256 = self._needed(what, reference, CertificateKind.CERTIFICATE)
        return CertificatePaths(
            certificate=self._path(sha256, CERTIFICATE), key=self._path(sha256, KEY), chain=self._path(sha256, CHAIN)
        )

    def interchangeable(self, references: Iterable[str]) -> list[list[str]]:
        """Certificates in groups, each in order: of the same names, with keys of different types."""
        groups: list[list[str]] = []
        open_groups: dict[str, tuple[list[str], set[str]]] = {}
        for reference in references:
            known = self._known.get((reference, CertificateKind.CERTIFICATE))
            names, key_type = (known.names_sha256, known.key_type) if known else ("", "")
            group, key_types = open_groups.get(names, ([], {key_type}))
            if not names or not key_type or key_type in key_types:
                groups.append([reference])
                if names and key_type:
                    open_groups[names] = (groups[-1], {key_type})
            else:
                group.append(reference)
                key_types.add(key_type)
        return groups

    def authority(self, what: str, reference: str) -> str:
        """The file of authorities."""
        return self._path(self._needed(what, reference, CertificateKind.AUTHORITY), AUTHORITY)

    def revocation_list(self, what: str, reference: str) -> str:
        """The file of what an authority has revoked."""
        return self._path(self._needed(what, reference, CertificateKind.REVOCATION_LIST), REVOCATION)

    def _needed(self, what: str, reference: str, kind: CertificateKind) -> str:
        known = self._known.get((reference, kind))
        words = kind.value.replace("_", " ")
        if known is None:
            raise Unrenderable(f"{what} {reference}: no controller has read this {words}")
        sha256 = known.sha256
        if not _SHA256.fullmatch(sha256):
            raise Unrenderable(f"{what} {reference}: the identity of this {words} is no SHA-256")
        self._needs[CertificateNeed(kind=kind, sha256=sha256)] = None
        return sha256

    def _path(self, sha256: str, suffix: str) -> str:
        return f"{self._folder}/{self._names.file(sha256, suffix)}"

"""The device's files, by path, for the certificate references of a load balancer. Pure.

A file is named by the sha256 of its content: a renewed certificate is another file, load balancers can share a file,
and a profile's file path identifies the content.
"""

import re
from collections.abc import Iterable

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import CertificateKind
from evenkeel.devices.bigip.naming import AUTHORITY, CERTIFICATE, CHAIN, KEY, REVOCATION, BigIpNames
from evenkeel.devices.bigip.objects import CertificateNeed
from evenkeel.devices.errors import Unrenderable

_SHA256_PATTERN = re.compile(r"[0-9a-f]{64}")


class CertificatePaths(Value):
    """Paths on the device of a certificate, its key and its intermediates."""

    certificate: str
    key: str
    chain: str
    """Path of the intermediates. The file may not exist: only the content, or the device, shows whether there are
    any.
    """


class CertificateReferences:
    """Converts the certificate references of one load balancer to paths; records which contents the renderer
    requested.
    """

    def __init__(self, service: ServiceDefinition, names: BigIpNames) -> None:
        self._known = {(each.reference, each.kind): each for each in service.certificates}
        self._names = names
        self._folder = f"/{names.partition_name(service.project_id)}"
        self._needs: dict[CertificateNeed, None] = {}

    @property
    def needs(self) -> tuple[CertificateNeed, ...]:
        """Return the certificate contents that the rendered objects refer to, in order of the first
        reference.
        """
        return tuple(self._needs)

    def certificate_paths(self, what: str, reference: str) -> CertificatePaths:
        """Return the paths of a certificate's files. ``what``: the object, for messages. Raises
        :class:`Unrenderable` if the definition does not resolve the reference.
        """
        sha256 = self._required_sha256(what, reference, CertificateKind.CERTIFICATE)
        return CertificatePaths(
            certificate=self._file_path(sha256, CERTIFICATE),
            key=self._file_path(sha256, KEY),
            chain=self._file_path(sha256, CHAIN),
        )

    def group_by_certificate_names(self, references: Iterable[str]) -> list[list[str]]:
        """Group references to certificates with equal names and keys of different types, in order; a
        certificate whose names or key type are not known is a group of its own.
        """
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

    def authority_path(self, what: str, reference: str) -> str:
        """Return the path of the file of CA certificates. ``what``: the object, for messages. Raises
        :class:`Unrenderable` if the definition does not resolve the reference.
        """
        return self._file_path(self._required_sha256(what, reference, CertificateKind.AUTHORITY), AUTHORITY)

    def revocation_list_path(self, what: str, reference: str) -> str:
        """Return the path of the file of a revocation list. ``what``: the object, for messages. Raises
        :class:`Unrenderable` if the definition does not resolve the reference.
        """
        return self._file_path(self._required_sha256(what, reference, CertificateKind.REVOCATION_LIST), REVOCATION)

    def _required_sha256(self, what: str, reference: str, kind: CertificateKind) -> str:
        known = self._known.get((reference, kind))
        if known is None:
            raise Unrenderable(f"{what} {reference}: no controller has read this {kind.words}")
        sha256 = known.sha256
        if not _SHA256_PATTERN.fullmatch(sha256):
            raise Unrenderable(f"{what} {reference}: the identity of this {kind.words} is no SHA-256")
        self._needs[CertificateNeed(kind=kind, sha256=sha256)] = None
        return sha256

    def _file_path(self, sha256: str, suffix: str) -> str:
        return f"{self._folder}/{self._names.file_name(sha256, suffix)}"

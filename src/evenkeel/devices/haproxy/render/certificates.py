"""Renders a load balancer's certificate references as files. Pure.

A file's name derives from the listener or pool and the reference, so a renewed certificate keeps its file name and only
the content changes, which HAProxy accepts by its runtime API without a reload. If the batch has no content, its sha256
takes its place, and the daemon uses the content that it holds.
"""

import hashlib
from collections.abc import Mapping

from evenkeel.core.devices.service import ServiceDefinition
from evenkeel.core.tls.certificates import CertificateContent, CertificateKind
from evenkeel.devices.errors import Unrenderable
from evenkeel.haproxyd import wire

REFERENCE_DIGITS = 32
"""Hex digits of the reference's SHA-256 in a file name."""
_FILE_KINDS = {
    CertificateKind.CERTIFICATE: "certificate",
    CertificateKind.AUTHORITY: "ca",
    CertificateKind.REVOCATION_LIST: "crl",
}


class ReferencedFiles:
    """Collects the certificate files that one load balancer refers to.

    ``contents``: the certificates in the batch, by SHA-256 in hex.
    """

    def __init__(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> None:
        self._known = {(each.reference, each.kind): each.sha256 for each in service.certificates}
        self._contents = contents
        self._files: dict[str, wire.File] = {}

    def file_name(self, owner: str, field: str, reference: str, kind: CertificateKind) -> str:
        """Return the file name for a reference, and add the file to :attr:`files`. ``owner``: the name in
        HAProxy of the listener or pool; ``field``: the attribute, for errors.

        Raises :class:`Unrenderable` if the definition does not resolve the reference, or the content is of
        another kind.
        """
        sha256 = self._known.get((reference, kind))
        if sha256 is None:
            raise Unrenderable(f"{owner}: {field} {reference}: no controller has read this {kind.words}")
        digits = hashlib.sha256(reference.encode()).hexdigest()[:REFERENCE_DIGITS]
        file_kind = _FILE_KINDS[kind]
        name = f"{owner}.{file_kind}.{digits}"  # no ":": HAProxy takes what follows one for a line number
        content = self._contents.get(sha256)
        text = "" if content is None else pem_file(content, kind)
        self._files[name] = wire.File(name=name, kind=file_kind, content=text, sha256=sha256)  # type: ignore[arg-type]
        return name

    @property
    def files(self) -> tuple[wire.File, ...]:
        """Return all files named so far, in order of first use."""
        return tuple(self._files.values())


def pem_file(content: CertificateContent, kind: CertificateKind) -> str:
    """Convert a content to HAProxy's PEM file: certificates and then, for the kind ``CERTIFICATE``, the
    private key; for a revocation list only that. Raises :class:`Unrenderable` for another kind than
    ``kind``, or a missing private key.
    """
    if content.kind is not kind:
        raise Unrenderable(f"what was to be a {kind.words} is a {content.kind.words}")
    if kind is CertificateKind.REVOCATION_LIST:
        return _drop_empty_lines(content.revocation_list)
    texts = [_drop_empty_lines(text) for text in content.certificates]
    if kind is CertificateKind.CERTIFICATE:
        if content.private_key is None:
            raise Unrenderable("a certificate came without its key")
        texts.append(_drop_empty_lines(content.private_key.reveal().decode("ascii")))
    return "".join(texts)


def _drop_empty_lines(text: str) -> str:
    """Return the text without empty lines, which would end the payload of a runtime API command, and without
    blanks around lines.
    """
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip())

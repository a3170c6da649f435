"""What references of a load balancer name, as files that HAProxy reads. Pure.

A file is called after the listener or pool and the reference, so that a renewed certificate keeps its name and only
the content changes, which HAProxy takes without a reload. Where the batch did not bring a content, its identity stands
for it, and the daemon uses what it holds.
"""

import hashlib
from collections.abc import Mapping

from evenkeel.core.certificates import CertificateContent, CertificateKind
from evenkeel.core.service import ServiceDefinition
from evenkeel.devices.errors import Unrenderable
from evenkeel.haproxyd import wire

REFERENCE_DIGITS = 32
"""Of a reference's SHA-256, in a file's name."""
_FILE_KINDS = {
    CertificateKind.CERTIFICATE: "certificate",
    CertificateKind.AUTHORITY: "ca",
    CertificateKind.REVOCATION_LIST: "crl",
}


class ReferencedFiles:
    """The files of one load balancer. ``contents``: by identity, of what the batch brought."""

    def __init__(self, service: ServiceDefinition, contents: Mapping[str, CertificateContent]) -> None:
        self._known = {(each.reference, each.kind): each.sha256 for each in service.certificates}
        self._contents = contents
        self._files: dict[str, wire.File] = {}

    def named(self, owner: str, field: str, reference: str, kind: CertificateKind) -> str:
        """The name of the file for a reference. ``owner``: the listener's or pool's name in HAProxy.

        Raises :class:`Unrenderable` if it is not known what the reference names.
        """
        sha256 = self._known.get((reference, kind))
        if sha256 is None:
            raise Unrenderable(f"{owner}: {field} {reference}: no controller has read this {_words(kind)}")
        digits = hashlib.sha256(reference.encode()).hexdigest()[:REFERENCE_DIGITS]
        file_kind = _FILE_KINDS[kind]
        name = f"{owner}.{file_kind}.{digits}"  # no ":": HAProxy would take what follows for the number of a line
        content = self._contents.get(sha256)
        text = "" if content is None else pem(content, kind)
        self._files[name] = wire.File(name=name, kind=file_kind, content=text, sha256=sha256)  # type: ignore[arg-type]
        return name

    @property
    def files(self) -> tuple[wire.File, ...]:
        """All that were named, in the order in which they were."""
        return tuple(self._files.values())


def pem(content: CertificateContent, kind: CertificateKind) -> str:
    """A content as HAProxy reads it: a certificate comes before its intermediates, and its key last."""
    if content.kind is not kind:
        raise Unrenderable(f"what was to be a {_words(kind)} is a {_words(content.kind)}")
    if kind is CertificateKind.REVOCATION_LIST:
        return _lines(content.revocation_list)
    texts = [_lines(text) for text in content.certificates]
    if kind is CertificateKind.CERTIFICATE:
        if content.private_key is None:
            raise Unrenderable("a certificate came without its key")
        texts.append(_lines(content.private_key.reveal().decode("ascii")))
    return "".join(texts)


def _lines(text: str) -> str:
    """Without empty lines, which HAProxy's runtime interface takes for the end."""
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip())


def _words(kind: CertificateKind) -> str:
    return kind.value.replace("_", " ")

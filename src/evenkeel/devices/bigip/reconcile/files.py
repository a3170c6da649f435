"""Files of certificates, keys and revocation lists: which are missing, and which are unused. Pure.

A device does not return file contents, so a file's content is identified by its name alone. Certificate and key are
created together, in the transaction that first refers to them, with the intermediates if there are any. So where
certificate and key exist without a file of intermediates, the certificate has none.

A file is removed if nothing refers to it and its name has the form of Even Keel's files. References of all profiles in
the partition count, regardless of their creator, and so do those of a load balancer that waits for its other contents.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from evenkeel.core.tls.certificates import CertificateContent, CertificateKind, Secret
from evenkeel.devices.bigip.naming import AUTHORITY, CERTIFICATE, CHAIN, KEY, REVOCATION, BigIpNames
from evenkeel.devices.bigip.objects import (
    CERTIFICATE_FILE,
    CLIENT_SSL,
    FILES,
    KEY_FILE,
    REVOCATION_FILE,
    SERVER_SSL,
    CertificateNeed,
    Key,
    Observed,
    RenderedObjects,
    WantedObject,
)

FileContents = dict[Key, Secret | None]
"""Files that must exist, by key; with the content if the file has to be created, else None."""
_REFERRING_ATTRIBUTES = ("cert", "key", "chain", "caFile", "clientCertCa", "crlFile")


class WrongContent(Exception):
    """The content of a certificate or revocation list is not the one that the load balancer refers to by
    sha256, or lacks the private key.
    """


def add_files(
    rendered: RenderedObjects, observed: Observed, contents: Mapping[str, CertificateContent], names: BigIpNames
) -> RenderedObjects:
    """Return the load balancer with the files that its objects refer to; unchanged if it needs none or has a
    problem. ``contents``: those of the batch, by sha256.

    If neither the device nor the batch has some contents, the result has a problem, no objects, and names the
    contents as ``lacking``; a content that does not match its sha256 is a problem, too.
    """
    if not rendered.needs or rendered.problem:
        return rendered
    files: FileContents = {}
    lacking = []
    try:
        # To the end, even if one is lacking: the agent requests all of them at once.
        for need in rendered.needs:
            found = _needed_files(need, observed, contents.get(need.sha256), names)
            files.update(found)
            if not found:
                lacking.append(need)
    except WrongContent as error:
        return replace(rendered, objects=(), problem=str(error))
    if lacking:
        kinds = ", ".join(dict.fromkeys(need.kind.words for need in lacking))
        problem = f"waiting for contents that the device does not hold yet: {kinds}"
        return replace(rendered, objects=(), problem=problem, lacking=tuple(need.sha256 for need in lacking))
    owner = rendered.service.load_balancer_id
    there = {key.name for key in files}
    return replace(
        rendered,
        objects=(
            *(WantedObject(key=key, owner=owner, attributes={}) for key in files),
            *(_drop_missing_chains(item, there) for item in rendered.objects),
        ),
        contents={key: content for key, content in files.items() if content is not None},
    )


def _needed_files(
    need: CertificateNeed, observed: Observed, content: CertificateContent | None, names: BigIpNames
) -> FileContents:
    """Return the files of one certificate, authority or revocation list, with contents where files have to be
    created; empty if neither the device nor the batch has them. Raises :class:`WrongContent`.
    """
    place = {
        suffix: Key(type=kind, name=names.file_name(need.sha256, suffix))
        for suffix, kind in _FILE_TYPES_BY_SUFFIX[need.kind].items()
    }
    if all(key in observed for suffix, key in place.items() if suffix != CHAIN):
        return {key: None for key in place.values() if key in observed}
    if content is None:
        return {}
    texts = _file_contents(need, content)
    return {place[suffix]: None if place[suffix] in observed else text for suffix, text in texts.items()}


_FILE_TYPES_BY_SUFFIX = {
    CertificateKind.CERTIFICATE: {CERTIFICATE: CERTIFICATE_FILE, KEY: KEY_FILE, CHAIN: CERTIFICATE_FILE},
    CertificateKind.AUTHORITY: {AUTHORITY: CERTIFICATE_FILE},
    CertificateKind.REVOCATION_LIST: {REVOCATION: REVOCATION_FILE},
}


def _file_contents(need: CertificateNeed, content: CertificateContent) -> dict[str, Secret]:
    """Return the file contents by suffix of the file's name. Raises :class:`WrongContent` if the content is
    not the needed one, or a certificate has no key.
    """
    if content.kind is not need.kind or content.sha256 != need.sha256:
        raise WrongContent(f"what came for a {need.kind.value.replace('_', ' ')} is something else")
    if need.kind is CertificateKind.REVOCATION_LIST:
        return {REVOCATION: _concatenate_pem((content.revocation_list,))}
    if need.kind is CertificateKind.AUTHORITY:
        return {AUTHORITY: _concatenate_pem(content.certificates)}
    if content.private_key is None or not content.certificates:
        raise WrongContent("a certificate came without its key")
    first, *more = content.certificates
    found = {CERTIFICATE: _concatenate_pem((first,)), KEY: Secret(content.private_key.reveal())}
    return {**found, CHAIN: _concatenate_pem(more)} if more else found


def _concatenate_pem(texts: Iterable[str]) -> Secret:
    """Concatenate PEM texts. PEM certificates are not secret, but are kept out of logs and messages all the
    same.
    """
    return Secret("".join(f"{text.strip()}\n" for text in texts).encode())


def _drop_missing_chains(item: WantedObject, files: Collection[str]) -> WantedObject:
    """Return the object without references to chain files that do not exist. ``files``: names of the existing files."""
    if item.key.type == SERVER_SSL:
        return replace(item, attributes=_chain_or_none(item.attributes, files))
    if item.key.type == CLIENT_SSL:
        pairs = [_chain_or_none(pair, files) for pair in item.attributes["certKeyChain"]]
        return replace(item, attributes={**item.attributes, "certKeyChain": pairs})
    return item


def _chain_or_none(attributes: Mapping[str, Any], files: Collection[str]) -> dict[str, Any]:
    there = attributes["chain"].rpartition("/")[2] in files
    return {**attributes, "chain": attributes["chain"] if there else "none"}


# -- unused files


def unused_files(
    observed: Observed, rendered: Iterable[RenderedObjects], gone: Iterable[Key], partition: str, names: BigIpNames
) -> list[Key]:
    """Return the keys of Even Keel's files to which nothing will refer and whose contents no load balancer in
    ``rendered`` needs. ``gone``: keys of objects to be removed.
    """
    ours = [key for key in observed if key.type in FILES and names.is_file(key.name)]
    if not ours:
        return []
    services = tuple(rendered)
    wanted = {item.key: item.attributes for one in services if not one.problem for item in one.objects}
    left = {key: item.attributes for key, item in observed.items()}
    for key in gone:
        left.pop(key, None)
    used = referenced_file_names({**left, **wanted}, partition)
    waiting = {need.sha256 for one in services for need in one.needs}
    return [key for key in ours if key.name not in used and _sha256_in_name(key.name, names) not in waiting]


def referenced_file_names(objects: Mapping[Key, Mapping[str, Any]], partition: str) -> set[str]:
    """Return the names of the partition's files to which profiles refer. ``objects``: the attributes of all objects."""
    return {
        path.rpartition("/")[2]
        for key, attributes in objects.items()
        if key.type in (CLIENT_SSL, SERVER_SSL)
        for path in _file_paths(attributes)
        if path.startswith(f"/{partition}/")
    }


def _file_paths(attributes: Mapping[str, Any]) -> Iterator[str]:
    pairs = attributes.get("certKeyChain")
    for holder in (attributes, *(pairs if isinstance(pairs, list) else ())):
        if isinstance(holder, Mapping):
            yield from (str(holder.get(name, "")) for name in _REFERRING_ATTRIBUTES)


def _sha256_in_name(name: str, names: BigIpNames) -> str:
    return name[len(names.prefix) + 1 :][:64]

"""Runtime changes of files: ACLs, maps, certificates, CA files, revocation lists and crt-lists.

A certificate and its key change together, in one HAProxy transaction: each handshake uses the old or the new pair.
Existing client and server connections stay open (HAProxy management guide, 9.3, ``set ssl cert`` and related commands).

=================  =================================================================================================
kind of file       commands
=================  =================================================================================================
``acl``            ``add acl``, then ``del acl``
``map``            ``add map``, ``set map``, then ``del map``
``certificate``    ``set ssl cert``, ``commit ssl cert``; to add one: ``new ssl cert`` before, ``add ssl crt-list``
                   after; to remove one: ``del ssl crt-list``, ``del ssl cert``, or another one in its place
``ca``, ``crl``    ``set`` and ``commit`` of ``ssl ca-file`` or ``ssl crl-file``, where HAProxy supports it
=================  =================================================================================================
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from evenkeel.haproxyd import wire
from evenkeel.haproxyd.haproxy.binary import HaproxyBinary
from evenkeel.haproxyd.haproxy.config.loaded import config_texts, names_in_texts
from evenkeel.haproxyd.haproxy.runtime.certificate_names import presented_names
from evenkeel.haproxyd.haproxy.runtime.command import NeedsReload, RuntimeCommand
from evenkeel.haproxyd.haproxy.runtime.master_cli import COMMAND_WORD_PATTERN
from evenkeel.haproxyd.haproxy.runtime.replacement_certificate import replacement_certificate

LIST_CHANGES_MAX = 500
"""Maximum number of changed entries of a list for which runtime commands are faster than a reload."""
PAYLOAD_BYTES_MAX = 15_000
"""Maximum size of a command's payload: command and payload must fit into HAProxy's buffer of 16 KiB."""
LIST_KINDS = ("acl", "map")
"""Kinds of files that are lists of entries; runtime commands call them the same."""
_SSL_FILES = {"certificate": "cert", "ca": "ca-file", "crl": "crl-file"}

FilesByName = Mapping[str, wire.File]


def file_changes(
    before: wire.LoadBalancerConfig, after: wire.LoadBalancerConfig, binary: HaproxyBinary
) -> Iterator[RuntimeCommand]:
    """Yield the commands that change one load balancer's files. Raises :class:`NeedsReload` for a change that no
    command can make.
    """
    old = {file.name: file for file in before.files}
    new = {file.name: file for file in after.files}
    changed = {name: file for name, file in new.items() if name in old and old[name] != file}
    for name, file in changed.items():
        refused = file.kind in ("ca", "crl") and not binary.supports_ca_at_runtime
        if file.kind != old[name].kind or (refused and file.content != old[name].content):
            raise NeedsReload(f"file {name}")
    _check_presented_certificates(changed, new)
    listed = [_ListChange(old[name], file) for name, file in changed.items() if file.kind == "crt_list"]
    # order: new certificates, changed contents, lists that refer to them, removed certificates
    yield from _certificate_additions(old, new, listed)
    for name, file in changed.items():
        if file.content != old[name].content and file.kind != "crt_list":
            yield from _content_changes(old[name], file)
    for change in listed:
        yield from change.commands()
    if old.keys() - new.keys():
        staying = names_in_texts(
            (*config_texts(after), *(file.content for file in new.values() if file.kind == "crt_list"))
        )
        yield from _certificate_removals(old, new, listed, staying)


def _check_presented_certificates(changed: FilesByName, new: FilesByName) -> None:
    """Raise :class:`NeedsReload` if replacing a certificate would change which certificate HAProxy presents for a name.

    HAProxy presents the certificate that was loaded first; a renewed one is loaded after the certificates that follow
    it in the list.
    """
    for listed in (file for file in new.values() if file.kind == "crt_list"):
        names = [listed_certificate(line) for line in list_entries(listed.content)]
        for place, name in enumerate(names):
            if name in changed:
                shown = presented_names(changed[name].content)
                if any(shown & presented_names(new[later].content) for later in names[place + 1 :] if later in new):
                    raise NeedsReload(f"file {name} has a name that another one has too")


def _certificate_additions(
    old: FilesByName, new: FilesByName, listed: Iterable["_ListChange"]
) -> Iterator[RuntimeCommand]:
    """Yield commands that add the certificates that lists newly name, with their content. Raises
    :class:`NeedsReload` for any other new file.

    The commands must come before the changes of lists: HAProxy refuses a certificate without content in a
    list.
    """
    named = {name for change in listed for name in change.names_added}
    for name in new.keys() - old.keys():
        # Any other new file is referred to by lines, which only a reload reads.
        if new[name].kind != "certificate" or name not in named:
            raise NeedsReload("files")
    for name in sorted(new.keys() - old.keys()):
        yield RuntimeCommand(text=f"new ssl cert {name}", expects="New empty certificate store")
        yield from ssl_changes(new[name])


def _certificate_removals(
    old: FilesByName, new: FilesByName, listed: Iterable["_ListChange"], staying: Collection[str]
) -> Iterator[RuntimeCommand]:
    """Yield commands that remove the certificates that lists no longer name; other files that are removed
    stay in the process until the next reload.

    ``staying``: names that the new configuration refers to. Raises :class:`NeedsReload` if one of the others
    is among them.
    """
    named = {name for change in listed for name in change.names_removed}
    for name in sorted(old.keys() - new.keys()):
        if old[name].kind == "certificate" and name in named:
            yield RuntimeCommand(text=f"del ssl cert {name}", expects="deleted!")
        elif name in staying:
            raise NeedsReload("files")


def key_removals(before: wire.LoadBalancerConfig, after: wire.LoadBalancerConfig) -> Iterator[RuntimeCommand]:
    """Yield commands that remove the private keys of closed listeners and unused backends.

    HAProxy deletes no certificate to which lists refer, so self-made certificates take their places. The
    commands are to be sent once the listeners are closed. Raises :class:`NeedsReload` if no command can
    replace a key.
    """
    kept = {file.name: file for file in after.files}
    lists = [file for file in before.files if file.kind == "crt_list" and file.name in kept]
    deleted = {
        listed_certificate(line)
        for file in lists
        for line in set(list_entries(file.content)) - set(list_entries(kept[file.name].content))
    }
    for file in before.files:
        if file.kind == "certificate" and file.name not in kept and file.name not in deleted:
            yield from ssl_changes(msgspec.structs.replace(file, content=replacement_certificate()))


def _content_changes(old: wire.File, new: wire.File) -> Iterable[RuntimeCommand]:
    if new.kind in LIST_KINDS:
        return list_changes(new, list_entries(old.content))
    return ssl_changes(new)


def ssl_changes(file: wire.File) -> Iterator[RuntimeCommand]:
    """Yield commands that replace the content of a certificate, CA file or revocation list. Raises
    :class:`NeedsReload` if the content is empty, not printable ASCII, or too large for a command.
    """
    # An empty line would end the payload (runtime API), so empty lines are left out.
    lines = [line.rstrip() for line in file.content.splitlines() if line.strip()]
    text = "".join(f"{line}\n" for line in lines)
    if not all(line.isascii() and line.isprintable() for line in lines) or not text or len(text) > PAYLOAD_BYTES_MAX:
        raise NeedsReload(f"file {file.name}")
    what = _SSL_FILES[file.kind]
    yield RuntimeCommand(
        text=f"set ssl {what} {file.name}", payload=text, expects="ransaction "
    )  # Transaction or transaction
    yield RuntimeCommand(text=f"commit ssl {what} {file.name}", expects="Success!")


def list_entries(content: str) -> tuple[str, ...]:
    """Return the lines of a list file, such as a crt-list, stripped, without empty lines and comments."""
    lines = (line.strip() for line in content.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def list_changes(file: wire.File, old: tuple[str, ...]) -> Iterator[RuntimeCommand]:
    """Yield commands that bring an ACL or map in the process, which has the entries ``old``, to the file's
    entries. Raises :class:`NeedsReload` for too many changes, or entries that no command can have.
    """
    if file.kind == "map":
        yield from _map_changes(file.name, old, list_entries(file.content))
    else:
        yield from _acl_changes(file.name, old, list_entries(file.content))


def _acl_changes(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[RuntimeCommand]:
    """Yield commands that change an ACL, additions first, so that an address in both versions is never
    refused.

    Raises :class:`NeedsReload` for too many changes, or entries that no command can have.
    """
    added = [entry for entry in dict.fromkeys(new) if entry not in old]
    removed = [entry for entry in dict.fromkeys(old) if entry not in new]
    if len(added) + len(removed) > LIST_CHANGES_MAX or not all(map(COMMAND_WORD_PATTERN.fullmatch, (*added, *removed))):
        raise NeedsReload(f"file {name}")
    for entry in added:
        yield RuntimeCommand(text=f"add acl {name} {entry}")
    for entry in removed:
        yield RuntimeCommand(text=f"del acl {name} {entry}")


def _map_changes(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[RuntimeCommand]:
    before, after = _map_values(name, old), _map_values(name, new)
    changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    if len(changed) > LIST_CHANGES_MAX:
        raise NeedsReload(f"file {name}")
    yield from (RuntimeCommand(text=f"add map {name} {key} {after[key]}") for key in after if key not in before)
    yield from (
        RuntimeCommand(text=f"set map {name} {key} {after[key]}")
        for key in after
        if key in before and before[key] != after[key]
    )
    yield from (RuntimeCommand(text=f"del map {name} {key}") for key in before if key not in after)


def _map_values(name: str, lines: tuple[str, ...]) -> dict[str, str]:
    """Return ``{key: value}`` of a map's lines. Raises :class:`NeedsReload` for a repeated key, or for lines
    that no runtime command can have.
    """
    pairs = [line.split() for line in lines]
    values = {pair[0]: pair[-1] for pair in pairs}
    # of two entries with one key HAProxy uses one, and a command changes both
    if len(values) < len(pairs) or not all(
        len(pair) == 2 and all(map(COMMAND_WORD_PATTERN.fullmatch, pair)) for pair in pairs
    ):
        raise NeedsReload(f"file {name}")
    return values


class _ListChange:
    """A change of a listener's ``crt-list``, whose first certificate is the default.

    Raises :class:`NeedsReload` unless certificates are only appended or removed: otherwise the order in the process
    would differ from the list's.
    """

    def __init__(self, old: wire.File, new: wire.File) -> None:
        self._name = new.name
        before, after = list_entries(old.content), list_entries(new.content)
        staying = [line for line in before if line in after]
        self._added = after[len(staying) :]
        self._removed = [line for line in before if line not in after]
        self.names_added = frozenset(map(listed_certificate, self._added))
        self.names_removed = frozenset(map(listed_certificate, self._removed))
        names = [*map(listed_certificate, before), *map(listed_certificate, self._added)]
        if not staying or before[0] != after[0] or (*staying, *self._added) != after or len(set(names)) < len(names):
            raise NeedsReload(f"file {new.name}")
        if any(":" in name for name in self.names_removed):  # HAProxy parses the part after the colon as a line number
            raise NeedsReload(f"file {new.name}")

    def commands(self) -> Iterator[RuntimeCommand]:
        """Yield the commands, additions first, so that each name always has a certificate."""
        for line in self._added:
            yield RuntimeCommand(text=f"add ssl crt-list {self._name}", payload=f"{line}\n", expects="Success!")
        for line in self._removed:
            text = f"del ssl crt-list {self._name} {listed_certificate(line)}"
            yield RuntimeCommand(text=text, expects="deleted in crtlist")


def listed_certificate(line: str) -> str:
    """Return the name of the certificate file in a line of a ``crt_list``."""
    return line.split()[0]

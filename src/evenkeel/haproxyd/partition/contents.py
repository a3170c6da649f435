"""Contents of files that agents send only once: certificates with their keys, CA files and revocation lists.
Pure.

An agent that sends a load balancer again leaves contents out and names their identity, which is opaque to the
daemon. The identity stands for the content held for the same load balancer, name and identity.
"""

from collections.abc import Callable

import msgspec

from evenkeel.haproxyd import wire

_KINDS_SENT_ONCE = frozenset(("certificate", "ca", "crl"))
_HELD_CONTENT_PLACEHOLDER = "held"
"""Placeholder for a content with an identity; it is not valid PEM."""


def is_content_missing(file: wire.File) -> bool:
    """Whether the file's content is missing: it is empty, although the file is a certificate, or a CA file or
    revocation list with a ``sha256``.
    """
    return not file.content and (file.kind == "certificate" or (bool(file.sha256) and file.kind in _KINDS_SENT_ONCE))


def missing_contents(load_balancer: wire.LoadBalancerConfig | None) -> tuple[str, ...]:
    """Return the ``sha256`` of each content that the agent has to send, without repetition; files without
    ``sha256`` are left out. Empty for None.
    """
    files = load_balancer.files if load_balancer else ()
    # Two files may have the same content, which is requested once.
    return tuple(dict.fromkeys(file.sha256 for file in files if file.sha256 and is_content_missing(file)))


def fill_in_held_contents(
    load_balancer: wire.LoadBalancerConfig, held: wire.LoadBalancerConfig | None
) -> wire.LoadBalancerConfig:
    """Return the load balancer with contents that its request left out, from ``held`` (None: there is
    none).

    A file takes the content held under its name, kind and ``sha256``; without a ``sha256`` a certificate
    takes the one held under its name: it was copied from a reading of the partition, which contains no keys.
    """
    kept = {file.name: file for file in held.files} if held else {}

    def choose_content(file: wire.File) -> wire.File:
        known = kept.get(file.name)
        if known is None or known.kind != file.kind or not is_content_missing(file):
            return file
        return known if file.sha256 in ("", known.sha256) else file

    return _map_files(load_balancer, choose_content)


def remove_private_keys(load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """Return the load balancer as it is shown to clients: the contents of certificate files, which include
    keys, are empty.
    """
    return _map_files(load_balancer, lambda file: _set_file_content(file, "") if file.kind == "certificate" else file)


def replace_contents_by_placeholders(load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """Return the load balancer with a placeholder for the content of each certificate, CA file and revocation
    list that has a ``sha256``.
    """
    return _map_files(
        load_balancer,
        lambda file: (
            _set_file_content(file, _HELD_CONTENT_PLACEHOLDER)
            if file.sha256 and file.kind in _KINDS_SENT_ONCE and file.content
            else file
        ),
    )


def _set_file_content(file: wire.File, content: str) -> wire.File:
    return msgspec.structs.replace(file, content=content)


def _map_files(
    load_balancer: wire.LoadBalancerConfig, change: Callable[[wire.File], wire.File]
) -> wire.LoadBalancerConfig:
    files = tuple(map(change, load_balancer.files))
    return load_balancer if files == load_balancer.files else msgspec.structs.replace(load_balancer, files=files)

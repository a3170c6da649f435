"""Contents of files that are sent once: certificates with their keys, authorities and revocation lists. Pure.

Whoever sends a load balancer again leaves them out and names their identity, which is opaque here. What is held of the
same load balancer, name and identity is then meant.
"""

from collections.abc import Callable

import msgspec

from evenkeel.haproxyd import wire

_SENT_ONCE = frozenset(("certificate", "ca", "crl"))
_HELD = "held"
"""Stands for a content that has an identity: no PEM is that."""


def is_lacking(file: wire.File) -> bool:
    """Is its content neither here nor can it be empty? A certificate's cannot, nor what has an identity."""
    return not file.content and (file.kind == "certificate" or (bool(file.sha256) and file.kind in _SENT_ONCE))


def lacking(one: wire.LoadBalancerConfig | None) -> tuple[str, ...]:
    """Identities of contents that are to be sent."""
    files = one.files if one else ()
    return tuple(dict.fromkeys(file.sha256 for file in files if file.sha256 and is_lacking(file)))


def with_held_contents(one: wire.LoadBalancerConfig, held: wire.LoadBalancerConfig | None) -> wire.LoadBalancerConfig:
    """With what is held for the contents that were left out. A certificate without identity is the one that is held
    under its name: a sender of the version before, or somebody who read the partition and was told no keys."""
    kept = {file.name: file for file in held.files} if held else {}

    def held_or_given(file: wire.File) -> wire.File:
        known = kept.get(file.name)
        if known is None or known.kind != file.kind or not is_lacking(file):
            return file
        return known if file.sha256 in ("", known.sha256) else file

    return _with_files(one, held_or_given)


def without_keys(one: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """As anybody may see it."""
    return _with_files(one, lambda file: _with_content(file, "") if file.kind == "certificate" else file)


def with_identities(one: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """With a word for each content that is held and has an identity."""
    return _with_files(
        one,
        lambda file: _with_content(file, _HELD) if file.sha256 and file.kind in _SENT_ONCE and file.content else file,
    )


def _with_content(file: wire.File, content: str) -> wire.File:
    return msgspec.structs.replace(file, content=content)


def _with_files(one: wire.LoadBalancerConfig, change: Callable[[wire.File], wire.File]) -> wire.LoadBalancerConfig:
    files = tuple(map(change, one.files))
    return one if files == one.files else msgspec.structs.replace(one, files=files)

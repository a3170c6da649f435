"""Selects the part of a load balancer that HAProxy loads: all but backends to which no listener leads. Pure.

A pool that is created, changed or removed while nothing uses it then needs no reload. The servers of such a pool are
not checked.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from evenkeel.haproxyd import wire

_NAMES_PATTERN = re.compile(wire.NAME_REGEX.removeprefix("^").removesuffix("$").replace("{0,126}", "*"))


def remove_unused_backends(load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
    """Return the load balancer without unused backends, and without files that only these refer to.

    Returns the same object if it has no unused backends.
    """
    unused = unused_backends(load_balancer)
    if not unused:
        return load_balancer
    used = tuple(backend for backend in load_balancer.backends if backend.name not in unused)
    mine = names_in_texts(
        (
            *_frontend_texts(load_balancer),
            *(text for backend in used for text in _backend_texts(backend)),
            *(file.content for file in load_balancer.files if file.kind == "crt_list"),
        )
    )
    theirs = names_in_texts(
        text for each in load_balancer.backends if each.name in unused for text in _backend_texts(each)
    )
    return msgspec.structs.replace(
        load_balancer,
        backends=used,
        files=tuple(file for file in load_balancer.files if file.name in mine or file.name not in theirs),
    )


class LoadedPartsCache:
    """Cache of :func:`remove_unused_backends` for a partition's load balancers: only load balancers that were replaced
    are examined again.
    """

    def __init__(self) -> None:
        self._last: Mapping[str, tuple[wire.LoadBalancerConfig, wire.LoadBalancerConfig]] = {}

    def loaded_parts(self, load_balancers: Mapping[str, wire.LoadBalancerConfig]) -> dict[str, wire.LoadBalancerConfig]:
        """Return ``{id: loaded part}`` of these load balancers, and forget all others."""
        self._last = {name: (one, self._loaded_part(one)) for name, one in load_balancers.items()}
        return {name: part for name, (_, part) in self._last.items()}

    def _loaded_part(self, load_balancer: wire.LoadBalancerConfig) -> wire.LoadBalancerConfig:
        whole, part = self._last.get(load_balancer.id, (None, None))
        return part if part is not None and whole is load_balancer else remove_unused_backends(load_balancer)


def unused_backends(load_balancer: wire.LoadBalancerConfig) -> frozenset[str]:
    """Return the names of the backends to which neither a listener nor a used backend refers; any word in
    their lines that could be a backend's name counts as a reference.
    """
    rest = {backend.name: backend for backend in load_balancer.backends}
    found = names_in_texts(_frontend_texts(load_balancer)) | {
        listener.backend for listener in load_balancer.datagram_listeners
    }
    while used := rest.keys() & found:
        found = names_in_texts(text for name in used for text in _backend_texts(rest.pop(name)))
    return frozenset(rest)


def names_in_texts(texts: Iterable[str]) -> frozenset[str]:
    """Return all words in texts of configuration that could be names of backends or files."""
    return frozenset(name for text in texts for name in _NAMES_PATTERN.findall(text))


def config_texts(load_balancer: wire.LoadBalancerConfig) -> Iterator[str]:
    """Yield the lines and arguments of all frontends and backends of a load balancer."""
    yield from _frontend_texts(load_balancer)
    for backend in load_balancer.backends:
        yield from _backend_texts(backend)


def _frontend_texts(load_balancer: wire.LoadBalancerConfig) -> Iterator[str]:
    for frontend in load_balancer.frontends:
        yield from (*frontend.lines, *frontend.bind_arguments)


def _backend_texts(backend: wire.Backend) -> Iterator[str]:
    yield from backend.lines
    for server in backend.servers:
        yield from server.arguments

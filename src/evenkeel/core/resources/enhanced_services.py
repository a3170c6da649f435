"""Enhanced services: named settings that operators define in files of agents (F5's enhanced service definitions, ESD),
and tenants choose by name. Pure.

A listener gets the services that are named, in this order of precedence,

1. by its L7 policies that bear the name of an enhanced service, by position (F5's way),
2. by its own tags ``esd:<name>``, and if controllers honour bare tags (SAP's way) by tags that are just a name,
3. by the tags of its load balancer,
4. by the load balancer's flavor, in the order that it gives.

Several tags of one object count in alphabetical order. Only names are decided here: their meaning is in the agent's
files, where a setting of the first service that has it is used.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import json

from evenkeel.core.kit.values import Wire

TAG_PREFIX = "esd:"
OPTIONAL = "?"
"""Prefix, in service definitions, of a name from a bare tag: it counts only where an enhanced service has that name."""
FLAVOR_KEY = "enhanced_services"
"""Key in a flavor profile's data; its value is a list of names of enhanced services."""
NAME_CHARACTERS_MAX = 64
NAME_WORDS = f"1 to {NAME_CHARACTERS_MAX} letters, digits, '_', '-' and '.'"
PER_LISTENER_MAX = 16
"""Most enhanced services of one listener."""

_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARACTERS_MAX}}}")


class EnhancedService(Wire):
    """An enhanced service as an agent loaded it.

    ``problem``: why it cannot be used (for operators). An entry without a name stands for a file, or the directory,
    that could not be read.
    """

    name: str
    file: str = ""
    tags: dict[str, tuple[str, ...]] = {}
    """Full paths of objects on the device by F5's name of the tag; an empty tuple removes the kind of profile."""
    parts: dict[str, str] = {}
    """Settings as JSON by part (:mod:`evenkeel.config.esd.parts`); of a page its size and digest."""
    problem: str = ""
    warnings: tuple[str, ...] = ()
    """Tags of the definition that the agent discarded, each with its reason (for operators)."""

    @property
    def settings(self) -> dict[str, Any]:
        """Settings by part, as JSON values."""
        return {name: json.decode(text) for name, text in self.parts.items()}


def is_name(text: str) -> bool:
    """Whether a text may be the name of an enhanced service."""
    return _NAME.fullmatch(text) is not None


def services_in_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the names of enhanced services in an object's tags, in alphabetical order."""
    return tuple(sorted({tag.removeprefix(TAG_PREFIX) for tag in tags if tag.startswith(TAG_PREFIX)}))


def bare_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that may be the bare name of an enhanced service, in alphabetical order."""
    return tuple(sorted({tag for tag in tags if is_name(tag)}))


def select_services(
    *,
    policies: Iterable[str],
    listener_tags: Iterable[str],
    load_balancer_tags: Iterable[str],
    flavor: Iterable[str],
    bare: bool = False,
) -> tuple[str, ...]:
    """Names of the enhanced services for one listener; the first has precedence. ``policies``: names of the listener's
    L7 policies that stand for enhanced services, by position; ``flavor``: names that the load balancer's flavor gives;
    ``bare``: whether the listener's tags count without prefix; their names begin with :data:`OPTIONAL`.
    """
    own = tuple(listener_tags)
    before, after = (*policies, *services_in_tags(own)), (*services_in_tags(load_balancer_tags), *flavor)
    optional = [f"{OPTIONAL}{tag}" for tag in bare_tags(own) if tag not in before] if bare else []
    return tuple(dict.fromkeys((*before, *optional, *after)))


def usable_services(services: Iterable[EnhancedService]) -> Iterator[EnhancedService]:
    """Yield the services without a problem."""
    return (one for one in services if one.name and not one.problem)

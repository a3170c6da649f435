"""Enhanced services: named settings that operators define in files of agents (F5's enhanced service definitions, ESD),
and tenants choose by name. Pure.

A listener gets the services that are named, in this order of precedence,

1. by its L7 policies that bear the name of an enhanced service, by position (F5's way),
2. by its own tags ``esd:<name>``, and if controllers honour bare tags (SAP's way) by tags that are just a name,
3. by the tags of its load balancer,
4. by the load balancer's flavor, in the order that it gives.

Several tags of one object count in alphabetical order. A tag ``esd:<name>:<parameter>=<number>`` chooses the service,
too, and sets one of its parameters; a listener's tag counts before its load balancer's. Only names and numbers are
decided here: their meaning is in the agent's files, where a setting of the first service that has it is used.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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

PARAMETER_WORDS = "1 to 32 lower-case letters, digits, '_' and '-'"
PARAMETER_FORM = f"{TAG_PREFIX}NAME:PARAMETER=NUMBER"
_PARAMETER_NAME = re.compile(r"[a-z0-9_-]{1,32}")
_NUMBER_PATTERN = re.compile(r"[0-9]{1,10}", re.ASCII)
_NAME_PATTERN = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARACTERS_MAX}}}")


class ServiceParameter(Wire):
    """A number of an enhanced service that tenants may set."""

    sets: str
    """Part and field of the enhanced service that the parameter sets, as in ``rate_limit.requests``."""
    minimum: int
    maximum: int
    default: int
    """Value of the parameter if no tag sets it: the definition's own."""

    def problem(self, value: int) -> str:
        """Return why the value is not allowed for the parameter, with the allowed range; empty if it is
        allowed.
        """
        if self.minimum <= value <= self.maximum:
            return ""
        return f"{value}. Allowed: {self.minimum} to {self.maximum}"


class ParameterTag(NamedTuple):
    """A tag of a listener or load balancer that sets a parameter of an enhanced service, or tries to."""

    tag: str
    service: str
    parameter: str
    """Name of the parameter; empty if the tag does not have the form ``esd:<name>:<parameter>=<number>``."""
    value: int | None
    """Value that the tag gives; None if it is no number."""


class EnhancedService(Wire):
    """An enhanced service as an agent loaded it. ``problem``: why the service cannot be used (for operators);
    empty: it can. An entry without a name stands for a file, or the directory, that could not be read.
    """

    name: str
    file: str = ""
    tags: dict[str, tuple[str, ...]] = {}
    """{F5's name of a tag: full paths of objects on the device}; an empty tuple removes the kind of profile."""
    parts: dict[str, str] = {}
    """{part of the definition (:mod:`evenkeel.config.esd.parts`): its settings as JSON}; for a page its size and
    digest.
    """
    parameters: dict[str, ServiceParameter] = {}
    """{name: parameter that tenants may set}."""
    problem: str = ""
    warnings: tuple[str, ...] = ()
    """Tags of the definition that the agent discarded, each with its reason (for operators)."""
    secret_digest: str = ""
    """Digest of the agent's secret that the definition needs beside its file; empty: it needs none."""

    @property
    def settings_for_tenants(self) -> dict[str, Any]:
        """The definition's :attr:`settings` as tenants see them: of an operator's lines only their number."""
        found = self.settings
        return found | {name: len(found[name]) for name in ("haproxy_lines",) if name in found}

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the definition: {part (:mod:`evenkeel.config.esd.parts`): its JSON value}."""
        return {name: json.decode(text) for name, text in self.parts.items()}


def is_service_name(text: str) -> bool:
    """Whether a text may be the name of an enhanced service."""
    return _NAME_PATTERN.fullmatch(text) is not None


def services_in_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the enhanced services that an object's tags ``esd:<name>`` choose, with or without
    a parameter, in alphabetical order, each once.
    """
    return tuple(sorted({tag.removeprefix(TAG_PREFIX).partition(":")[0] for tag in tags if tag.startswith(TAG_PREFIX)}))


def is_parameter_name(text: str) -> bool:
    """Whether a text may be the name of an enhanced service's parameter."""
    return _PARAMETER_NAME.fullmatch(text) is not None


def parameter_tags(tags: Iterable[str]) -> Iterator[ParameterTag]:
    """Yield the tags ``esd:<name>:…`` that set parameters of enhanced services, or try to, in alphabetical
    order.
    """
    for tag in sorted({tag for tag in tags if tag.startswith(TAG_PREFIX)}):
        service, colon, setting = tag.removeprefix(TAG_PREFIX).partition(":")
        if colon:
            parameter, _, value = setting.partition("=")
            number = int(value) if _NUMBER_PATTERN.fullmatch(value) else None
            yield ParameterTag(tag, service, parameter if is_parameter_name(parameter) else "", number)


def select_parameters(
    names: Iterable[str], *, listener_tags: Iterable[str], load_balancer_tags: Iterable[str]
) -> dict[str, dict[str, int]]:
    """Return {name of an enhanced service: {parameter: value}} for those of these services whose parameters
    are set by tags; a listener's tag counts before its load balancer's. Tags without a valid parameter
    name or number are ignored.
    """
    found: dict[str, dict[str, int]] = {}
    chosen = set(names)
    for tags in (listener_tags, load_balancer_tags):
        for one in parameter_tags(tags):
            if one.service in chosen and one.parameter and one.value is not None:
                found.setdefault(one.service, {}).setdefault(one.parameter, one.value)
    return found


def bare_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Return the tags that may be names of enhanced services without prefix, in alphabetical order, each
    once.
    """
    return tuple(sorted({tag for tag in tags if is_service_name(tag)}))


def select_services(
    *,
    policies: Iterable[str],
    listener_tags: Iterable[str],
    load_balancer_tags: Iterable[str],
    flavor: Iterable[str],
    bare: bool = False,
) -> tuple[str, ...]:
    """Return the names of the enhanced services for one listener, each once; the first has precedence.

    ``policies``: names of the listener's L7 policies that stand for enhanced services, by position;
    ``flavor``: names that the load balancer's flavor gives; ``bare``: whether the listener's tags without
    prefix count, too, with :data:`OPTIONAL` before their names.
    """
    own = tuple(listener_tags)
    before, after = (*policies, *services_in_tags(own)), (*services_in_tags(load_balancer_tags), *flavor)
    optional = [f"{OPTIONAL}{tag}" for tag in bare_tags(own) if tag not in before] if bare else []
    return tuple(dict.fromkeys((*before, *optional, *after)))


def usable_services(services: Iterable[EnhancedService]) -> Iterator[EnhancedService]:
    """Yield the enhanced services that have no problem, so that tenants can choose them."""
    return (one for one in services if one.name and not one.problem)

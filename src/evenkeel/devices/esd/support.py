"""Refuses enhanced services that a device type cannot render, when they are loaded. Pure."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.log_targets import NO_TARGETS, LogTargets, drop_refused_target
from evenkeel.config.esd.parts import NO_PARTS, Parts
from evenkeel.core.devices.capabilities import Capabilities


def check_supported_parts(definition: Definition, table: Capabilities) -> Definition:
    """Return the definition; if it has parts or tags that the device type cannot render, with that problem
    and without any content. A definition that already has a problem is returned unchanged.
    """
    if definition.problem:
        return definition
    parts = [_name_with_reason(name, table) for name in _unsupported_names(definition.parts, table)]
    tags = list(definition.tags) if not table.service_tags else []
    if not (parts or tags):
        return definition
    allowed = ", ".join((*_supported_names(table), *(["tags of F5 (lbaas_*)"] if table.service_tags else []))) or "none"
    problem = (
        f"{definition.file}: enhanced service {definition.name!r}: {', '.join((*parts, *tags))}:"
        f" not possible on this device type; allowed: {allowed}"
    )
    return replace(definition, tags={}, types={}, parts=NO_PARTS, problem=problem)


def _name_with_reason(name: str, table: Capabilities) -> str:
    return f"{name} ({table.service_refusals[name]})" if name in table.service_refusals else name


def _unsupported_names(parts: Parts, table: Capabilities) -> Iterator[str]:
    """Yield the names of parts that the device type cannot render, and of unsupported settings of others,
    such as ``timeouts.request``.
    """
    for part in parts.names:
        if part not in table.service_parts:
            yield part
        elif part in table.service_settings:
            allowed = table.service_settings[part]
            yield from (f"{part}.{name}" for name in parts.changed_settings(part) if name not in allowed)


def _supported_names(table: Capabilities) -> Iterator[str]:
    for part in table.service_parts:
        settings = table.service_settings.get(part)
        yield from (part,) if settings is None else (f"{part}.{name}" for name in settings)


def checked_definition(definition: Definition, table: Capabilities, targets: LogTargets) -> Definition:
    """Return the definition; if the device type cannot render it, or its access log has a forbidden target,
    with that problem and without content.
    """
    return drop_refused_target(check_supported_parts(definition, table), targets)


class SupportVerifier:
    """Verifier of enhanced services for devices without objects of operators, used by
    :class:`evenkeel.devices.esd.catalogue.Catalogue`.
    """

    def __init__(self, table: Capabilities, targets: LogTargets = NO_TARGETS) -> None:
        self._table = table
        self._targets = targets

    def files_changed(self) -> None:
        """Do nothing: this verifier reads nothing from devices."""

    async def verify(self, definitions: Mapping[str, Definition], *, strict: bool) -> Mapping[str, Definition]:
        """Return the definitions by name, with a problem in those that the device type cannot render;
        ``strict`` is ignored.
        """
        del strict  # there are no tags to discard
        return {name: checked_definition(one, self._table, self._targets) for name, one in definitions.items()}

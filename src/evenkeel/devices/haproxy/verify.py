"""Checks definitions of enhanced services for HAProxy, when they are loaded: parts, targets of access logs, lines of
operators.

The daemon applies the same rules to each line that it gets; here they find what the daemon would refuse, before a load
balancer uses the line. HAProxy's own errors about a line are found by the daemon's check of the whole configuration.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from evenkeel.config.esd.definition import Definition
from evenkeel.config.esd.parts import NO_PARTS
from evenkeel.devices.esd.support import SupportVerifier
from evenkeel.haproxyd.lines.rules import KEYWORDS_BY_SECTION, line_problem


class HaproxyVerifier(SupportVerifier):
    """Checks definitions of an agent's enhanced services for HAProxy, for
    :class:`evenkeel.devices.esd.catalogue.Catalogue`.
    """

    async def verify(self, definitions: Mapping[str, Definition], *, strict: bool) -> Mapping[str, Definition]:
        """Return the definitions by name, with a problem in those that HAProxy cannot render, whose access
        log has a forbidden target, or whose lines the daemon would refuse. ``strict`` is ignored.
        """
        found = await super().verify(definitions, strict=strict)
        return {name: _check_lines(one) for name, one in found.items()}


def _check_lines(definition: Definition) -> Definition:
    for number, line in enumerate(definition.parts.haproxy_lines or (), 1):
        if not definition.problem and (problem := line_problem(line, KEYWORDS_BY_SECTION["frontend"], kinds={})):
            where = f"{definition.file}: enhanced service {definition.name!r}: haproxy_lines: line {number}"
            return replace(definition, parts=NO_PARTS, tags={}, problem=f"{where}: {problem}")
    return definition

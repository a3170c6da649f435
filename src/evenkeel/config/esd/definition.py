"""One enhanced service definition, as read from a file and checked against the devices."""

from collections.abc import Iterable, Mapping

from evenkeel.config.esd.parts import NO_PARTS, Parts, parts_report
from evenkeel.config.esd.tags import TAGS
from evenkeel.core.kit.values import Value
from evenkeel.core.resources.enhanced_services import EnhancedService, ServiceParameter


class Definition(Value):
    """An enhanced service definition: objects in /Common by tag, and parts. ``problem``: why the definition
    cannot be used; empty: it can.
    """

    name: str
    file: str
    tags: Mapping[str, tuple[str, ...]] = {}
    """Full paths of the tag's objects, in order; for a tag without ``many`` at most one."""
    types: Mapping[str, str] = {}
    """Type on the device of the tag's object, by tag, for tags that take one object; empty until devices were asked."""
    parts: Parts = NO_PARTS
    parameters: Mapping[str, ServiceParameter] = {}
    """Numbers of the parts that tenants may set, by name."""
    problem: str = ""
    warnings: tuple[str, ...] = ()
    """Discarded tags, each with its reason."""
    secret_digest: str = ""
    """Digest of the agent's secret that the parts need beside the file; empty: they need none."""

    def path(self, tag: str) -> str:
        """Return the full path of the first object that the tag names; empty if the definition has none."""
        return next(iter(self.tags.get(tag, ())), "")

    def enhanced_service(self) -> EnhancedService:
        """Return the definition in the form in which the agent reports it to controllers."""
        return EnhancedService(
            name=self.name,
            file=self.file,
            tags=dict(self.tags),
            parts=parts_report(self.parts),
            parameters=dict(self.parameters),
            problem=self.problem,
            warnings=self.warnings,
            secret_digest=self.secret_digest,
        )


def object_types(definitions: Iterable[Definition]) -> tuple[str, ...]:
    """Return, sorted, the types on the device that the objects of the definitions' tags may have."""
    return tuple(
        sorted({type_ for one in definitions for tag, paths in one.tags.items() if paths for type_ in TAGS[tag].types})
    )

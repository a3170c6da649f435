"""Quotas: maximum numbers of objects of each kind in a project. Names, bounds and texts are Octavia's."""

from collections.abc import Mapping

from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value

UNLIMITED = -1
MAX_QUOTA = 2_000_000_000

TITLES: dict[str, str] = {
    "loadbalancer": "Load Balancer",
    "listener": "Listener",
    "pool": "Pool",
    "member": "Member",
    "healthmonitor": "Health Monitor",
    "l7policy": "L7 Policy",
    "l7rule": "L7 Rule",
}
"""{kind of object with a quota: its name in error texts}."""

Limits = Mapping[str, int | None]
"""{kind of object: its limit, or None for the default}."""


class Quotas(Value):
    """The maximum number of objects of each kind in a project; -1: no limit."""

    loadbalancer: int = UNLIMITED
    listener: int = UNLIMITED
    pool: int = UNLIMITED
    member: int = UNLIMITED
    healthmonitor: int = UNLIMITED
    l7policy: int = UNLIMITED
    l7rule: int = UNLIMITED

    def limited_kinds(self) -> frozenset[str]:
        """Return the kinds of objects (keys of :data:`TITLES`) that have a limit."""
        return frozenset(name for name in TITLES if getattr(self, name) != UNLIMITED)

    def with_project_limits(self, limits: Limits) -> "Quotas":
        """Return a copy with the given ``limits`` in place of these; kinds that are missing in ``limits``, or
        None, stay.
        """
        values = {name: limits.get(name) for name in TITLES}
        return Quotas(**{name: getattr(self, name) if value is None else value for name, value in values.items()})


class ProjectQuotas(Value):
    """The quotas of one project, with the defaults where it has none of its own."""

    project_id: ProjectId
    quotas: Quotas

    @property
    def id(self) -> str:
        """Key after which the next page of a list continues: the project's id."""
        return self.project_id


def exceeded_quotas(quotas: Quotas, used: Mapping[str, int], wanted: Mapping[str, int]) -> tuple[str, ...]:
    """Return the titles (:data:`TITLES`) of the kinds whose quota ``used`` and ``wanted`` objects ({kind:
    number}) together exceed; empty if none is.

    A change that adds nothing is never refused, even where a quota was lowered below the number in use.
    """
    return tuple(
        title
        for name, title in TITLES.items()
        if (more := wanted.get(name, 0)) > 0
        and (limit := getattr(quotas, name)) != UNLIMITED
        and used.get(name, 0) + more > limit
    )

"""Counts of an import by kind of object and by attribute."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.moving_in.foreign import OBJECT_KINDS
from evenkeel.cli.moving_in.importing import OUTCOME_REFUSED, ImportRow

LOAD_BALANCER, LISTENER, POOL, MEMBER, MONITOR, POLICY, RULE = OBJECT_KINDS
CERTIFICATE_KIND = "certificate"

_CHILD_KINDS: Mapping[str, Mapping[str, str]] = {
    LOAD_BALANCER: {"listeners": LISTENER, "pools": POOL},
    LISTENER: {"l7policies": POLICY},
    POLICY: {"rules": RULE},
    POOL: {"members": MEMBER, "healthmonitor": MONITOR},
}
"""Kind of the objects below an object, by its kind and the attribute that contains them."""
_PLURAL_BY_KIND = {POLICY: "L7 policies"}
_REFERENCE_SUFFIXES = ("_container_ref", "_container_refs")
"""Ends of the names of attributes that refer to certificates."""


class ImportCount(NamedTuple):
    """How many objects of one kind, or with one attribute, were found, and how many of these are carried over."""

    found: int
    carried_over: int

    def as_json(self) -> dict[str, int]:
        """Return the numbers found, carried over and not carried over, as an object for the command's JSON
        output.
        """
        return {
            "found": self.found,
            "carried_over": self.carried_over,
            "not_carried_over": self.found - self.carried_over,
        }


class ImportStatistics:
    """Counts outcomes, objects and attributes of an import. Nothing of a refused or skipped load balancer
    counts as carried over.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._found: Counter[str] = Counter()
        self._carried: Counter[str] = Counter()
        self._attributes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._lost: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._certificates: dict[str, bool] = {}

    def add(self, row: ImportRow) -> None:
        """Count one load balancer with all its children."""
        self.outcomes[row.outcome] += 1
        carried = row.carried_over
        for kind, body in _object_and_children(LOAD_BALANCER, row.load_balancer.body):
            self.count(kind, carried=carried)
            if carried:
                self._attributes[kind].update(name for name, value in body.items() if _is_carried(kind, name, value))
            for reference in _certificate_references(body):
                self._certificates[reference] = self._certificates.get(reference, False) or carried
        if carried:
            for lost in row.load_balancer.lost:
                self._lost[lost.kind][lost.attribute] += 1

    def count(self, kind: str, *, carried: bool) -> None:
        """Count one object of a kind; ``carried``: it is carried over."""
        self._found[kind] += 1
        self._carried[kind] += carried

    @property
    def kinds(self) -> dict[str, ImportCount]:
        """Counts by kind of object in plural, ``{kind: count}``; a certificate counts once, however many
        listeners use it.
        """
        certificates = ImportCount(len(self._certificates), sum(self._certificates.values()))
        others = [kind for kind in self._found if kind not in OBJECT_KINDS]
        counts = {kind: ImportCount(self._found[kind], self._carried[kind]) for kind in (*OBJECT_KINDS, *others)}
        return {plural_of_kind(kind): count for kind, count in ({**counts, CERTIFICATE_KIND: certificates}).items()}

    @property
    def attributes(self) -> dict[str, dict[str, ImportCount]]:
        """Counts by kind of object and attribute, ``{kind: {attribute: count}}``, of objects with a value in
        the attribute; only of load balancers that are carried over.
        """
        return {
            kind: {
                name: ImportCount(self._attributes[kind][name] + self._lost[kind][name], self._attributes[kind][name])
                for name in sorted({*self._attributes[kind], *self._lost[kind]})
            }
            for kind in OBJECT_KINDS
            if self._attributes[kind] or self._lost[kind]
        }

    def as_json(self) -> dict[str, Any]:
        """Return the counts as an object for the command's JSON output."""
        return {
            "outcomes": dict(self.outcomes),
            "kinds": {kind: count.as_json() for kind, count in self.kinds.items()},
            "attributes": {
                kind: {name: count.as_json() for name, count in counts.items()}
                for kind, counts in self.attributes.items()
            },
        }

    def lines(self, *, attributes: bool = False) -> Iterator[str]:
        """Yield a table with the numbers by kind; with ``attributes`` also a table by attribute for each kind."""
        yield from _table_lines("", self.kinds)
        for kind, counts in self.attributes.items() if attributes else ():
            yield ""
            yield from _table_lines(kind, counts)


def plural_of_kind(kind: str) -> str:
    """Return the plural of the name of a kind of objects."""
    return _PLURAL_BY_KIND.get(kind, f"{kind}s")


def _table_lines(title: str, counts: Mapping[str, ImportCount]) -> Iterator[str]:
    width = max((len(name) for name in (title, *counts)), default=0)
    yield f"{title:<{width}}  {'found':>8}  {'carried over':>12}  {'not':>6}"
    for name, count in counts.items():
        yield f"{name:<{width}}  {count.found:>8}  {count.carried_over:>12}  {count.found - count.carried_over:>6}"


def _object_and_children(kind: str, body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the object and all objects below it, each with its kind."""
    yield kind, body
    for attribute, below in _CHILD_KINDS.get(kind, {}).items():
        value = body.get(attribute) or ()
        for each in [value] if isinstance(value, Mapping) else value:
            yield from _object_and_children(below, each)


def _is_carried(kind: str, name: str, value: Any) -> bool:
    return name not in _CHILD_KINDS.get(kind, {}) and value not in (None, [], {}, "")


def _certificate_references(body: Mapping[str, Any]) -> Iterable[str]:
    for name, value in body.items():
        if name.endswith(_REFERENCE_SUFFIXES) and value:
            yield from [value] if isinstance(value, str) else value


def needs_attention(outcomes: Mapping[str, int]) -> bool:
    """Whether an operator has to look at the import: a load balancer was refused or skipped, or differs.
    ``outcomes``: ``{outcome: number of load balancers}``.
    """
    return any(outcomes.get(name) for name in (OUTCOME_REFUSED, "differs", "skipped"))

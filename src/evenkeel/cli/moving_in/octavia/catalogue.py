"""Flavors and availability zones of the source of an import, each replaced by one of Even Keel's."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.client import ApiRefused, UsageError
from evenkeel.cli.moving_in.octavia.source import OctaviaApi, Row
from evenkeel.cli.moving_in.octavia.trees import EntryReplacement

_NOT_VISIBLE_STATUSES = (403, 404)
"""Statuses of a list that the caller may not see, or that does not exist."""


class CatalogueKind(NamedTuple):
    """Flavors or availability zones: the names that Octavia's API has for this kind, both at Even Keel and at
    the source.
    """

    title: str
    option: str
    """The command's option by which operators map entries of the source to ours."""
    path: str
    key: str
    profiles_path: str
    profiles_key: str
    profile_id: str
    data: str
    """Attribute of a profile with the settings."""
    identity: str
    """Attribute by which load balancers refer to an entry: a flavor's id, a zone's name."""


FLAVOR_KIND = CatalogueKind(
    title="flavor",
    option="--flavor",
    path="/flavors",
    key="flavors",
    profiles_path="/flavorprofiles",
    profiles_key="flavorprofiles",
    profile_id="flavor_profile_id",
    data="flavor_data",
    identity="id",
)
ZONE_KIND = CatalogueKind(
    title="availability zone",
    option="--availability-zone",
    path="/availabilityzones",
    key="availability_zones",
    profiles_path="/availabilityzoneprofiles",
    profiles_key="availability_zone_profiles",
    profile_id="availability_zone_profile_id",
    data="availability_zone_data",
    identity="name",
)


class CatalogueEntry(NamedTuple):
    """A flavor or an availability zone, of the source or of Even Keel. ``data``: the settings of its profile,
    as JSON text.
    """

    identity: str
    name: str
    provider: str = ""
    """Provider of the entry; empty: unknown."""
    data: str = ""
    enabled: bool = True


class ReplacedEntry(NamedTuple):
    """A flavor or availability zone of the source that load balancers use, with Even Keel's that replaces it."""

    kind: CatalogueKind
    entry: CatalogueEntry
    choice: EntryReplacement

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object for ``-f json``: ``kind``, ``id``, ``name`` and data of the source's entry; ``ours``:
        the entry that replaces it, null if there is none; ``reason``.
        """
        return {
            "kind": self.kind.title,
            "id": self.entry.identity,
            "name": self.entry.name,
            self.kind.data: self.entry.data,
            "ours": self.choice.ours,
            "reason": self.choice.reason,
        }

    def __str__(self) -> str:
        title = f"{self.kind.title} {self.entry.identity}"
        title += f" ({self.entry.name})" if self.entry.name != self.entry.identity else ""
        title += f" {self.entry.data}" if self.entry.data else ""
        if self.choice.ours is None:
            return f"{title}: not carried over: {self.choice.reason}"
        return f"{title}: here {self.choice.ours}"


class ReplacementChooser:
    """Chooses which of Even Keel's entries replaces an entry of the source, for one kind; :attr:`used` has
    the entries that were requested.
    """

    def __init__(
        self,
        kind: CatalogueKind,
        *,
        source: Mapping[str, CatalogueEntry],
        ours: Mapping[str, CatalogueEntry],
        given: Mapping[str, str],
        provider: str,
    ) -> None:
        """Initialize the chooser. ``source``, ``ours``: all entries of the source and of Even Keel, by
        identity; ``given``: the operator's mapping, from names or ids at the source to Even Keel's;
        ``provider``: name of the environment. Raises :class:`UsageError` for a name in ``given`` that does
        not exist.
        """
        self._kind = kind
        self._source = source
        self._ours = ours
        self._provider = provider
        self._given = {self._source_identity(name): self._our_identity(other) for name, other in given.items()}
        self.used: dict[str, ReplacedEntry] = {}

    def choose(self, identity: str) -> EntryReplacement:
        """Return Even Keel's replacement for the source's entry: the one that the operator gave, else the one
        with the same name; without one the choice has the reason. Records the entry in :attr:`used`.
        """
        if identity not in self.used:
            entry = self._source.get(identity) or CatalogueEntry(
                identity, "" if self._kind is FLAVOR_KIND else identity
            )
            self.used[identity] = ReplacedEntry(self._kind, entry, self._choose_entry(entry))
        return self.used[identity].choice

    def _choose_entry(self, entry: CatalogueEntry) -> EntryReplacement:
        if entry.identity in self._given:
            return EntryReplacement(self._given[entry.identity])
        advice = f"{self._kind.option} {entry.name or entry.identity}=OURS"
        same = [each for each in self._ours.values() if entry.name and each.name == entry.name]
        if not same:
            return EntryReplacement(reason=f"no {self._kind.title} here has its name: {advice}")
        if not same[0].enabled:
            return EntryReplacement(reason=f"the {self._kind.title} here with its name is disabled: {advice}")
        if same[0].provider not in ("", self._provider):
            return EntryReplacement(
                reason=f"the {self._kind.title} here with its name is of provider {same[0].provider}: {advice}"
            )
        return EntryReplacement(same[0].identity)

    def _source_identity(self, name: str) -> str:
        return _unique_identity(self._source.values(), name, f"{self._kind.option}: the source")

    def _our_identity(self, name: str) -> str:
        return _unique_identity(self._ours.values(), name, f"{self._kind.option}: our catalogue")


def _unique_identity(entries: Iterable[CatalogueEntry], name: str, catalogue_name: str) -> str:
    """Return the identity of the only entry with this identity or name. Raises :class:`UsageError` if none or several
    match.
    """
    entries = tuple(entries)
    found = [each for each in entries if each.identity == name] or [each for each in entries if each.name == name]
    if len(found) != 1:
        raise UsageError(f"{catalogue_name} has {'no' if not found else 'several'} {name!r}")
    return found[0].identity


def parse_pairs(option: str, pairs: Iterable[str]) -> dict[str, str]:
    """Parse the values ``SOURCE=OURS`` of an option to ``{source: ours}``. Raises :class:`UsageError` for
    another form, and for a source with two replacements.
    """
    found: dict[str, str] = {}
    for text in pairs:
        there, _, here = text.partition("=")
        if not there or not here:
            raise UsageError(f"{option} {text!r} is not of the form SOURCE=OURS")
        if found.setdefault(there, here) != here:
            raise UsageError(f"{option}: {there!r} is given twice")
    return found


def read_entries(api: OctaviaApi, kind: CatalogueKind) -> dict[str, CatalogueEntry]:
    """Read all entries of a kind, ``{identity: entry}``; settings and providers only where an administrator
    is logged in.

    An API that lacks the kind, like older releases, or does not show it has no entries. Raises
    :class:`InvalidSourceData` for an unusable answer, and :class:`ClientError`.
    """
    profiles = {row["id"]: row for row in _visible_rows(api, kind.profiles_path, kind.profiles_key)}
    found: dict[str, CatalogueEntry] = {}
    for row in _visible_rows(api, kind.path, kind.key):
        profile: Row = profiles.get(str(row.get(kind.profile_id)), {})
        identity = str(row[kind.identity])
        found[identity] = CatalogueEntry(
            identity=identity,
            name=str(row.get("name") or ""),
            provider=str(profile.get("provider_name") or ""),
            data=str(profile.get(kind.data) or ""),
            enabled=bool(row.get("enabled", True)),
        )
    return found


def _visible_rows(api: OctaviaApi, path: str, key: str) -> list[Row]:
    try:
        return api.read_rows(path, key)
    except ApiRefused as error:
        if error.status in _NOT_VISIBLE_STATUSES:
            return []
        raise

"""Import of projects' quotas: where a source's limits differ, Even Keel's are set to them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from evenkeel.cli.client import ApiRefused, Client, quote_segment
from evenkeel.cli.moving_in.octavia.source import OctaviaApi, Row

QUOTA_KINDS = ("loadbalancer", "listener", "pool", "member", "healthmonitor", "l7policy", "l7rule")
UNLIMITED_QUOTA = -1
LIMIT_MAX = 2_000_000_000


class QuotaRow(NamedTuple):
    """Outcome of the import of one project's quotas."""

    project_id: str
    outcome: str
    """``new``, ``imported``, ``present`` or ``refused``."""
    changes: Mapping[str, tuple[int, int]] = {}
    """``{kind of object: (our limit before, our limit after)}`` of limits that differ."""
    remarks: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as an object for the command's JSON output."""
        changes = {kind: {"from": before, "to": after} for kind, (before, after) in self.changes.items()}
        return {
            "project_id": self.project_id,
            "outcome": self.outcome,
            "changes": changes,
            "remarks": list(self.remarks),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines that show the outcome."""
        changes_text = ", ".join(
            f"{kind} {_limit_text(old)} -> {_limit_text(new)}" for kind, (old, new) in self.changes.items()
        )
        yield f"{self.outcome:<9}quotas of project {self.project_id}" + (f": {changes_text}" if changes_text else "")
        yield from (f"  {remark}" for remark in self.remarks)


class DefaultQuotaDifference(NamedTuple):
    """A default quota of one kind of object, with different limits at the source (``there``) and at Even Keel
    (``here``); -1: unlimited.
    """

    kind: str
    there: int
    here: int

    def __str__(self) -> str:
        return f"default quota of {self.kind}: {_limit_text(self.there)} at the source, {_limit_text(self.here)} here"


def default_quota_differences(source: OctaviaApi, ours: OctaviaApi) -> list[DefaultQuotaDifference]:
    """Return the default quotas, for projects without their own, that differ at the source and at Even Keel.
    Raises :class:`InvalidSourceData` for an unusable answer, and :class:`ClientError`.
    """
    (there, _), (here, _) = (_valid_limits(api.read_object("/quotas/defaults", "quota")) for api in (source, ours))
    return [
        DefaultQuotaDifference(kind, there[kind], here[kind])
        for kind in QUOTA_KINDS
        if kind in there and kind in here and there[kind] != here[kind]
    ]


def import_quotas(
    source: OctaviaApi, ours: OctaviaApi, client: Client, *, project_id: str | None, apply: bool
) -> Iterator[QuotaRow]:
    """Compare the quotas of each project that has its own at the source (or of one project) with Even Keel's,
    and yield the outcomes; with ``apply`` set Even Keel's limits.

    Raises :class:`InvalidSourceData` and :class:`ClientError` for what cannot be read at the source; a refusal by
    Even Keel is an outcome.
    """
    rows: Iterable[Row]
    if project_id is None:
        rows = source.read_rows("/quotas", "quotas")
    else:
        rows = [{**source.read_object(f"/quotas/{quote_segment(project_id)}", "quota"), "project_id": project_id}]
    for row in rows:
        yield _import_quota(row, ours, client, apply=apply)


def _import_quota(row: Row, ours: OctaviaApi, client: Client, *, apply: bool) -> QuotaRow:
    project_id = str(row["project_id"])
    path = f"/quotas/{quote_segment(project_id)}"
    limits, remarks = _valid_limits(row)
    try:
        there = ours.read_object(path, "quota")
        changes = {kind: (int(there[kind]), limit) for kind, limit in limits.items() if there.get(kind) != limit}
        if not changes:
            return QuotaRow(project_id, "present", remarks=remarks)
        if apply:
            client.put(f"/v2.0/lbaas{path}", {"quota": {kind: after for kind, (_, after) in changes.items()}})
    except ApiRefused as error:
        return QuotaRow(project_id, "refused", remarks=(*remarks, str(error)))
    return QuotaRow(project_id, "imported" if apply else "new", changes, remarks)


def _valid_limits(row: Row) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return the source's limits that Even Keel accepts, by kind of object, and remarks on the others."""
    limits: dict[str, int] = {}
    remarks = []
    for kind in QUOTA_KINDS:
        value = row.get(kind)
        if value is None:  # the source's default, which it does not show
            remarks.append(f"{kind}: the source shows no limit: our default stays")
        elif isinstance(value, bool) or not isinstance(value, int) or not UNLIMITED_QUOTA <= value <= LIMIT_MAX:
            remarks.append(f"{kind} {value}: not from {UNLIMITED_QUOTA} to {LIMIT_MAX}: our limit stays")
        else:
            limits[kind] = value
    return limits, tuple(remarks)


def _limit_text(limit: int) -> str:
    return "unlimited" if limit == UNLIMITED_QUOTA else str(limit)

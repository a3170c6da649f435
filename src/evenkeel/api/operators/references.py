"""References of listeners and pools to key managers: their state, and refresh on request."""

from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import NamedTuple

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, as_bool
from evenkeel.api.operators.query import number_of, options_of
from evenkeel.api.operators.requests import RefreshBody
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import timestamp
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import ReferencedCertificate, ReferenceQuery

REFERENCES_MAX = 1000
DAYS_MAX = 36_500
NAMED_MAX = 3


class ReferenceView(Value):
    """A reference to a key manager; the facts are of a certificate, or of the first of several CA certificates."""

    reference: str
    project_id: str
    kind: str
    sha256: str
    """Identity of the last content read."""
    problem: str
    """Reason why the last read failed; empty: it succeeded."""
    checked_at: str
    """Time of the last successful read."""
    load_balancers: int
    """Number of load balancers that use the reference."""
    subject: str | None = None
    dns_names: list[str] | None = None
    not_after: str | None = None
    """Expiry of a certificate, or of the first of several; next update of a revocation list."""


class RefreshView(Value):
    """Number of references to read again now."""

    references: int


async def references(services: Services, call: Call) -> Answer:
    """Handle GET /references: list references by expiry."""
    options = options_of(call, ("project_id", "expiring_days", "unreadable"))
    days = options.get("expiring_days")
    query = ReferenceQuery(
        project_id=ProjectId(options["project_id"]) if "project_id" in options else None,
        expiring_days=None if days is None else number_of("expiring_days", days, 0, DAYS_MAX),
        unreadable=as_bool("unreadable", options.get("unreadable", "false")),
    )
    rows = await services.operators.references(query, limit=REFERENCES_MAX)
    return json_answer({"references": [reference_view(row) for row in rows]})


async def refresh(services: Services, call: Call, body: RefreshBody) -> Answer:
    """Handle POST /references/refresh: the controllers read the references within seconds. Answers 202. Raises
    :class:`NotFound` for a reference that no listener or pool has.
    """
    reference = body.refresh.reference
    count = await services.operators.refresh_references(reference)
    if reference is not None and not count:
        raise NotFound("Reference", reference)
    return json_answer({"refresh": RefreshView(references=count)}, 202)


def reference_view(row: ReferencedCertificate) -> ReferenceView:
    facts = row.facts
    return ReferenceView(
        reference=row.reference,
        project_id=row.project_id,
        kind=row.kind.value,
        sha256=row.sha256,
        problem=row.problem,
        checked_at=timestamp(row.checked_at.timestamp()),
        load_balancers=row.load_balancers,
        subject=None if facts is None else facts.subject,
        dns_names=None if facts is None else list(facts.dns_names),
        not_after=None if row.ends_at is None else timestamp(row.ends_at.timestamp()),
    )


class CertificateTrouble(NamedTuple):
    """A problem with certificates, and the command that helps; both are empty if there is none."""

    text: str = ""
    remedy: str = ""


def expiry_of(rows: Sequence[ReferencedCertificate]) -> CertificateTrouble:
    """Describe the certificates of one load balancer that expire, earliest first."""
    first = next(iter(rows), None)
    if first is None or first.ends_at is None:
        return CertificateTrouble()
    verb = "has expired" if first.ends_at <= datetime.now(UTC) else "expires"
    until = timestamp(first.ends_at.timestamp())
    return CertificateTrouble(
        f"{first.kind.words} {first.reference} {verb}: valid until {until}{_more_text(rows)}",
        f"renew it in the key manager, then: {_refresh(first)}",
    )


def unreadable_of(rows: Sequence[ReferencedCertificate]) -> CertificateTrouble:
    """Describe the certificates of one load balancer that the controllers cannot read; ``rows`` is not empty."""
    first = rows[0]
    return CertificateTrouble(
        f"{first.kind.words} {first.reference} cannot be read from the key manager: {first.problem}{_more_text(rows)};"
        " devices keep the last content read",
        f"mend the reason, or give the listener or pool another reference; then: {_refresh(first)}",
    )


def _more_text(rows: Sequence[ReferencedCertificate]) -> str:
    return f", and {len(rows) - 1} more" if len(rows) > 1 else ""


def _refresh(row: ReferencedCertificate) -> str:
    # quoted: tenants choose references, and operators copy the command into a shell
    return f"evenkeel certificate refresh {quote(row.reference)}"


def reference_problems(
    expiring: Sequence[ReferencedCertificate], unreadable: Sequence[ReferencedCertificate], *, days: int
) -> list[CertificateTrouble]:
    """Return problems with references, for the system's status. ``expiring``: references that
    expire within ``days``.
    """
    found = []
    if expiring:
        text = f"{_count_text(expiring)} expired or about to expire: {_reference_names(expiring)}"
        found.append(CertificateTrouble(text, f"evenkeel certificate list --expiring {days}"))
    if unreadable:
        text = f"{_count_text(unreadable)} not readable in the key manager: {_reference_names(unreadable)}"
        found.append(CertificateTrouble(text, "evenkeel certificate list --unreadable"))
    return found


def _count_text(rows: Sequence[ReferencedCertificate]) -> str:
    return f"{len(rows)}{' or more' if len(rows) >= REFERENCES_MAX else ''} certificates in use are"


def _reference_names(rows: Sequence[ReferencedCertificate]) -> str:
    return ", ".join(row.reference for row in rows[:NAMED_MAX]) + (" and more" if len(rows) > NAMED_MAX else "")

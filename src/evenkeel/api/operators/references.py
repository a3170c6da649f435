"""References of listeners and pools to key managers: their state, and refresh on request."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import NamedTuple

from evenkeel.api.common.services import Services
from evenkeel.api.http.call import Call, parse_bool
from evenkeel.api.operators.problems import ProblemCommand, ProblemObject, SystemProblem
from evenkeel.api.operators.query import parse_number_within, query_options
from evenkeel.api.operators.requests import RefreshBody
from evenkeel.api.responses.answers import Answer, json_answer
from evenkeel.api.responses.timestamps import format_time
from evenkeel.core.kit.errors import NotFound
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.kit.values import Value
from evenkeel.core.kit.words import count_with_noun
from evenkeel.core.tls.acme.values import AcmeCertificate
from evenkeel.core.tls.certificates import ReferencedCertificate, ReferenceQuery

REFERENCES_MAX = 1000
DAYS_MAX = 36_500
REFERENCES_NAMED_MAX = 3


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
    """Expiry of the certificate, or of the first of several; for a revocation list the time of its next update.

    Null: the content has none, or was not read yet.
    """


class RefreshView(Value):
    """Number of references to read again now."""

    references: int


async def list_references(services: Services, call: Call) -> Answer:
    """Handle GET /references: list at most :data:`REFERENCES_MAX` references by expiry, filtered by query
    parameters. Raises :class:`InvalidQuery` for a bad parameter.
    """
    options = query_options(call, ("project_id", "load_balancer_id", "expiring_days", "unreadable"))
    days = options.get("expiring_days")
    query = ReferenceQuery(
        project_id=ProjectId(options["project_id"]) if "project_id" in options else None,
        load_balancer_id=LoadBalancerId(options["load_balancer_id"]) if "load_balancer_id" in options else None,
        expiring_days=None if days is None else parse_number_within("expiring_days", days, 0, DAYS_MAX),
        unreadable=parse_bool("unreadable", options.get("unreadable", "false")),
    )
    rows = await services.operators.references(query, limit=REFERENCES_MAX)
    return json_answer({"references": [reference_view(row) for row in rows]})


async def refresh_references(services: Services, call: Call, body: RefreshBody) -> Answer:
    """Handle POST /references/refresh: the controllers read the references again within seconds. Answers 202
    with their number. Raises :class:`NotFound` for a reference that no listener or pool has.
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
        checked_at=format_time(row.checked_at.timestamp()),
        load_balancers=row.load_balancers,
        subject=None if facts is None else facts.subject,
        dns_names=None if facts is None else list(facts.dns_names),
        not_after=None if row.ends_at is None else format_time(row.ends_at.timestamp()),
    )


class LoadBalancerCertificateProblem(NamedTuple):
    """A problem with certificates of one load balancer as a text, and the commands that help; both are empty if there
    is none.
    """

    text: str = ""
    remedy: str = ""


def certificate_expiry_problem(rows: Sequence[ReferencedCertificate]) -> LoadBalancerCertificateProblem:
    """Describe the certificates of one load balancer that expire or have expired, given with the first to
    expire at the front; an empty problem for no rows, or if the first one has no expiry.
    """
    first = next(iter(rows), None)
    if first is None or first.ends_at is None:
        return LoadBalancerCertificateProblem()
    verb = "has expired" if first.ends_at <= datetime.now(UTC) else "expires"
    until = format_time(first.ends_at.timestamp())
    return LoadBalancerCertificateProblem(
        f"{first.kind.words} {first.reference} {verb}: valid until {until}{_text_about_further_certificates(rows)}",
        f"renew it in the key manager, then: {_refresh_command(first)}",
    )


def unreadable_certificate_problem(rows: Sequence[ReferencedCertificate]) -> LoadBalancerCertificateProblem:
    """Describe the certificates of one load balancer that the controllers cannot read; ``rows`` is not empty."""
    first = rows[0]
    return LoadBalancerCertificateProblem(
        f"{first.kind.words} {first.reference} cannot be read from the key manager: {first.problem}"
        f"{_text_about_further_certificates(rows)};"
        " devices keep the last content read",
        f"fix the cause, or give the listener or pool another reference; then: {_refresh_command(first)}",
    )


def unissued_certificate_problem(
    request: AcmeCertificate, reference: str, *, awaited: bool
) -> LoadBalancerCertificateProblem:
    """Describe a requested certificate of one load balancer that its authority does not issue or renew. ``awaited``:
    whether listeners wait for it.
    """
    names = ", ".join(request.names)
    problem = request.progress.problem or "the order is under way"
    return LoadBalancerCertificateProblem(
        f"certificate {reference} for {names} is {request.progress.state.value}: {problem}"
        f"{'; its listeners wait for it' if awaited else ''}",
        f"fix the cause; the next attempt follows by itself: evenkeel certificate show {quote(reference)}",
    )


def missing_certificate_request_problem(row: ReferencedCertificate) -> LoadBalancerCertificateProblem:
    """Describe a certificate of one load balancer that listeners wait for although the request is gone."""
    return LoadBalancerCertificateProblem(
        f"{row.kind.words} {row.reference} is missing, and its listeners wait: {row.problem or 'it is not requested'}",
        "delete the listener, or give it another reference; a new listener with the reference requests it again",
    )


def _text_about_further_certificates(rows: Sequence[ReferencedCertificate]) -> str:
    return f", and {len(rows) - 1} more" if len(rows) > 1 else ""


def _refresh_command(row: ReferencedCertificate) -> str:
    # quoted: tenants choose references, and operators copy the command into a shell
    return f"evenkeel certificate refresh {quote(row.reference)}"


def reference_problems(
    expiring: Sequence[ReferencedCertificate], unreadable: Sequence[ReferencedCertificate], *, days: int
) -> Iterator[SystemProblem]:
    """Yield at most two problems with references, for the system's status: one for ``expiring``, which expire
    within ``days``, and one for ``unreadable``.
    """
    if expiring:
        yield _reference_problem(
            expiring,
            text="expired or about to expire",
            command=f"evenkeel certificate list --expiring {days}",
            condition="once it is renewed in the key manager",
            about=ProblemObject("certificates", f"expiring_days={days}", "certificates that expire"),
        )
    if unreadable:
        yield _reference_problem(
            unreadable,
            text="not readable in the key manager",
            command="evenkeel certificate list --unreadable",
            condition="once the cause is fixed",
            about=ProblemObject("certificates", "unreadable=true", "certificates that cannot be read"),
        )


def _reference_problem(
    rows: Sequence[ReferencedCertificate], *, text: str, command: str, condition: str, about: ProblemObject
) -> SystemProblem:
    """Build a problem about references. ``command``: lists the references; ``condition``: when each may be
    read again.
    """
    again = (ProblemCommand(_refresh_command(row), condition=condition) for row in rows[:REFERENCES_NAMED_MAX])
    return SystemProblem(
        kind="certificates",
        text=f"{_certificate_count_text(rows)} {text}: {_reference_names(rows)}",
        remedy=command,
        objects=(about,),
        commands=(ProblemCommand(command), *again),
    )


def _certificate_count_text(rows: Sequence[ReferencedCertificate]) -> str:
    if len(rows) >= REFERENCES_MAX:
        return f"{len(rows)} or more certificates in use are"
    return count_with_noun(len(rows), "certificate in use is", "certificates in use are")


def _reference_names(rows: Sequence[ReferencedCertificate]) -> str:
    return ", ".join(row.reference for row in rows[:REFERENCES_NAMED_MAX]) + (
        " and more" if len(rows) > REFERENCES_NAMED_MAX else ""
    )

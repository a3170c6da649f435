"""References are read again: new content reaches agents; what cannot be read is noted; an outage changes nothing."""

from typing import Any

import pytest
import structlog
from msgspec.structs import replace

from evenkeel.controller.renewals import DUE_PER_PAGE, Renewals
from evenkeel.core.control.writes import Change
from evenkeel.core.kit.errors import CertificateNotFound, KeyManagerUnavailable
from evenkeel.core.kit.ids import LoadBalancerId, ProjectId
from evenkeel.core.tls.certificates import CertificateBundle, CertificateKind, CheckedCertificate, DueCertificate
from tests.controller.test_certificates import Manager


def due(reference: str) -> DueCertificate:
    return DueCertificate(
        id=reference, project_id=ProjectId("t"), reference=reference, kind=CertificateKind.CERTIFICATE
    )


CHANGE = Change(load_balancer_id=LoadBalancerId("lb-1"), revision=2, environment="e", owner=None, placed=True)


class Database:
    """Has references that are due, and notes what was found."""

    def __init__(self, *references: str) -> None:
        self.due = [due(reference) for reference in references]
        self.found: dict[str, str] = {}
        self.problems: dict[str, str] = {}
        self.warned = 0

    async def take_due_certificates(self, *, limit: int) -> tuple[DueCertificate, ...]:
        taken, self.due = self.due[:limit], self.due[limit:]
        return tuple(taken)

    async def record_content(self, due: DueCertificate, found: CheckedCertificate) -> tuple[Change, ...]:
        self.found[due.reference] = found.sha256
        return (CHANGE,) if due.reference == "new" else ()

    async def record_read_problem(self, due: DueCertificate, problem: str) -> None:
        self.problems[due.reference] = problem

    async def warn_of_expiry(self, *, limit: int) -> int:
        self.warned += 1
        return 0


class Driver:
    """Takes note of what is announced."""

    def __init__(self) -> None:
        self.accepts: list[Change] = []

    async def change_accepted(self, change: Change) -> None:
        self.accepts.append(change)


def renewals(database: Database, manager: Manager) -> tuple[Renewals, Driver]:
    driver: Any = Driver()
    store: Any = database
    return Renewals(store, manager, driver), driver


async def test_due_references_are_read_and_their_changes_announced() -> None:
    database, manager = Database("same", "new"), Manager()
    made, driver = renewals(database, manager)
    await made.process_due()
    assert database.found == {"same": "of same", "new": "of new"} and driver.accepts == [CHANGE]
    assert database.warned == 1


class OddManager(Manager):
    """Its certificates come from odd files."""

    async def certificate(self, reference: str, project_id: str) -> CertificateBundle:
        return replace(await super().certificate(reference, project_id), warnings=("Certificate 3 is odd.",))


async def test_oddities_of_renewed_files_are_logged_once() -> None:
    made, _ = renewals(Database("same", "new"), OddManager())
    with structlog.testing.capture_logs() as logs:
        await made.process_due()
    told = [one for one in logs if one["event"] == "certificate accepted with an oddity"]
    assert [(one["reference"], one["reason"]) for one in told] == [("new", "Certificate 3 is odd.")]


async def test_all_that_is_due_is_read_at_once_some_at_a_time() -> None:
    database, manager = Database(*(f"r{number}" for number in range(3 * DUE_PER_PAGE + 1))), Manager()
    made, _ = renewals(database, manager)
    await made.process_due()
    assert len(database.found) == 3 * DUE_PER_PAGE + 1 and manager.most <= 4


async def test_unreadable_reference_is_noted_and_others_are_read() -> None:
    database, manager = Database("gone", "there"), Manager()
    manager.failures["gone"] = CertificateNotFound("gone")
    made, driver = renewals(database, manager)
    await made.process_due()
    assert database.problems == {"gone": "Could not retrieve certificate: ['gone']"}
    assert database.found == {"there": "of there"} and driver.accepts == []


async def test_a_key_manager_that_is_away_is_no_problem_of_the_certificate() -> None:
    database, manager = Database("first", "there"), Manager()
    manager.failures["first"] = KeyManagerUnavailable("away")
    made, _ = renewals(database, manager)
    with pytest.raises(KeyManagerUnavailable):
        await made.process_due()
    assert database.problems == {} and database.found == {"there": "of there"} and database.warned == 1

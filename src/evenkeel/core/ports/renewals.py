"""The store port of the references to key managers: when each is to be read again, and what was found."""

from typing import Protocol

from evenkeel.core.certificates import CertificateKind, CheckedCertificate, DueCertificate
from evenkeel.core.control import Change
from evenkeel.core.ids import ProjectId


class RenewalStore(Protocol):
    """References that listeners and pools have. Several controllers may use it at the same time."""

    async def check_now(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        """It is due. Harmless if no listener or pool has the reference any more."""
        ...

    async def take_due(self, *, limit: int) -> tuple[DueCertificate, ...]:
        """References that are due and in use, longest first; the next time they are due is after
        ``certificate_refresh_seconds``, so no other controller takes them until then."""
        ...

    async def note_content(self, due: DueCertificate, found: CheckedCertificate) -> tuple[Change, ...]:
        """Store what was read. If the content is new, every load balancer that uses it gets a new revision, and there
        is an event; those changes are returned, to be announced to their agents."""
        ...

    async def note_problem(self, due: DueCertificate, problem: str) -> None:
        """It cannot be read any more; nothing changes for load balancers. An event the first time."""
        ...

    async def warn_of_expiry(self, *, limit: int) -> int:
        """Record an event for each certificate in use that expires within one of :data:`EXPIRY_DAYS`, unless there was
        one; returns how many."""
        ...

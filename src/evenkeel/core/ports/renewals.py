"""Store port for reading the contents of references to key managers again: schedule and results."""

from typing import Protocol

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, DueCertificate


class RenewalStore(Protocol):
    """Store port for references of listeners and pools. Several controllers may use it at the same time."""

    async def make_due(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        """Make a reference due to be read again. Does nothing if no listener or pool has it any more."""
        ...

    async def take_due(self, *, limit: int) -> tuple[DueCertificate, ...]:
        """Return references that are due and in use, longest due first; they become due again after
        ``certificate_refresh_seconds``, so no other controller takes them until then.
        """
        ...

    async def note_content(self, due: DueCertificate, found: CheckedCertificate) -> tuple[Change, ...]:
        """Store the content that was read.

        If it is new, every load balancer that uses it gets a new revision, and an event is recorded; returns these
        changes, for hints to their agents.
        """
        ...

    async def note_problem(self, due: DueCertificate, problem: str) -> None:
        """Record that a reference cannot be read; load balancers do not change. An event is recorded the first time."""
        ...

    async def warn_of_expiry(self, *, limit: int) -> int:
        """Record an event for each certificate in use that expires within one of :data:`EXPIRY_DAYS`, unless recorded
        before; returns the number of events.
        """
        ...

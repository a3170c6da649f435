"""Store port for reading the contents of references to key managers again: schedule and results."""

from typing import Protocol

from evenkeel.core.control.writes import Change
from evenkeel.core.kit.ids import ProjectId
from evenkeel.core.tls.certificates import CertificateKind, CheckedCertificate, DueCertificate


class RenewalStore(Protocol):
    """Store port for references of listeners and pools to key managers. Several controllers may use it at the
    same time; every method may raise :class:`StoreUnavailable`.
    """

    async def make_certificate_due(self, project_id: ProjectId, reference: str, kind: CertificateKind) -> None:
        """Make a reference due now to be read again from its key manager. Does nothing if the reference is
        not stored.
        """
        ...

    async def take_due_certificates(self, *, limit: int) -> tuple[DueCertificate, ...]:
        """Return at most ``limit`` references, chosen as longest due, that are due to be read and in use by a
        listener or pool; sorted by id. They become due again after ``certificate_refresh_seconds``, so no
        other controller takes them until then.
        """
        ...

    async def record_content(self, due: DueCertificate, found: CheckedCertificate) -> tuple[Change, ...]:
        """Store the content that was read for a reference. If the content is new, every load balancer that
        uses the reference gets a new revision, and an event is recorded.

        Returns these changes, for hints to their agents; empty if the content is known, the reference is
        gone, or another controller read other content meanwhile: then the reference is due again at once.
        """
        ...

    async def record_read_problem(self, due: DueCertificate, problem: str) -> None:
        """Store why a reference cannot be read; load balancers keep what they have. An event is recorded if
        ``problem`` differs from the stored one. Does nothing for a reference that was never read
        successfully.
        """
        ...

    async def warn_of_expiry(self, *, limit: int) -> int:
        """Record an event for each certificate in use that expires within one of :data:`EXPIRY_DAYS`, unless
        one was recorded for that stage; for at most ``limit`` certificates, earliest expiry first. Returns
        the number of events.
        """
        ...

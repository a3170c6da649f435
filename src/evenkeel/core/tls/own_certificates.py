"""Certificates of the product itself: of its own servers, and of the servers to which it connects."""

from collections.abc import Sequence

from evenkeel.core.kit.values import Value
from evenkeel.core.tls.certificates import DAY_SECONDS, expiry_stages, expiry_text

DEVICE = "device "
"""Prefix of the names of certificates of devices' management addresses."""
EXPIRY_CHECK_SECONDS = 3600.0
"""Interval at which a process checks the expiry of a certificate."""


class OwnCertificate(Value):
    """A certificate of the product itself, identified by the place where it is used."""

    name: str
    """Unique text that names the certificate: ``message broker mq-1:5671``, ``controller ctl-1 api.ssl_cert_file``."""
    ends_at: float
    """Expiry time, in seconds since the epoch."""

    @property
    def is_of_device(self) -> bool:
        """True if this is the certificate of a device's management address."""
        return self.name.startswith(DEVICE)

    def reached_expiry_stage(self, now_seconds: float) -> int | None:
        """Return the smallest of :data:`~evenkeel.core.tls.certificates.EXPIRY_DAYS` within which the
        certificate expires, 0 if it has expired; None: it is valid for longer. ``now_seconds``: seconds
        since the epoch.
        """
        return min(expiry_stages(self.ends_at, now_seconds), default=None)

    def text(self, days: int) -> str:
        """Return the text of the event about the certificate's expiry, for operators. ``days``: result of
        :meth:`reached_expiry_stage`.
        """
        return expiry_text(f"certificate of {self.name}", self.ends_at, days)


def expiring_certificates(
    certificates: Sequence[OwnCertificate], *, days: int, now_seconds: float
) -> tuple[OwnCertificate, ...]:
    """Return the certificates that expire within ``days`` or have expired, sorted by expiry. ``now_seconds``:
    seconds since the epoch.
    """
    until = now_seconds + days * DAY_SECONDS
    found = (one for one in certificates if one.ends_at <= until)
    return tuple(sorted(found, key=lambda one: (one.ends_at, one.name)))

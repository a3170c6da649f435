"""Decides which state reports must be sent: an unchanged report is confirmed by the next keepalive instead."""

from msgspec.structs import replace

from evenkeel.core.protocol.messages import ReportState

FULL_EVERY = 6
"""An unchanged report is sent again after this number of report intervals, because the database may have lost the last
one; and assignments are requested once in that time without a hint.
"""
CONFIRMED_IN_A_ROW = FULL_EVERY - 1
"""Maximum number of successive reports that keepalives may confirm."""


class StateReports:
    """The last state report that controllers accepted, and how often keepalives have confirmed it."""

    def __init__(self) -> None:
        self._taken: ReportState | None = None
        self._confirmed = 0

    def is_unchanged(self, report: ReportState) -> bool:
        """Return whether the next keepalive can confirm the report instead of sending it. A report with
        capacity figures (or of a capacity policy without a measurement yet), enhanced services or moved
        networks is always sent, and so is one after :data:`CONFIRMED_IN_A_ROW` confirmations.
        """
        if report.capacity or report.capacity_unknown or report.moved_networks or report.enhanced_services is not None:
            return False
        # A row of confirmations ends with a full report, in case the database has lost the last one.
        return self._confirmed < CONFIRMED_IN_A_ROW and _drop_volatile_fields(report) == self._taken

    def record_confirmation(self) -> None:
        """Record that a keepalive confirms the last accepted report."""
        self._confirmed += 1

    def record_accepted(self, report: ReportState) -> None:
        """Record that controllers accepted the report."""
        self._taken, self._confirmed = _drop_volatile_fields(report), 0

    def forget(self) -> None:
        """Forget the last accepted report, so that the next one is sent."""
        self._taken = None


def _drop_volatile_fields(report: ReportState) -> ReportState:
    # The time of sending differs in every report; the other two are news, and must not make a later report look
    # changed.
    return replace(report, sent_at_seconds=0.0, enhanced_services=None, moved_networks=())

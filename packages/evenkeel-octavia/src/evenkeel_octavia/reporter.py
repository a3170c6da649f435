"""Reports to Octavia: through driver-agent's sockets, or by driver-agent's own code in this process."""

from pathlib import Path
from typing import Any

from octavia.api.drivers.driver_agent import driver_updater
from octavia_lib.api.drivers import driver_lib, exceptions
from octavia_lib.common import constants

from evenkeel_octavia import options
from evenkeel_octavia.earlier import UnconfirmedReports, report_processes
from evenkeel_octavia.reports import BadRecordError, ReportError, StatusReport


class UnreportedError(ReportError):
    """driver-agent did not accept a report."""


def make_reporter(conf: Any) -> "DriverAgentReporter | DatabaseReporter":
    """Return the reporter that the option ``report_by`` names."""
    if conf[options.OPTION_GROUP].report_by == options.DATABASE:
        return DatabaseReporter()
    return DriverAgentReporter(conf.driver_agent)


def _raise_unless_success(answer: Any) -> None:
    """Raise :class:`~evenkeel_octavia.reports.ReportError` unless Octavia's answer reports success."""
    if answer[constants.STATUS_CODE] == constants.DRVR_STATUS_CODE_OK:
        return
    text = str(answer.get(constants.FAULT_STRING))
    if found := answer.get(constants.STATUS_OBJECT_ID):
        raise BadRecordError(f"{text} ({answer.get(constants.STATUS_OBJECT)} {found})")
    raise UnreportedError(text)


class DatabaseReporter:
    """Reports by running the code of Octavia's driver-agent in this process, over kept database connections.

    driver-agent itself forks for each report and loads all of Octavia's models, which takes a third of a second.
    """

    def settle(self) -> None:
        """Return at once, because no report outlives the call that makes it."""

    def statuses(self, report: StatusReport) -> None:
        """Set statuses in Octavia's database. Raises :class:`~evenkeel_octavia.reports.ReportError` if
        Octavia refuses a record.
        """
        updater = driver_updater.DriverUpdater()
        try:
            _raise_unless_success(
                updater.update_loadbalancer_status({kind: list(records) for kind, records in report.items()})
            )
        finally:
            updater.db_session.close()

    def statistics(self, listeners: list[dict[str, Any]]) -> None:
        """Set listeners' totals in Octavia's database. Raises :class:`~evenkeel_octavia.reports.ReportError`
        if Octavia refuses them.
        """
        updater = driver_updater.DriverUpdater()
        try:
            _raise_unless_success(updater.update_listener_statistics({"listeners": listeners}))
        finally:
            updater.db_session.close()


class DriverAgentReporter:
    """Reports through the sockets of this host's driver-agent."""

    def __init__(self, options: Any) -> None:
        """Initialize. ``options``: Octavia's ``[driver_agent]``, which has the paths of the sockets."""
        self._options = options
        self._library: driver_lib.DriverLibrary | None = None
        self._earlier = UnconfirmedReports(
            lambda: self._send_report({}), lambda: report_processes(Path(self._options.status_socket_path))
        )

    def settle(self) -> None:
        """Wait a moment until no report whose outcome is unknown can be under way. Raises
        :class:`~evenkeel_octavia.reports.ReportError` if one still may be.
        """
        if number := self._earlier.number():
            raise UnreportedError(f"{number} earlier reports are still under way in driver-agent")

    def statuses(self, report: StatusReport) -> None:
        """Set statuses in Octavia's database. Raises :class:`~evenkeel_octavia.reports.ReportError` if
        driver-agent does not accept them, or an earlier report may be under way.
        """
        if self._earlier.may_be_under_way:
            raise UnreportedError("an earlier report has not been answered")
        self._send_report(report)

    def _send_report(self, report: StatusReport) -> None:
        try:
            self._driver_library().update_loadbalancer_status(report)
        except exceptions.UpdateStatusError as error:
            if error.status_object_id:
                where = f"{error.status_object} {error.status_object_id}"
                raise BadRecordError(f"{error.fault_string} ({where})") from error
            if error.__context__ is not None:
                self._earlier.record_unknown_outcome()  # no answer, or one that came too late
            raise UnreportedError(str(error.fault_string)) from error

    def statistics(self, listeners: list[dict[str, Any]]) -> None:
        """Set the totals of listeners in Octavia's database. Raises
        :class:`~evenkeel_octavia.reports.ReportError` if driver-agent does not accept them.
        """
        try:
            self._driver_library().update_listener_statistics({"listeners": listeners})
        except exceptions.UpdateStatisticsError as error:
            raise UnreportedError(str(error.fault_string)) from error

    def _driver_library(self) -> driver_lib.DriverLibrary:
        """Return octavia-lib's client. Raises :class:`UnreportedError` if a socket is missing, for which the
        client's constructor would wait minutes.
        """
        if self._library is None:
            paths = self._options
            sockets = (paths.status_socket_path, paths.stats_socket_path, paths.get_socket_path)
            if missing := [path for path in sockets if not Path(path).exists()]:
                raise UnreportedError(f"driver-agent's socket {missing[0]} is not there")
            self._library = driver_lib.DriverLibrary(
                status_socket=sockets[0], stats_socket=sockets[1], get_socket=sockets[2]
            )
        return self._library

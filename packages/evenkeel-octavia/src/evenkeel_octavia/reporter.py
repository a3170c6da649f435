"""Reports to Octavia through driver-agent's sockets, by octavia-lib."""

from pathlib import Path
from typing import Any

from octavia_lib.api.drivers import driver_lib, exceptions

from evenkeel_octavia.reports import BadRecordError, Report, ReportError


class UnreportedError(ReportError):
    """driver-agent did not take a report."""


class DriverAgentReporter:
    """Reporter to the driver-agent of this host."""

    def __init__(self, options: Any) -> None:
        """Initialize. ``options``: Octavia's ``[driver_agent]``, for the paths of the sockets."""
        self._options = options
        self._library: driver_lib.DriverLibrary | None = None

    def statuses(self, report: Report) -> None:
        """Set statuses in Octavia's database. Raises :class:`~evenkeel_octavia.reports.ReportError`."""
        try:
            self._driver_library().update_loadbalancer_status(report)
        except exceptions.UpdateStatusError as error:
            if error.status_object_id:
                where = f"{error.status_object} {error.status_object_id}"
                raise BadRecordError(f"{error.fault_string} ({where})") from error
            raise UnreportedError(str(error.fault_string)) from error

    def statistics(self, listeners: list[dict[str, Any]]) -> None:
        """Set the totals of listeners in Octavia's database. Raises :class:`~evenkeel_octavia.reports.ReportError`."""
        try:
            self._driver_library().update_listener_statistics({"listeners": listeners})
        except exceptions.UpdateStatisticsError as error:
            raise UnreportedError(str(error.fault_string)) from error

    def _driver_library(self) -> driver_lib.DriverLibrary:
        """Return octavia-lib's client, whose constructor would wait minutes for sockets that are not there."""
        if self._library is None:
            options = self._options
            sockets = (options.status_socket_path, options.stats_socket_path, options.get_socket_path)
            if missing := [path for path in sockets if not Path(path).exists()]:
                raise UnreportedError(f"driver-agent's socket {missing[0]} is not there")
            self._library = driver_lib.DriverLibrary(
                status_socket=sockets[0], stats_socket=sockets[1], get_socket=sockets[2]
            )
        return self._library

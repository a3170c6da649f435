"""Starts a stock Octavia, from the package registry, in a virtual environment of its own."""

import os
import urllib.error
import urllib.request
from pathlib import Path

from tests.services.installation import environment
from tests.services.process import Server

VERSION = "19.0.0"
VARIABLE = "EVENKEEL_TEST_OCTAVIA"
RESET = "/compat/reset"
"""A path of this server only."""

_PROGRAM = Path(__file__).with_name("stock_server.py")
_ENTRY_POINTS = """
[octavia.api.drivers]
noop = octavia.api.drivers.noop_driver.driver:NoopProviderDriver
other = octavia.api.drivers.noop_driver.driver:NoopProviderDriver
"""
"""Octavia's no-op driver under the names of our providers."""
_METADATA = "Metadata-Version: 2.1\nName: evenkeel-compat\nVersion: 1\n"


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    # oslotest: Octavia's own tests fill its look-up tables
    return Path(given) if given else environment("octavia", VERSION, [f"octavia=={VERSION}", "oslotest"])


class OctaviaServer(Server):
    """One Octavia; a request to :data:`RESET` empties its database: an SQLite file of this path, or memory."""

    def __init__(self, venv: Path, database: Path | None = None) -> None:
        super().__init__("evenkeel-octavia-")
        self._database = f"sqlite:///{database}" if database else "sqlite://"
        self._python = venv / "bin" / "python"
        drivers = self._home / "drivers" / "evenkeel_compat-1.dist-info"
        drivers.mkdir(parents=True)
        (drivers / "entry_points.txt").write_text(_ENTRY_POINTS)
        (drivers / "METADATA").write_text(_METADATA)

    @property
    def url(self) -> str:
        """Its endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start and wait until clients are served; nothing to do if it runs."""
        if not self.running:
            self._begin([self._python, _PROGRAM, self._home, str(self.port), self._database])

    def _serves(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5.0).close()
        except (urllib.error.URLError, OSError):
            return False
        return True

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LANG": "C.UTF-8",
            "HOME": str(self._home),
            "PYTHONPATH": str(self._home / "drivers"),
        }

"""Identity of this daemon and of its current run, by which agents detect that its state may not be what they sent.

The installation id is created with the state directory and survives restarts. The run's id (``state_id``) is created at
each start: the daemon cannot detect whether the state directory is as it was, an older copy or another daemon's, and a
full comparison costs an agent one request per partition that changes nothing. The run's id is also on disk, so that the
daemon detects that the directory was removed or replaced while it runs.
"""

import secrets
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.kit.values import Wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_json_file, write_file

log = structlog.get_logger(__name__)


class IdentityFile(Wire):
    """Content of ``identity.json``."""

    installation_id: str
    state_id: str


class DaemonIdentity:
    """Ids of one daemon's state directory and run, kept in ``identity.json``. Every method may block;
    failures to write are logged, not raised.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "identity.json"
        self._written = False
        self._identity = IdentityFile(installation_id=secrets.token_hex(16), state_id=secrets.token_hex(16))

    @property
    def installation_id(self) -> str:
        """Return the id of the state directory, which survives restarts of the daemon."""
        return self._identity.installation_id

    @property
    def state_id(self) -> str:
        """Return the id of the current run; agents compare everything again when the id changes."""
        return self._identity.state_id

    def begin_run(self) -> None:
        """Begin a new run with a new ``state_id``, and write it; keeps the installation id on disk, or makes
        one if there is none that can be read. A failed write is logged, and repeated by
        :meth:`is_current`.
        """
        try:
            found = read_json_file(self._path, IdentityFile)
        except StorageBroken as error:
            log.error("identity file not readable; starting with a new identity", reason=str(error))
            found = None
        if found is not None:
            self._identity = msgspec.structs.replace(self._identity, installation_id=found.installation_id)
        self._write_file()

    def is_current(self) -> bool:
        """Whether the identity file on disk is still that of this run: False if it was removed or replaced.

        If the last write failed, it is repeated, and the result is True.
        """
        if not self._written:
            self._write_file()
            return True
        try:
            return read_json_file(self._path, IdentityFile) == self._identity
        except StorageBroken:
            return False

    def renew_state_id(self) -> None:
        """Make a new ``state_id`` and write it, so that agents compare everything again. A failed write is
        logged, not raised.
        """
        self._identity = msgspec.structs.replace(self._identity, state_id=secrets.token_hex(16))
        self._write_file()

    def _write_file(self) -> None:
        try:
            write_file(self._path, msgspec.json.encode(self._identity), sync=True)
            self._written = True
        except OSError as error:
            self._written = False
            log.error("identity not written", path=str(self._path), reason=error.strerror)

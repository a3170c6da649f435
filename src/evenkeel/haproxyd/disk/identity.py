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
from evenkeel.haproxyd.disk.files import StorageBroken, read_value, write_file

log = structlog.get_logger(__name__)


class IdentityFile(Wire):
    """Content of ``identity.json``."""

    installation_id: str
    state_id: str


class DaemonIdentity:
    """Identity of one daemon. Every method may block."""

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

    def begin(self) -> None:
        """Begin a new run, with a new ``state_id``; makes an installation id if the state directory has none."""
        try:
            found = read_value(self._path, IdentityFile)
        except StorageBroken as error:
            log.error("identity file not readable; starting with a new identity", reason=str(error))
            found = None
        if found is not None:
            self._identity = msgspec.structs.replace(self._identity, installation_id=found.installation_id)
        self._write_file()

    def is_current(self) -> bool:
        """Whether the state directory still belongs to this run; True while the identity cannot be written.

        Also retries a write that failed.
        """
        if not self._written:
            self._write_file()
            return True
        try:
            return read_value(self._path, IdentityFile) == self._identity
        except StorageBroken:
            return False

    def renew_state_id(self) -> None:
        """Make a new ``state_id``, so that agents compare everything again."""
        self._identity = msgspec.structs.replace(self._identity, state_id=secrets.token_hex(16))
        self._write_file()

    def _write_file(self) -> None:
        try:
            write_file(self._path, msgspec.json.encode(self._identity), sync=True)
            self._written = True
        except OSError as error:
            self._written = False
            log.error("identity not written", path=str(self._path), reason=error.strerror)

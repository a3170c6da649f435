"""The identity of this daemon and of its current run, by which agents detect that its state may not be what they sent.

The installation id is created with the state directory and survives restarts. The run's id (``state_id``) is created at
each start: the daemon cannot detect whether the state directory is as it left it, an older copy or another daemon's,
and a full comparison costs an agent one request per partition that changes nothing. The run's id is also on disk, so
that a directory that was removed or replaced while the daemon runs is detected.
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
    """The identity of one daemon. Every method may block; :meth:`is_current` retries a write that failed."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "identity.json"
        self._written = False
        self._identity = IdentityFile(installation_id=secrets.token_hex(16), state_id=secrets.token_hex(16))

    @property
    def installation_id(self) -> str:
        """Id of the state directory, which survives restarts."""
        return self._identity.installation_id

    @property
    def state_id(self) -> str:
        """Id of the current run; agents compare everything again when it changes."""
        return self._identity.state_id

    def begin(self) -> None:
        """Start a new run of the installation."""
        try:
            found = read_value(self._path, IdentityFile)
        except StorageBroken as error:
            log.error("identity file not readable; starting with a new identity", reason=str(error))
            found = None
        if found is not None:
            self._identity = msgspec.structs.replace(self._identity, installation_id=found.installation_id)
        self._write()

    def is_current(self) -> bool:
        """Whether the state directory is still the one of this run; True if the identity could not be written."""
        if not self._written:
            self._write()
            return True
        try:
            return read_value(self._path, IdentityFile) == self._identity
        except StorageBroken:
            return False

    def renew(self) -> None:
        """Make a new ``state_id``, so that agents compare everything again."""
        self._identity = msgspec.structs.replace(self._identity, state_id=secrets.token_hex(16))
        self._write()

    def _write(self) -> None:
        try:
            write_file(self._path, msgspec.json.encode(self._identity), sync=True)
            self._written = True
        except OSError as error:
            self._written = False
            log.error("identity not written", path=str(self._path), reason=error.strerror)

"""Which daemon this is, and which life of it: what agents compare to know whether it still holds what they told it.

The installation is made with the state directory and survives restarts. The life (``state_id``) is made at each start:
whether the state directory is as the last daemon left it, an older copy or another one's, cannot be seen from inside,
and to look at everything again costs an agent one request a partition that changes nothing. The life stands on disk
too, so that a directory that was removed or replaced under a running daemon is noticed.
"""

import secrets
from pathlib import Path

import msgspec
import structlog

from evenkeel.core.values import Wire
from evenkeel.haproxyd.disk.files import StorageBroken, read_value, write_file

log = structlog.get_logger(__name__)


class IdentityFile(Wire):
    """``identity.json``."""

    installation_id: str
    state_id: str


class DaemonIdentity:
    """Of one daemon. Every function may block; what cannot be written is tried again by :meth:`is_current`."""

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / "identity.json"
        self._written = False
        self._told = IdentityFile(installation_id=secrets.token_hex(16), state_id=secrets.token_hex(16))

    @property
    def installation_id(self) -> str:
        """Of the state directory."""
        return self._told.installation_id

    @property
    def state_id(self) -> str:
        """Of this life."""
        return self._told.state_id

    def begin(self) -> None:
        """A new life, of the installation that is there."""
        try:
            found = read_value(self._path, IdentityFile)
        except StorageBroken as error:
            log.error("identity file not readable; starting with a new identity", reason=str(error))
            found = None
        if found is not None:
            self._told = msgspec.structs.replace(self._told, installation_id=found.installation_id)
        self._write()

    def is_current(self) -> bool:
        """Is the state directory still the one of this life? One that could not be written says nothing."""
        if not self._written:
            self._write()
            return True
        try:
            return read_value(self._path, IdentityFile) == self._told
        except StorageBroken:
            return False

    def renew(self) -> None:
        """Agents are to look at everything again."""
        self._told = msgspec.structs.replace(self._told, state_id=secrets.token_hex(16))
        self._write()

    def _write(self) -> None:
        try:
            write_file(self._path, msgspec.json.encode(self._told), sync=True)
            self._written = True
        except OSError as error:
            self._written = False
            log.error("identity not written", path=str(self._path), reason=error.strerror)

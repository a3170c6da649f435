"""The password file on disk: read when it has changed, and never if others may read it."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import structlog

from evenkeel.api.identity.passwords import User, users_of
from evenkeel.core.errors import Invalid

log = structlog.get_logger(__name__)

MAX_FILE_BYTES = 4 * 1024 * 1024

Mark = tuple[int, int, int, int]


class UserFile:
    """The users of a file. What cannot be read later on is logged, and the users known before stay."""

    def __init__(self, path: Path) -> None:
        """Raises :class:`ValueError` naming file and line."""
        self._path = path
        self._mark: Mark | None = None
        try:
            self._mark = _mark(path)
            self.users = read_users(path)
        except OSError as error:
            raise ValueError(f"identity.password_file: {path}: {error.strerror}") from error
        except Invalid as error:
            raise ValueError(f"identity.password_file: {path}: {error}") from error

    def refresh(self) -> bool:
        """Read it again if it is another one; True if the users are."""
        try:
            mark = _mark(self._path)
        except OSError as error:
            self._gone(error)
            return False
        if mark == self._mark:
            return False
        self._mark = mark
        try:
            self.users = read_users(self._path)
        except (OSError, Invalid) as error:
            self._complain(error)
            return False
        log.info("password file read again", path=str(self._path), users=len(self.users))
        return True

    def _gone(self, error: OSError) -> None:
        if self._mark is not None:  # told once
            self._complain(error)
        self._mark = None

    def _complain(self, error: Exception) -> None:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        log.error("password file not read; the users known before stay", path=str(self._path), reason=reason)


def read_users(path: Path) -> dict[str, User]:
    """Raises :class:`OSError`; :class:`Invalid` for bad lines, too large a file, or one that others may read."""
    with path.open("rb") as file:
        # of the open file, so that it cannot be exchanged in between
        status = os.fstat(file.fileno())
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise Invalid(f"mode {stat.S_IMODE(status.st_mode):04o}. Allowed: 0600, for its owner alone.")
        raw = file.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise Invalid(f"larger than {MAX_FILE_BYTES} bytes.")
    try:
        return users_of(raw.decode())
    except UnicodeDecodeError as error:
        raise Invalid("not UTF-8.") from error


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Replace the file in one step, so that nobody reads half of it; it keeps its owner. Raises :class:`OSError`."""
    partial = path.with_name(f".{path.name}.new")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            _keep_owner(descriptor, path)
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(descriptor)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _keep_owner(descriptor: int, path: Path) -> None:
    """Written by root, it must stay readable for the user that the controller runs as."""
    if os.geteuid() == 0 and path.exists():
        status = path.stat()
        os.fchown(descriptor, status.st_uid, status.st_gid)


def _mark(path: Path) -> Mark:
    """What differs when the file does."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode

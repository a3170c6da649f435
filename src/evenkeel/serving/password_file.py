"""Password files: one name per line, then further fields and the hash last, separated by colons; reloaded when they
change.

A file must be readable by its owner only, and is replaced atomically. The caller defines the fields between name and
hash: project and roles of an API user, none for an agent at a HAProxy daemon. Empty lines and lines that begin with
``#`` are comments. Errors and logs contain nothing of a file's content.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sized
from pathlib import Path
from typing import Generic, TypeVar

import structlog

from evenkeel.core.kit.errors import Invalid
from evenkeel.core.kit.secret_files import SecretFileNotPrivate, read_secret_file

log = structlog.get_logger(__name__)

FILE_BYTES_MAX = 4 * 1024 * 1024

_NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
Fingerprint = tuple[int, int, int, int]

E = TypeVar("E")
C = TypeVar("C", bound=Sized)


def is_valid_name(name: str) -> bool:
    """Whether a text may be a line's name: 1 to 64 letters, digits, dots, dashes, underscores and @, the first one a
    letter or digit.
    """
    return _NAME_PATTERN.fullmatch(name) is not None


def parse_lines(text: str, parse: Callable[[str], E]) -> Iterator[tuple[int, E]]:
    """Yield the number of each line except comments and empty lines, with the result of ``parse``. Raises
    :class:`Invalid` naming the number if ``parse`` does.
    """
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                yield number, parse(line.strip())
            except Invalid as error:
                raise Invalid(f"line {number}: {error}") from error


def read_private(path: Path) -> str:
    """Read the text of a file. Raises :class:`OSError`; :class:`Invalid` if the file is larger than
    :data:`FILE_BYTES_MAX`, is not UTF-8, or others may read it.
    """
    try:
        raw = read_secret_file(path, bytes_max=FILE_BYTES_MAX + 1)
    except SecretFileNotPrivate as error:
        raise Invalid(f"mode {error.mode:04o}. Allowed: 0600, for its owner alone (chmod 600).") from error
    if len(raw) > FILE_BYTES_MAX:
        raise Invalid(f"larger than {FILE_BYTES_MAX} bytes.")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise Invalid("not UTF-8.") from error


def put_line(path: Path, name: str, line: str, read: Callable[[Path], object]) -> None:
    """Add the line, or replace the line with the same ``name``. ``read``: reads an existing file like its
    users do, to check it before it is changed. Raises :class:`OSError`; :class:`Invalid` for a file that
    is no such password file, or that others may read.
    """
    if path.exists():
        read(path)
    replace_line(path, name, line)


def replace_line(path: Path, name: str, line: str | None) -> None:
    """Replace the line with this name by ``line``, which goes to the end of the file, or remove it (None);
    all other lines stay, including comments. Raises :class:`OSError`.
    """
    there = path.read_text().splitlines() if path.exists() else []
    kept = [other for other in there if other.strip().partition(":")[0] != name]
    write_lines(path, kept if line is None else [*kept, line])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Replace the file's content atomically; the file has mode 0600, and keeps its owner if root writes it.
    Raises :class:`OSError`.
    """
    partial = path.with_name(f".{path.name}.new")
    # left over from a process that died; O_EXCL then refuses a file or link that another user puts there
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            _copy_file_owner(descriptor, path)
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            # before the rename: a crash must not leave an empty file in the place of the old one
            os.fsync(descriptor)
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


class WatchedFile(Generic[C]):
    """The content of a password file, which :meth:`refresh` reloads after a change of the file. A failed
    reload is logged, and the previous content stays.
    """

    def __init__(self, option: str, path: Path, read: Callable[[Path], C]) -> None:
        """Read the file. ``option`` names it in errors. Raises :class:`ValueError` naming option, file and line."""
        self._path = path
        self._read = read
        self._fingerprint: Fingerprint | None = None
        try:
            # before reading: a change in between is then found by the next refresh
            self._fingerprint = _file_fingerprint(path)
            self.content = read(path)
        except (OSError, Invalid) as error:
            raise ValueError(f"{option}: {path}: {_error_reason(error)}") from error

    def refresh(self) -> bool:
        """Reload the file if its metadata changed; returns whether it was reloaded. False also for a file
        that is unreadable or invalid, which is logged.
        """
        try:
            fingerprint = _file_fingerprint(self._path)
        except OSError as error:
            if self._fingerprint is not None:  # logged once
                self._log_unreadable(error)
            self._fingerprint = None
            return False
        if fingerprint == self._fingerprint:
            return False
        # Set before reading, so that a file with an error is logged once, and read again only after its next change.
        self._fingerprint = fingerprint
        try:
            self.content = self._read(self._path)
        except (OSError, Invalid) as error:
            self._log_unreadable(error)
            return False
        log.info("password file read again", path=str(self._path), users=len(self.content))
        return True

    def _log_unreadable(self, error: Exception) -> None:
        reason = _error_reason(error)
        log.error("password file not read; the previous users stay valid", path=str(self._path), reason=reason)


def _error_reason(error: Exception) -> str:
    return str(error.strerror if isinstance(error, OSError) else error)


def _copy_file_owner(descriptor: int, path: Path) -> None:
    """Give the new file, if this process is root's, the owner of the file that it replaces: a file written by
    root must stay readable for the process's user.
    """
    if os.geteuid() == 0 and path.exists():
        status = path.stat()
        os.fchown(descriptor, status.st_uid, status.st_gid)


def _file_fingerprint(path: Path) -> Fingerprint:
    """Return metadata of the password file that differ after every change."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode

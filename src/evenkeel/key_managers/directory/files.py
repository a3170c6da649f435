"""Encrypted files below one folder per project, accessible to their owner only, each written atomically."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from evenkeel.core.kit.errors import Conflict
from evenkeel.core.kit.files import DIRECTORY_MODE, FILE_MODE
from evenkeel.key_managers.directory.encryption import Encryption
from evenkeel.key_managers.places import CertificateAddress, parse_certificate_address

SCHEME = "directory"
PROJECT_FILES_MAX = 1000
FILE_BYTES_MAX = 4 * 1024 * 1024
_SUFFIX = ".sealed"


class SealedFiles:
    """Reads and writes encrypted files, one folder per project. Methods block, and raise :class:`OSError`;
    :meth:`read` also :class:`UndecryptableContent`.
    """

    def __init__(self, root: Path, encryption: Encryption) -> None:
        self._root = root
        self._encryption = encryption

    def read(self, place: CertificateAddress) -> bytes | None:
        """Read and decrypt a file; None if it does not exist. Raises :class:`UndecryptableContent`, and
        :class:`OSError`, also for a symbolic link.
        """
        try:
            descriptor = os.open(self._file_path(place), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(FILE_BYTES_MAX)
        return self._encryption.decrypt(content, place.reference)

    def changed_at(self, place: CertificateAddress) -> float:
        """Return the time at which the file was last written, in seconds since 1970. Raises :class:`OSError`
        if it does not exist.
        """
        return self._file_path(place).stat().st_mtime

    def write(self, place: CertificateAddress, content: bytes, *, replace: bool) -> None:
        """Write a file atomically; it is on disk when this returns. Raises :class:`Conflict` if it exists and
        ``replace`` is False, or the project has :data:`PROJECT_FILES_MAX` files; :class:`OSError`.
        """
        path = self._file_path(place)
        self._root.mkdir(parents=True, exist_ok=True, mode=DIRECTORY_MODE)
        path.parent.mkdir(exist_ok=True, mode=DIRECTORY_MODE)
        # Counted without a lock: writers at the same time may exceed the limit by their number.
        if not path.exists() and len(list(path.parent.iterdir())) >= PROJECT_FILES_MAX:
            raise Conflict(f"Project {place.project_id} has {PROJECT_FILES_MAX} certificates, which is the most.")
        # Drafts have no suffix, so that lists never contain one that a crash left.
        draft = path.parent / f".{uuid.uuid4().hex}"
        try:
            self._write_draft(draft, self._encryption.encrypt(content, place.reference))
            if replace:
                draft.replace(path)
            else:
                # unlike a rename, a link fails if the name exists: of two concurrent writers one is refused
                path.hardlink_to(draft)
        except FileExistsError:
            raise Conflict(f"There is a {place.reference} already.") from None
        finally:
            draft.unlink(missing_ok=True)
        _flush_directory(path.parent)

    def delete(self, place: CertificateAddress) -> bool:
        """Delete a file; return whether it existed. Raises :class:`OSError`."""
        try:
            self._file_path(place).unlink()
        except FileNotFoundError:
            return False
        _flush_directory(self._file_path(place).parent)
        return True

    def places(self, project_id: str | None) -> Iterator[CertificateAddress]:
        """Yield the places of all files, sorted by project and name; ``project_id`` None: of all projects.
        Nothing if the folder does not exist. Raises :class:`OSError`.
        """
        with contextlib.suppress(FileNotFoundError):
            folders = sorted(self._root.iterdir()) if project_id is None else [self._root / project_id]
            for folder in folders:
                yield from _folder_certificate_addresses(folder)

    def _file_path(self, place: CertificateAddress) -> Path:
        return self._root / place.project_id / f"{place.name}{_SUFFIX}"

    @staticmethod
    def _write_draft(path: Path, content: bytes) -> None:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            # The content must be on disk before it gets its name, which could otherwise be that of an empty file
            # after a power failure.
            os.fsync(file.fileno())


def _folder_certificate_addresses(folder: Path) -> Iterator[CertificateAddress]:
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        found = CertificateAddress(scheme=SCHEME, project_id=folder.name, name=path.name.removesuffix(_SUFFIX))
        place = parse_certificate_address(SCHEME, found.reference)
        if place is not None:
            yield place


def _flush_directory(path: Path) -> None:
    """Make renames and removals in a directory durable across a power failure (fsync)."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

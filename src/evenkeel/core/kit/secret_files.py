"""Reading files with secrets, which only their owner may access, and secrets in base64."""

import base64
import binascii
import os
import stat
from pathlib import Path


class SecretFileNotPrivate(Exception):
    """A file with a secret is accessible to others than its owner. ``mode``: its permissions."""

    def __init__(self, mode: int) -> None:
        super().__init__(f"mode {mode:04o}: others than its owner may use it")
        self.mode = mode


def read_secret_file(path: Path, *, bytes_max: int) -> bytes:
    """Return the beginning of the file, at most ``bytes_max`` bytes. Raises :class:`SecretFileNotPrivate` if group or
    others have any permission, and :class:`OSError`.
    """
    with path.open("rb") as file:
        # the state of the open file, because the path may be replaced in between
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise SecretFileNotPrivate(mode)
        return file.read(bytes_max)


def decode_base64_secret(text: bytes, *, url_safe: bool = False) -> bytes:
    """Return the content of a text in base64, or if ``url_safe`` in base64url; empty if the text is not
    valid, because no error may quote it.
    """
    try:
        return base64.b64decode(text, altchars=b"-_" if url_safe else None, validate=True)
    except binascii.Error:
        return b""

"""Files with keys, which are for their owner alone."""

import stat
from pathlib import Path

_BYTES_MAX = 4096


def private_content(option: str, file: str) -> bytes:
    """Return the beginning of the file, 4 KiB, without surrounding white space. Raises :class:`ValueError` naming the
    option if it is unreadable, or others than its owner may use it.
    """
    path = Path(file)
    try:
        mode, text = path.stat().st_mode, path.read_bytes()[:_BYTES_MAX].strip()
    except OSError as error:
        raise ValueError(f"{option}: {path}: unreadable ({error.strerror})") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(f"{option}: {path}: others than its owner may use it; chmod 600 {path}")
    return text

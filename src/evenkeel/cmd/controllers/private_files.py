"""Files with keys, which are for their owner alone."""

from pathlib import Path

from evenkeel.core.kit.secret_files import SecretFileNotPrivate, read_secret_file

_BYTES_MAX = 4096


def read_private_file(option: str, file: str) -> bytes:
    """Return the first 4 KiB of the file, without surrounding white space. Raises :class:`ValueError` naming
    the option if the file is unreadable, or its mode lets others than its owner use it.
    """
    path = Path(file)
    try:
        return read_secret_file(path, bytes_max=_BYTES_MAX).strip()
    except OSError as error:
        raise ValueError(f"{option}: {path}: unreadable ({error.strerror})") from None
    except SecretFileNotPrivate:
        raise ValueError(f"{option}: {path}: others than its owner may use it; chmod 600 {path}") from None

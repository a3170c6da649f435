"""New passwords: from the terminal or from standard input, never from the command line, which other users can see."""

import getpass
import sys

from evenkeel.core.kit.errors import Invalid
from evenkeel.serving.password_hash import PASSWORD_BYTES_MAX


def read_new_password(name: str, *, from_stdin: bool) -> str:
    """Read the new password of ``name``: typed twice, or with ``from_stdin`` the first line of standard
    input.

    From standard input more characters are read than a password may have, so that the caller refuses one that
    is too long instead of cutting it. Raises :class:`Invalid` if the typed passwords differ.
    """
    if from_stdin:
        # More than a password may have, so that a longer one is refused instead of cut.
        return sys.stdin.readline(PASSWORD_BYTES_MAX * 4).removesuffix("\n")
    password = getpass.getpass(f"password of {name}: ")
    if getpass.getpass("again: ") != password:
        raise Invalid("The passwords differ.")
    return password

"""Logs exhausted file descriptors in one line, wherever the error occurs: it is not a bug, and the traceback of the
next failing ``open`` does not show the cause.
"""

import errno
import sys
from collections.abc import MutableMapping
from typing import Any

OUT_OF_FILES_ERRORS = "out of file descriptors"
_EXCEPTION_CHAIN_MAX = 20


def is_out_of_files(error: BaseException | None) -> bool:
    """Whether the error or one of its causes is an exhaustion of file descriptors."""
    # Bounded, because causes that are set by hand can form a circle.
    for _ in range(_EXCEPTION_CHAIN_MAX):
        if error is None:
            return False
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            return True
        error = error.__cause__ or error.__context__
    return False


def shorten_exhaustion_event(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Structlog processor: in an event about exhausted file descriptors the exception is removed, the event
    becomes :data:`OUT_OF_FILES_ERRORS`, and its former text is in ``during``. It must run before the processor
    that writes tracebacks.
    """
    given = event.get("exc_info")
    error = given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None
    if is_out_of_files(error):
        del event["exc_info"]
        event["during"], event["event"] = event["event"], OUT_OF_FILES_ERRORS
    return event

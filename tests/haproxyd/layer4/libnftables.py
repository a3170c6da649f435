"""nft's own view of rules, for tests and benchmarks: ``libnftables.so.1`` (Debian: libnftables1) in the process.

One call is one transaction of the kernel: all of it, or nothing. Calls block; the C library runs without Python's lock.
"""

import contextlib
import ctypes
import threading
from collections.abc import Iterator

from evenkeel.core.kit.errors import EvenKeelError

LIBRARY = "libnftables.so.1"
REASON_CHARACTERS_MAX = 300


class NftablesFailed(EvenKeelError):
    """The kernel or the library refused a transaction; nothing has changed. The text gives the first error."""


class Libnftables:
    """The library. Safe for use by several threads, one after the other.

    Raises :class:`NftablesFailed` if the library is missing.
    """

    def __init__(self) -> None:
        self._library = _load()
        self._lock = threading.Lock()

    def run(self, commands: str, *, dry_run: bool = False) -> str:
        """Run nft's commands as one transaction and return the output. ``dry_run``: the kernel checks everything and
        changes nothing. Raises :class:`NftablesFailed`."""
        with self._lock, self._context() as context:
            self._library.nft_ctx_set_dry_run(context, dry_run)
            failed = self._library.nft_run_cmd_from_buffer(context, commands.encode())
            output = self._library.nft_ctx_get_output_buffer(context) or b""
            problem = self._library.nft_ctx_get_error_buffer(context) or b""
        if failed:
            raise NftablesFailed(_first_error(problem.decode(errors="replace")))
        return str(output.decode(errors="replace"))

    @contextlib.contextmanager
    def _context(self) -> Iterator[ctypes.c_void_p]:
        # A context keeps what it has read for as long as the kernel's ruleset has the same number, and what commands
        # have changed of that even if they were a dry run or failed: each run gets a new one.
        made = self._library.nft_ctx_new(0)
        if not made:
            raise NftablesFailed(f"{LIBRARY}: no memory")
        context = ctypes.c_void_p(made)
        try:
            # answers and errors go to buffers, not to the daemon's own output
            self._library.nft_ctx_buffer_output(context)
            self._library.nft_ctx_buffer_error(context)
            yield context
        finally:
            self._library.nft_ctx_free(context)


def _first_error(text: str) -> str:
    # the lines below an error quote the commands
    lines = [line for line in text.splitlines() if "Error" in line] or text.splitlines()
    return (lines[0] if lines else "no reason given")[:REASON_CHARACTERS_MAX]


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise NftablesFailed(f"{LIBRARY} is missing; on Debian it is in the package libnftables1") from error
    context = ctypes.c_void_p
    library.nft_ctx_new.argtypes, library.nft_ctx_new.restype = [ctypes.c_uint32], context
    for name in ("nft_ctx_buffer_output", "nft_ctx_buffer_error", "nft_ctx_free"):
        getattr(library, name).argtypes = [context]
    for name in ("nft_ctx_get_output_buffer", "nft_ctx_get_error_buffer"):
        function = getattr(library, name)
        function.argtypes, function.restype = [context], ctypes.c_char_p
    library.nft_ctx_set_dry_run.argtypes = [context, ctypes.c_bool]
    library.nft_run_cmd_from_buffer.argtypes = [context, ctypes.c_char_p]
    return library

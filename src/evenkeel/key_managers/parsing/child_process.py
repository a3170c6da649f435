"""Work on a tenant's file in a process of its own, with limits.

A file of a few kilobytes can request key derivation rounds, or contain numbers, that keep the library busy for hours,
and holds the interpreter's lock meanwhile, so that a thread stops the whole process. A process can be killed.
"""

import base64
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable

from evenkeel.key_managers.parsing.foreign import PARSER_ERRORS

READ_SECONDS = 10.0
"""Time-out of a child process. Usual files take 0.2 s, most of it the start of the process."""
ADDRESS_SPACE_BYTES = 1 << 30
"""Limit of the child's address space, because a file can request any amount of memory; the process itself uses a third
of it.
"""
CPU_SECONDS = 2
"""CPU time limit. The process needs 0.2 s to start, and a million rounds of key derivation take 0.5 s. Kept low because
one tenant can refer to a thousand files, which are all read again regularly."""
NICENESS = 5
"""Niceness of the child process, so that the controllers' other work has priority."""
_OUT_OF_TIME = (signal.SIGXCPU, signal.SIGKILL)
"""Signals that end a process over its CPU time limit."""


class UnparsedContent(Exception):
    """The child process gave no result: the file cannot be parsed or, if the exception has a text, parsing takes too
    much work.
    """


def parse_in_child_process(
    module: str, content: bytes, passphrase: bytes, *, timeout_seconds: float = READ_SECONDS
) -> bytes:
    """Parse ``content`` in a child process that runs ``module`` (see :func:`run_parser`), and return its
    standard output. Blocks for at most ``timeout_seconds``. Raises :class:`UnparsedContent` if the process fails
    or exceeds a limit.
    """
    try:
        done = subprocess.run(  # noqa: S603  # runs this interpreter with a module of ours
            [sys.executable, "-m", module],
            # In base64, because a passphrase may contain line breaks; by standard input, because all users can see
            # arguments.
            input=base64.b64encode(passphrase) + b"\n" + content,
            stdout=subprocess.PIPE,
            # Tracebacks and warnings of libraries may quote the tenant's file.
            stderr=subprocess.DEVNULL,
            timeout=timeout_seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise UnparsedContent(f"It could not be decrypted within {timeout_seconds:g} s.") from None
    except subprocess.CalledProcessError as error:
        # The kernel sends SIGXCPU at the soft limit and SIGKILL at the hard one, which are equal here.
        raise UnparsedContent(
            "It takes too much work to decrypt." if -error.returncode in _OUT_OF_TIME else ""
        ) from None
    return done.stdout


def run_parser(parse: Callable[[bytes, bytes], bytes]) -> int:
    """Run ``parse`` as the main function of a module that :func:`parse_in_child_process` starts; return the
    exit code: 1 if the content cannot be parsed, else 0. Limits the process's memory and CPU time first.

    ``parse`` gets a content and a passphrase, and raises one of :data:`PARSER_ERRORS`. Standard input: the
    passphrase in base64, a line break and the content; standard output: the result.
    """
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core dump would contain the key
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    os.nice(NICENESS)
    word, _, content = sys.stdin.buffer.read().partition(b"\n")
    try:
        result = parse(content, base64.b64decode(word))
    except (*PARSER_ERRORS, MemoryError):
        return 1
    sys.stdout.buffer.write(result)
    return 0

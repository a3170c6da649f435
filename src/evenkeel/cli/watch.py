"""The option ``--watch``, which repeats a command that only shows data."""

import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import TextIO

from evenkeel.cli.client import ClientError

DEFAULT_INTERVAL_SECONDS = 2.0
MIN_INTERVAL_SECONDS = 0.5
CLEAR_SCREEN = "\x1b[H\x1b[2J"
"""Cursor home, and clear the screen (ECMA-48)."""


def add_watch_argument(parser: ArgumentParser) -> None:
    """Add ``--watch`` to a command's parser."""
    parser.add_argument(
        "--watch",
        nargs="?",
        type=parse_seconds,
        const=DEFAULT_INTERVAL_SECONDS,
        metavar="SECONDS",
        help=f"Show it again every SECONDS (default: {DEFAULT_INTERVAL_SECONDS:g}) until interrupted.",
    )


def run_and_watch(out: TextIO, errors: TextIO, parsed_args: Namespace, show: Callable[[Namespace], int]) -> int:
    """Call ``show`` once and return its exit code; with ``--watch`` repeatedly until interrupted, even while
    no controller answers, and return 0. ``out``: stream that ``show`` writes to, cleared before each call
    if it is a terminal; ``errors``: stream for errors between two calls.
    """
    if parsed_args.watch is None:
        return show(parsed_args)
    while True:
        try:
            if out.isatty():
                out.write(CLEAR_SCREEN)
            show(parsed_args)
        except ClientError as error:
            errors.write(f"{error}; trying again\n")
        except KeyboardInterrupt:
            return 0
        # A pipe would get the output only when the buffer is full.
        out.flush()
        try:
            time.sleep(parsed_args.watch)
        except KeyboardInterrupt:
            return 0


def parse_seconds(text: str) -> float:
    """Parse the interval of ``--watch``, in seconds. Raises :class:`argparse.ArgumentTypeError` unless it is
    a number from 0.5 to 3600.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not MIN_INTERVAL_SECONDS <= seconds <= 3600:
        raise ArgumentTypeError(f"{text!r} is not a number of seconds from {MIN_INTERVAL_SECONDS} to 3600")
    return seconds

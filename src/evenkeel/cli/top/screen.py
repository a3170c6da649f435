"""The terminal: keys without Enter, and a state that is restored however the view ends."""

import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def single_key_input() -> Iterator[None]:
    """Make the terminal give keys one by one within the block, without Enter and without showing them.

    SIGTERM ends the block like Ctrl-C, by :class:`KeyboardInterrupt`; the terminal is restored at the end.
    Raises :class:`termios.error` if standard input is no terminal. Only for the main thread.
    """
    before = termios.tcgetattr(sys.stdin)
    former = signal.signal(signal.SIGTERM, _raise_interrupt)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, former)


def _raise_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def pressed_key(seconds: float) -> str:
    """Return the next key; empty if none is pressed within ``seconds``; ``q`` at the end of the input. Blocks
    until then.
    """
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return ""
    return sys.stdin.read(1) or "q"

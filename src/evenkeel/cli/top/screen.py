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
    """Within the block keys are read one by one, without Enter, and not shown; SIGTERM ends the block like
    Ctrl-C. The terminal is restored at the end.
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

"""Output to a terminal, escaped so that no text from a server, an agent or a tenant can control the terminal."""

import io
from typing import TextIO

from evenkeel.cli.columns import escape_controls


class ControlEscapingStream(io.TextIOBase):
    """A text stream that escapes control characters, except for line breaks and tabs, and writes to
    ``stream``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text; returns the number of its characters before they were escaped."""
        self._stream.write("\n".join("\t".join(map(escape_controls, line.split("\t"))) for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether the underlying stream is a terminal."""
        return self._stream.isatty()

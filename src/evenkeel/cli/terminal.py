"""What the command writes to a terminal: nothing that a server, an agent or a tenant named can control it."""

import io
from typing import TextIO

from evenkeel.cli.columns import escaped


class EscapedStream(io.TextIOBase):
    """A stream, of which lines and tabs are left as they are and other control characters become escapes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text; the number of its characters."""
        self._stream.write("\n".join("\t".join(map(escaped, line.split("\t"))) for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self._stream.isatty()

"""The operator's own ``local.cfg`` of a partition: HAProxy reads it, unless HAProxy refused just this text before."""

from pathlib import Path

from evenkeel.haproxyd.disk.files import read_text


class LocalConfig:
    """Of one partition. Every function reads the file, which may block shortly."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._refused: tuple[str, str] | None = None
        """The text that HAProxy refused, and why."""

    def text_to_include(self) -> str:
        """What HAProxy is to read; empty: nothing."""
        text = read_text(self._path) or ""
        return "" if self._refused and text == self._refused[0] else text

    def refuse(self, text: str, reason: str) -> None:
        """HAProxy refused this text. It is left out until somebody changes it."""
        self._refused = (text, reason)

    def problem(self) -> str:
        """That it is left out, and why, for people; empty if it is not."""
        if self._refused and read_text(self._path) == self._refused[0]:
            return f"local.cfg is left out: {self._refused[1]}"
        self._refused = None
        return ""

"""The operator's own ``local.cfg`` of a partition: included, unless HAProxy has refused this very text before."""

from pathlib import Path

from evenkeel.haproxyd.disk.files import read_text


class LocalConfig:
    """The operator's configuration file of one partition. Methods other than :meth:`refuse` read the file,
    which may block shortly.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._refused: tuple[str, str] | None = None
        """Text that HAProxy refused, and the reason; None: none was refused."""

    def text_to_include(self) -> str:
        """Return the text of the operator's file; empty if there is none, or HAProxy has refused this text."""
        text = read_text(self._path) or ""
        return "" if self._refused and text == self._refused[0] else text

    def refuse(self, text: str, reason: str) -> None:
        """Exclude this text of the operator's file, which HAProxy refused for ``reason``, until the file
        changes.
        """
        self._refused = (text, reason)

    def problem(self) -> str:
        """Return the reason, for operators, why the operator's file is left out; empty if it is included or
        missing. A refusal of an earlier text is forgotten.
        """
        if self._refused and read_text(self._path) == self._refused[0]:
            return f"local.cfg is left out: {self._refused[1]}"
        self._refused = None
        return ""

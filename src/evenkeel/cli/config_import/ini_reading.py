"""Reads ini files like oslo.config: an option may be given several times, and continue on indented lines. Pure.

If several files contain an option, the last one wins. Values keep ``$`` as written, because oslo.config interprets it.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping

Sections = Mapping[str, Mapping[str, list[str]]]
"""``{section: {option: values}}``, with one value for each time that the option is given."""

DEFAULT_SECTION = "DEFAULT"
# possessive: a file is foreign, and a long line must not cost more than its length
_SECTION_PATTERN = re.compile(r"\[([^\]]++)\]$")
_OPTION_PATTERN = re.compile(r"([^\s=:\[][^=:]*+)[=:](.*)$")
# str.splitlines() also splits at characters such as U+0085, which are part of a line for oslo.config.
_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT_PREFIXES = (b"#", b";")


class InvalidIniFile(ValueError):
    """An ini file is not text, or has a line that is no section, option or continuation. The text gives the
    reason, never the line's content.
    """


def decode_ini(content: bytes) -> str:
    """Decode a file in UTF-8, or in UTF-16 with a byte order mark. In other files than UTF-16 comments may be
    in any encoding: they become empty lines, so that line numbers stay.

    Raises :class:`InvalidIniFile` for options in another encoding, and for zero bytes.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return content.decode("utf-16")
        except UnicodeDecodeError:
            raise InvalidIniFile("is not text: it begins like UTF-16, and has other bytes") from None
    # In encodings of comments that are in use (Latin-1, GBK, Shift JIS, …) no line end is part of a character.
    lines = content.removeprefix(codecs.BOM_UTF8).splitlines()
    return "\n".join(_decoded_line(number, line) for number, line in enumerate(lines, 1))


def _decoded_line(number: int, line: bytes) -> str:
    if line.lstrip().startswith(_COMMENT_PREFIXES):
        return ""
    if b"\0" in line:
        raise InvalidIniFile(f"line {number}: is not text")
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InvalidIniFile(
            f"line {number}: is not text in UTF-8; other encodings are read in comments only: save the file as UTF-8"
        ) from None


def read_ini(text: str) -> Sections:
    """Parse the text of an ini file. Raises :class:`InvalidIniFile` for a line that is no section, option,
    continuation or comment.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for section, option, lines in _iterate_options(text):
        value = "\n".join(lines).strip()
        # oslo.config removes one pair of quotes around a value.
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        found.setdefault(section, {}).setdefault(option, []).append(value)
    return found


def merge_ini_files(files: Iterable[Sections]) -> Sections:
    """Merge files; of an option in several files the last file's values replace the others."""
    found: dict[str, dict[str, list[str]]] = {}
    for file in files:
        for section, options in file.items():
            found.setdefault(section, {}).update({name: list(values) for name, values in options.items()})
    return found


def _iterate_options(text: str) -> Iterator[tuple[str, str, list[str]]]:
    section, option = DEFAULT_SECTION, ""
    lines: list[str] = []
    for number, line in enumerate(_LINE_END.split(text), 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            continue
        if line[0].isspace() and option:
            lines.append(stripped)
            continue
        if option:
            yield section, option, lines
            option = ""
        if (heading := _SECTION_PATTERN.match(stripped)) and (name := heading[1].strip()):
            section = name
        elif given := _OPTION_PATTERN.match(stripped):
            option, lines = given[1].strip(), [given[2].strip()]
        else:
            raise InvalidIniFile(f"line {number}: neither a [section] nor option = value")
    if option:
        yield section, option, lines

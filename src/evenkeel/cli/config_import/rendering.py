"""Text of the ini files that the import writes. Pure."""

from collections.abc import Sequence
from typing import NamedTuple


class OptionLine(NamedTuple):
    """An option to write to one of Even Keel's ini files, below its ``remark``. ``value`` None: the option is
    commented out.
    """

    section: str
    option: str
    value: str | None
    remark: str


def render_ini_file(lines: Sequence[OptionLine], heading: str) -> str:
    """Return the text of an ini file that begins with ``heading``; a line's remark stands above its option."""
    sections: dict[str, list[OptionLine]] = {}
    for line in lines:
        sections.setdefault(line.section, []).append(line)
    text = [f"# {heading}"]
    for section, options in sections.items():
        text += ["", f"[{section}]"]
        for one in options:
            if one.remark:
                text.append(f"# {one.remark}")
            text.append(f"# {one.option} =" if one.value is None else f"{one.option} = {_ini_value(one.value)}")
    return "\n".join(text) + "\n"


def _ini_value(value: str) -> str:
    """Return the value escaped so that oslo.config reads it back unchanged."""
    text = value.replace("$", "$$")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":  # oslo.config removes one pair of quotes
        other = "'" if text[0] == '"' else '"'
        text = f"{other}{text}{other}"
    return "\n    ".join(text.splitlines())

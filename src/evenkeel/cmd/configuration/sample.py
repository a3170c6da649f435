"""A configuration of a process with every option, as a comment with its default."""

import textwrap
from collections.abc import Iterator

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION
from evenkeel.cmd.configuration.processes import PROCESSES, process_options
from evenkeel.config.values import allowed_values, type_words

FILE_HEAD = """# Configuration of {command}: every option with its default. Made by 'evenkeel config sample {name}'.
# Remove the '#' before an option to set it. '{check}' checks a file.
"""
LINE_CHARACTERS = 118


def sample_configuration(name: str) -> str:
    """Return the text of a sample configuration of the process ``name``: every option with its default, as a
    comment. Raises :class:`ValueError` for a device driver that cannot be loaded.
    """
    check = f"evenkeel config check {name} --config-file FILE"
    parts = [FILE_HEAD.format(command=PROCESSES[name].command, name=name, check=check)]
    for section, options in process_options(name):
        parts.append(f"\n[{section or DEFAULT_SECTION}]\n")
        parts += [text for option in options for text in _option_lines(option)]
    return "".join(parts)


def _option_lines(option: cfg.Opt) -> Iterator[str]:
    allowed = allowed_values(option)
    kind = f"{type_words(option)}: {allowed}" if allowed and allowed != "true, false" else type_words(option)
    yield "\n"
    for line in (*textwrap.wrap(option.help or "", LINE_CHARACTERS), f"({kind})"):
        yield f"# {line}\n"
    yield f"#{option.name} ={_default_text(option.default)}\n"


def _default_text(default: object) -> str:
    if default in (None, "", []):
        return ""
    return " " + (",".join(map(str, default)) if isinstance(default, list) else str(default))

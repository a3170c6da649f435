"""Output of a process whose configuration is refused: one line per problem on standard error."""

import sys
from collections.abc import Sequence

from oslo_config import cfg

from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION, add_location
from evenkeel.cmd.configuration.loading import read_configuration_files
from evenkeel.config.problems import problem_texts

EXIT_CODE_REFUSED = 2
"""Exit code of a process that does not start, because its configuration is invalid."""
PRINTED_PROBLEMS_MAX = 20
"""Maximum number of printed problems; further ones are counted."""


def print_refusal(command: str, error: ValueError, conf: cfg.ConfigOpts | None = None) -> int:
    """Print the problems of ``error`` on standard error; returns the exit code 2.

    ``conf``: the configuration, for files and lines of the options that the problems name; None: the problems
    have them already.
    """
    for line in refusal_lines(command, problem_texts(error) if conf is None else located_problems(conf, error)):
        print(line, file=sys.stderr)
    return EXIT_CODE_REFUSED


def located_problems(conf: cfg.ConfigOpts, error: ValueError) -> tuple[str, ...]:
    """Return the problems of ``error``, each with file and line of the option that it names, if a file
    contains it.
    """
    files = read_configuration_files(conf)
    sections = [DEFAULT_SECTION, "haproxyd"]
    if "device_driver" in conf:
        sections.insert(0, conf.device_driver)
    return tuple(add_location(problem, files, sections) for problem in problem_texts(error))


def refusal_lines(command: str, problems: Sequence[str]) -> list[str]:
    """Return the lines to print: one line for one problem, else a heading and a line for each, at most
    :data:`PRINTED_PROBLEMS_MAX`, and the number of further ones.
    """
    if len(problems) == 1:
        return [f"{command}: configuration refused: {problems[0]}"]
    lines = [f"  {problem}" for problem in problems[:PRINTED_PROBLEMS_MAX]]
    if len(problems) > PRINTED_PROBLEMS_MAX:
        lines.append(f"  and {len(problems) - PRINTED_PROBLEMS_MAX} more")
    return [f"{command}: configuration refused, {len(problems)} problems:", *lines]

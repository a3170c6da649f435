"""``evenkeel config import`` with a check of the written files, as the processes' start would do it."""

import asyncio
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import structlog

from evenkeel.cli.config_import.command import ImportConfig
from evenkeel.cmd.options.extras import missing_packages, pip_install_command
from evenkeel.config.problems import problem_texts

WRITTEN_FILE_BY_PROCESS = {"controller": "controller.ini", "agent": "agent.ini"}
"""Written files by process."""
_OPTION_PATTERN = re.compile(r"(?:\S+:\d+: )?(?:\[[^\]]*\] )?([\w.]+): ")
"""Beginning of a problem of the check: position and section, where it has them, then the option's name."""


class CheckedImport(ImportConfig):
    """Make Even Keel's configuration from that of F5's agent and of Neutron, and show what became of each
    option.

    Writes controller.ini, agent.ini and the file with the devices' password, all with mode 0600. No value is
    shown. Options that the processes would refuse are shown as problems. Needs no controller.
    """

    def refusals(self, folder: Path, problems: Sequence[str]) -> Sequence[str]:
        """Return the problems of ``evenkeel config check`` with the written files, except those about options
        in ``problems``.
        """
        return written_file_refusals(folder, problems)


def written_file_refusals(folder: Path, problems: Sequence[str]) -> Sequence[str]:
    """Return the problems with which controllers and agents would refuse their files in ``folder``, without
    those about options that ``problems`` name at their beginning.
    """
    # Some problems begin with several names.
    named = (name for problem in problems for name in problem.partition(":")[0].split(", "))
    decided = {name.rpartition(".")[2] for name in named}
    found = [
        problem
        for process, file in WRITTEN_FILE_BY_PROCESS.items()
        for problem in _process_refusals(process, folder / file)
    ]
    options = [(_OPTION_PATTERN.match(problem), problem) for problem in found]
    return [problem for match, problem in options if match is None or match[1].rpartition(".")[2] not in decided]


@contextmanager
def _library_logs_disabled() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _process_refusals(process: str, file: Path) -> Sequence[str]:
    if missing_packages(process):
        needed = pip_install_command(process)
        return [f"{file.name}: not checked: {needed}, then evenkeel config check {process} --config-file {file}"]
    from evenkeel.cmd.configuration.commands import check_process_configuration
    from evenkeel.cmd.configuration.loading import file_arguments, load_configuration
    from evenkeel.cmd.configuration.processes import PROCESSES
    from evenkeel.cmd.configuration.refusal import located_problems

    # Warnings of the check, and of libraries, are about files that an operator has finished.
    with structlog.testing.capture_logs(), _library_logs_disabled():
        conf = None
        try:
            conf = load_configuration(
                PROCESSES[process].command, file_arguments([file]), groups=PROCESSES[process].groups
            )
            asyncio.run(check_process_configuration(process, conf))
        except ValueError as error:
            return problem_texts(error) if conf is None else located_problems(conf, error)
    return ()

"""``evenkeel``: the operators' command line, with the commands about the configuration of this host's processes."""

import sys

from evenkeel.cli import main as cli
from evenkeel.cmd.configuration.checked_import import CheckedImport
from evenkeel.cmd.configuration.commands import COMMANDS


def main() -> int:
    """Run ``evenkeel``; returns the exit code."""
    return cli.main(commands={**COMMANDS, "config import": CheckedImport})


if __name__ == "__main__":
    sys.exit(main())

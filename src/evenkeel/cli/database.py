"""``evenkeel database …``"""

from argparse import Namespace
from typing import Any

from evenkeel.cli.base import ShowCommand
from evenkeel.cli.client import API
from evenkeel.cli.columns import Columns, shown


class ShowDatabase(ShowCommand):
    """Show the history of the database and when it began."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Ask and show."""
        return shown(self.client.get(f"{API}/database")["database"])


class NewHistory(ShowCommand):
    """State that the database was restored, or has lost changes: every agent checks everything it serves."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Begin a new history and show it."""
        return shown(self.client.post(f"{API}/database/new-history", None)["database"])

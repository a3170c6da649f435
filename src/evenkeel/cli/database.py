"""``evenkeel database …``"""

from argparse import Namespace
from typing import Any

from evenkeel.cli.base import ShowCommand
from evenkeel.cli.client import API
from evenkeel.cli.columns import Columns, shown


class ShowDatabase(ShowCommand):
    """Show which history of the database this is, and since when."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Ask and show."""
        return shown(self.client.get(f"{API}/database")["database"])


class NewHistory(ShowCommand):
    """Say that the database was restored, or has lost changes: every agent looks at everything it serves."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Have it begin and show it."""
        return shown(self.client.post(f"{API}/database/new-history", None)["database"])

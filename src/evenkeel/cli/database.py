"""The commands ``evenkeel database …``."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ShowCommand
from evenkeel.cli.client import API_PATH, quote_segment
from evenkeel.cli.columns import Columns, object_table


class ShowDatabase(ShowCommand):
    """Show the history of the database and when it began."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        return _database_table(self.client.get(f"{API_PATH}/database")["database"])


class StartNewHistory(ShowCommand):
    """``evenkeel database new-history``: states that the database was restored or has lost changes, so that
    every agent checks everything.
    """

    operator_action = "database_new_history"

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        return _database_table(self.client.post(f"{API_PATH}/database/new-history", None)["database"])


class AcceptHistory(ShowCommand):
    """``evenkeel database accept-history``: accepts a history that agents saw and this database never had."""

    operator_action = "database_accept_history"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("history", help="Id of the unknown history, as evenkeel status names it.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = f"{API_PATH}/database/histories/{quote_segment(parsed_args.history)}/accept"
        return _database_table(self.client.post(path, None)["database"])


def _database_table(database: dict[str, Any]) -> tuple[Columns, tuple[Any, ...]]:
    unknown = ", ".join(one["history_id"] for one in database.pop("unknown_histories"))
    return object_table({**database, "unknown_histories": unknown})

"""The command ``evenkeel controller list``."""

from argparse import Namespace
from typing import Any

from evenkeel.cli.base import ListCommand, print_problems
from evenkeel.cli.client import API_PATH
from evenkeel.cli.columns import list_table
from evenkeel.core.control.explanation import CONNECTED

LIST_COLUMNS = ("host", "url", "id", "version", "alive", "started_at", "seen_at", "message_broker")
NARROW_TITLES = {"host": "host", "url": "url", "id": "id", "version": "version", "alive": "alive"}


class ListControllers(ListCommand):
    """List controllers, the processes that serve the API. Exit code 1: one is silent, or cannot send messages."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id"})

    def take_action(self, parsed_args: Namespace) -> Any:
        rows = self.client.get(f"{API_PATH}/controllers")["controllers"]
        silent = [f"controller {row['url']} on {row['host']} is silent" for row in rows if not row["alive"]]
        mute = [
            f"controller {row['url']} on {row['host']}: the message broker takes no messages: {row['message_broker']}"
            for row in rows
            if row["alive"] and row["message_broker"] != CONNECTED
        ]
        print_problems(self, [*silent, *mute])
        return list_table(LIST_COLUMNS, rows)

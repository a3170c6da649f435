"""The command ``evenkeel status``."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import ShowCommand, print_problems
from evenkeel.cli.client import API
from evenkeel.cli.columns import Columns, object_table


class ShowStatus(ShowCommand):
    """Show a summary of the whole system, its problems first, with what helps. Exit code 1: there are problems."""

    may_watch = True

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        status = dict(self.client.get(f"{API}/status")["status"])
        print_problems(self, [f"{problem['text']}; {problem['remedy']}" for problem in status.pop("problems")])
        devices = [name for group in status.pop("devices") for name in group["out_of_reach"]]
        found = {
            "environments_halted": ", ".join(row["environment"] for row in status.pop("halted")),
            "devices_out_of_reach": ", ".join(devices),
            "countdowns": "; ".join(status.pop("countdowns")),
        }
        return object_table(flatten_status(status) | found)


def flatten_status(status: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten the status to one name per number: ``agents_up``, ``load_balancers_ACTIVE``…"""
    return {
        f"{group}_{name}" if isinstance(value, Mapping) else group: number
        for group, value in status.items()
        for name, number in (value.items() if isinstance(value, Mapping) else [("", value)])
    }

"""The command ``evenkeel status``."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import ShowCommand, print_problems
from evenkeel.cli.client import API_PATH
from evenkeel.cli.columns import Columns, object_table

NO_PROBLEMS_TEXT = "Nothing is wrong."
COUNT_TITLES = {"down": "silent or stopped"}
"""Words that tables show in place of the names of some counts."""


class ShowStatus(ShowCommand):
    """Show a summary of the whole system, its problems first, and how to fix them. Exit code 1: there are problems."""

    supports_watch = True

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        status = dict(self.client.get(f"{API_PATH}/status")["status"])
        problems = status.pop("problems")
        print_problems(self, [f"{problem['text']}; {problem['remedy']}" for problem in problems])
        devices = [name for group in status.pop("devices") for name in group["out_of_reach"]]
        found = {
            "environments_halted": ", ".join(row["environment"] for row in status.pop("halted")),
            "devices_out_of_reach": ", ".join(devices),
            "countdowns": "; ".join(status.pop("countdowns")),
        }
        if parsed_args.formatter != "table" or parsed_args.columns:
            return object_table(flatten_status(status) | found)
        if not problems:
            self.app.stdout.write(f"{NO_PROBLEMS_TEXT}\n")
        return object_table(short_status(status) | {name: value for name, value in found.items() if value})


def short_status(status: Mapping[str, Any]) -> dict[str, str]:
    """Return ``{part of the status: line}``; counts of zero are left out, and the line is ``none`` if all
    counts are zero.
    """
    return {
        group: _counts_text(value) if isinstance(value, Mapping) else _formatted_number(value)
        for group, value in status.items()
    }


def _counts_text(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{number} {COUNT_TITLES.get(name, name)}" for name, number in counts.items() if number) or "none"


def _formatted_number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def flatten_status(status: Mapping[str, Any]) -> dict[str, Any]:
    """Return the status with one name per value: ``agents_up``, ``load_balancers_ACTIVE``…"""
    return {
        f"{group}_{name}" if isinstance(value, Mapping) else group: number
        for group, value in status.items()
        for name, number in (value.items() if isinstance(value, Mapping) else [("", value)])
    }

"""``evenkeel status``"""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import ShowCommand, tell_problems, warn_of_halted
from evenkeel.cli.client import API
from evenkeel.cli.columns import Columns, shown


class ShowStatus(ShowCommand):
    """Show a summary of the whole system."""

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Ask and show."""
        status = dict(self.client.get(f"{API}/status")["status"])
        halted = [{"environment": row["environment"], "halted": row["reason"]} for row in status.pop("halted", ())]
        warn_of_halted(self, halted)
        names = ", ".join(row["environment"] for row in halted)
        devices = [name for group in status.pop("devices", ()) for name in group["out_of_reach"]]
        problems = status.pop("problems", ())
        tell_problems(self, [*problems, *(f"environment {row['environment']} is halted" for row in halted)])
        found = {"environments_halted": names, "devices_out_of_reach": ", ".join(devices)}
        return shown(flattened(status) | found)


def flattened(status: Mapping[str, Any]) -> dict[str, Any]:
    """One name per number: ``agents_up``, ``load_balancers_ACTIVE``…"""
    return {
        f"{group}_{name}" if isinstance(value, Mapping) else group: number
        for group, value in status.items()
        for name, number in (value.items() if isinstance(value, Mapping) else [("", value)])
    }

"""The commands ``evenkeel device …``."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from evenkeel.cli.base import ListCommand, print_problems
from evenkeel.cli.client import API_PATH
from evenkeel.cli.columns import list_table, object_title
from evenkeel.cli.filters import add_environment_filter

LIST_COLUMNS = (
    "name",
    "address",
    "environment",
    "group_number",
    "reached_by",
    "failover_state",
    "sync_state",
    "version",
    "problem",
    "limitation",
)
NARROW_TITLES = {
    "name": "name",
    "address": "address",
    "environment": "env",
    "group_number": "group",
    "reached_by": "reached",
    "failover_state": "failover",
    "sync_state": "sync",
}
_REPORTED_FIELDS = ("failover_state", "sync_state", "version")


class ListDevices(ListCommand):
    """List the devices with their failover and config-sync state, as live agents report them."""

    narrow_titles = NARROW_TITLES

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_environment_filter(parser, "devices")

    def take_action(self, parsed_args: Namespace) -> Any:
        query = {"environment": parsed_args.environment} if parsed_args.environment else {}
        rows = device_rows(self.client.get(f"{API_PATH}/agents", query)["agents"])
        print_problems(
            self, (f"{object_title(row['name'], row['address'])}: {row['problem']}" for row in rows if row["problem"])
        )
        return list_table(LIST_COLUMNS, rows)


def device_rows(agents: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per device of live agents, sorted by environment, group number and address. States and
    version come from the newest report of an agent that reaches the device; ``reached_by``: how many of
    the live agents that report the device reach it, such as ``1/2``.
    """
    reports: dict[tuple[str, int, str], list[Mapping[str, Any]]] = {}
    for agent in sorted(agents, key=lambda agent: str(agent.get("reported_at") or ""), reverse=True):
        for device in agent.get("devices") or () if agent.get("alive") else ():
            place = (str(agent["environment"]), int(agent["group_number"]), str(device["name"]))
            reports.setdefault(place, []).append(device)
    return [
        _device_row(*place, device_reports)
        for place, device_reports in sorted(reports.items(), key=lambda item: item[0])
    ]


def _device_row(
    environment: str, group_number: int, address: str, device_reports: list[Mapping[str, Any]]
) -> dict[str, Any]:
    reached = [device for device in device_reports if device["reachable"]]
    problems, limitations = (
        dict.fromkeys(str(device[field]) for device in device_reports if device.get(field))
        for field in ("problem", "limitation")
    )
    return {
        "name": next((str(device["own_name"]) for device in device_reports if device.get("own_name")), address),
        "address": address,
        "environment": environment,
        "group_number": group_number,
        "reached_by": f"{len(reached)}/{len(device_reports)}",
        **{field: next((str(one[field]) for one in reached if one.get(field)), "") for field in _REPORTED_FIELDS},
        "problem": "; ".join(problems),
        "limitation": "; ".join(limitations),
    }

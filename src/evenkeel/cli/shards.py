"""The commands ``evenkeel shard list|move``."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import (
    ListCommand,
    ShowCommand,
    complete_id,
    find_agent,
    find_agent_in_group,
    warn_about_halted_environments,
)
from evenkeel.cli.client import API_PATH, ApiRefused, quote_segment
from evenkeel.cli.columns import Columns, list_table, object_table
from evenkeel.cli.filters import add_environment_filter

LIST_COLUMNS = ("id", "environment", "group_number", "project_id", "owner", "home", "epoch", "served")
NARROW_TITLES = {
    "id": "id",
    "environment": "environment",
    "group_number": "group",
    "project_id": "project",
    "owner": "owner",
    "home": "home",
    "epoch": "epoch",
}


class ListShards(ListCommand):
    """List shards (a project's load balancers on a device group) with the hosts of their owners and homes."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id", "project_id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_environment_filter(parser, "shards")
        parser.add_argument("--agent", metavar="AGENT", help="Only those that this agent owns or is home to.")
        parser.add_argument("--unserved", action="store_true", help="Only those that no live agent serves.")

    def take_action(self, parsed_args: Namespace) -> Any:
        query = {"environment": parsed_args.environment} if parsed_args.environment else {}
        if parsed_args.agent:
            query["agent_id"] = find_agent(self.client, parsed_args.agent)["id"]
        rows = self.client.get(f"{API_PATH}/shards", query)["shards"]
        warn_about_halted_environments(self, rows)
        hosts = {agent["id"]: agent["host"] for agent in self.client.get(f"{API_PATH}/agents")["agents"]}
        return list_table(
            LIST_COLUMNS,
            [
                {
                    **row,
                    "owner": hosts.get(row["acting_agent_id"], row["acting_agent_id"] or ""),
                    "home": hosts.get(row["home_agent_id"], row["home_agent_id"]),
                }
                for row in rows
                if not (parsed_args.unserved and row["served"])
            ],
        )


class MoveShard(ShowCommand):
    """``evenkeel shard move``: makes another agent of its device group the permanent home of a shard."""

    operator_action = "shard_rebind"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shard", metavar="SHARD", help="Id of the shard, or its beginning.")
        parser.add_argument("--to", metavar="AGENT", required=True, help="The new home: id, or host of its group.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        shard = self._find_shard(parsed_args.shard)
        home = find_agent_in_group(self.client, shard, parsed_args.to)
        return object_table(
            self.client.put(f"{API_PATH}/shards/{quote_segment(shard['id'])}/rebind", {"to": home})["shard"]
        )

    def _find_shard(self, name: str) -> Mapping[str, Any]:
        wanted = complete_id(self.client, "shards", name) or name
        for row in self.client.get(f"{API_PATH}/shards")["shards"]:
            if row["id"] == wanted:
                found: Mapping[str, Any] = row
                return found
        raise ApiRefused(404, f"no shard has the id {name!r}")

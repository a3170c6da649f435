"""``evenkeel shard list``"""

from argparse import Namespace
from typing import Any

from evenkeel.cli.agents import add_environment_filter
from evenkeel.cli.base import ListCommand, find_agent, warn_of_halted
from evenkeel.cli.client import API
from evenkeel.cli.columns import listed

LIST_COLUMNS = ("id", "environment", "group_number", "project_id", "owner", "home", "epoch", "served")


class ListShards(ListCommand):
    """List shards (a project's load balancers on a device group) with the hosts of their owners and homes."""

    def get_parser(self, prog_name: str) -> Any:
        """Filters."""
        parser = super().get_parser(prog_name)
        add_environment_filter(parser, "shards")
        parser.add_argument("--agent", metavar="AGENT", help="Only those that this agent owns or is home to.")
        return parser

    def take_action(self, parsed_args: Namespace) -> Any:
        """Ask and show."""
        query = {"environment": parsed_args.environment} if parsed_args.environment else {}
        if parsed_args.agent:
            query["agent_id"] = find_agent(self.client, parsed_args.agent)["id"]
        rows = self.client.get(f"{API}/shards", query)["shards"]
        warn_of_halted(self, rows)
        hosts = {agent["id"]: agent["host"] for agent in self.client.get(f"{API}/agents")["agents"]}
        return listed(
            LIST_COLUMNS,
            [
                {
                    **row,
                    "owner": hosts.get(row["acting_agent_id"], row["acting_agent_id"] or ""),
                    "home": hosts.get(row["home_agent_id"], row["home_agent_id"]),
                }
                for row in rows
            ],
        )

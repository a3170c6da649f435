"""``evenkeel loadbalancer …``: load balancers and their agents."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.agents import add_agent_argument
from evenkeel.cli.base import (
    ListCommand,
    ShowCommand,
    agent_path,
    fetch_all_pages,
    find_agent,
    warn_about_halted_environments,
)
from evenkeel.cli.columns import Columns, list_table, object_table
from evenkeel.cli.load_balancers import NARROW_TITLES, add_load_balancer_argument, load_balancer_path

LIST_COLUMNS = ("name", "id", "project_id", "vip_address", "provisioning_status", "operating_status")


class ListLoadBalancersOnAgent(ListCommand):
    """List load balancers that an agent serves now or is home to."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)

    def take_action(self, parsed_args: Namespace) -> Any:
        agent = find_agent(self.client, parsed_args.agent)
        warn_about_halted_environments(self, [agent])
        path = f"{agent_path(agent)}/loadbalancers"
        return list_table(LIST_COLUMNS, fetch_all_pages(self.client, path, "loadbalancers"))


class ShowAgentOfLoadBalancer(ShowCommand):
    """Show which agent serves a load balancer, which is its home, and the applied revision."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        hosting = self.client.get(f"{path}/agent")["hosting"]
        row = flatten_hosting(hosting)
        warn_about_halted_environments(self, [row])
        return object_table(row)


def flatten_hosting(hosting: dict[str, Any]) -> dict[str, Any]:
    """Return the API's answer about a load balancer's agents as ``{column: value}``; values are empty if no
    agent serves it or it is not placed yet.
    """
    shard, acting, home = (hosting[key] or {} for key in ("shard", "acting", "home"))
    return {
        "load_balancer_id": hosting["load_balancer_id"],
        "acting_agent_id": acting.get("id", ""),
        "acting_host": acting.get("host", ""),
        "acting_alive": acting.get("alive", False),
        "home_agent_id": home.get("id", ""),
        "home_host": home.get("host", ""),
        "environment": hosting.get("environment", ""),
        "data_path": hosting.get("data_path", ""),
        "group_number": shard.get("group_number", ""),
        "shard_id": shard.get("id", ""),
        "epoch": shard.get("epoch", ""),
        "revision": hosting["revision"],
        "applied_revision": hosting["applied_revision"],
        "status_reason": hosting["status_reason"],
        "operating_status": hosting.get("operating_status", ""),
        "operating_reason": hosting.get("operating_reason", ""),
        "halted": hosting.get("halted", ""),
    }

"""The commands ``evenkeel agent …``."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import (
    ApiCommand,
    ListCommand,
    ShowCommand,
    agent_path,
    find_agent,
    find_agent_in_group,
    print_problems,
    reachable_devices_text,
    unreachable_device_problems,
    warn_about_halted_environments,
)
from evenkeel.cli.client import API_PATH
from evenkeel.cli.columns import Columns, list_table, object_table
from evenkeel.cli.filters import add_choice_filter, add_environment_filter
from evenkeel.core.control.agent_state import AgentState

LIST_COLUMNS = (
    "host",
    "environment",
    "group_number",
    "state",
    "alive",
    "devices_in_reach",
    "acting_shards",
    "home_shards",
    "handing_over",
    "load_balancers",
    "queue_depth",
    "id",
)
NARROW_TITLES = {
    "host": "host",
    "environment": "environment",
    "group_number": "group",
    "state": "state",
    "devices_in_reach": "devices",
    "acting_shards": "shards",
    "home_shards": "at home",
}
FILTER_OPTIONS = ("environment", "host", "state")


def add_agent_argument(parser: ArgumentParser) -> None:
    """Add the positional argument AGENT, which names an agent, to a command's parser."""
    parser.add_argument("agent", metavar="AGENT", help="Id of the agent, its beginning, or its host if that is unique.")


class ListAgents(ListCommand):
    """List agents with their state and load."""

    narrow_titles = NARROW_TITLES

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_environment_filter(parser, "agents")
        parser.add_argument("--host", help="Only agents on this host.")
        add_choice_filter(parser, "--state", AgentState, "Only agents in this state")

    def take_action(self, parsed_args: Namespace) -> Any:
        query = {name: getattr(parsed_args, name) for name in FILTER_OPTIONS if getattr(parsed_args, name)}
        rows = self.client.get(f"{API_PATH}/agents", query)["agents"]
        warn_about_halted_environments(self, rows)
        print_problems(self, unreachable_device_problems(rows))
        return list_table(LIST_COLUMNS, [{**row, "devices_in_reach": reachable_devices_text(row)} for row in rows])


class ShowAgent(ShowCommand):
    """Show one agent with its devices."""

    supports_watch = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        agent = find_agent(self.client, parsed_args.agent)
        warn_about_halted_environments(self, [agent])
        print_problems(self, unreachable_device_problems([agent]))
        return object_table({**agent, "devices_in_reach": reachable_devices_text(agent)})


class SetAgent(ShowCommand):
    """Take an agent out of service, as 'agent drain' does, or back into service."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)
        state = parser.add_mutually_exclusive_group(required=True)
        state.add_argument("--enable", dest="up", action="store_true", help="Put it back into service.")
        state.add_argument("--disable", dest="up", action="store_false", help="Drain it: hand its shards over.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        agent = find_agent(self.client, parsed_args.agent)
        body = {"agent": {"admin_state_up": parsed_args.up}}
        return object_table(self.client.put(agent_path(agent), body)["agent"])


class DeleteAgent(ApiCommand):
    """``evenkeel agent delete``: deletes a stopped agent; ``--rebind-to`` names the new home of its load
    balancers.
    """

    operator_action = "agent_delete"
    details = "--rebind-to names the new home."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)
        parser.add_argument(
            "--rebind-to", metavar="AGENT", help="The agent of its group that becomes the home of its load balancers."
        )

    def take_action(self, parsed_args: Namespace) -> None:
        agent = find_agent(self.client, parsed_args.agent)
        query = None
        if parsed_args.rebind_to:
            query = {"rebind_to": find_agent_in_group(self.client, agent, parsed_args.rebind_to)}
        self.client.delete(agent_path(agent), query)

"""``evenkeel agent …``"""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import Lists, Shows, Speaks, find_agent
from evenkeel.cli.client import API, segment
from evenkeel.cli.columns import Columns, listed, shown

LIST_COLUMNS = (
    "id",
    "host",
    "environment",
    "group_number",
    "alive",
    "admin_state_up",
    "acting_shards",
    "home_shards",
    "load_balancers",
    "queue_depth",
)


def add_agent_argument(parser: ArgumentParser) -> None:
    """The agent a command is about."""
    parser.add_argument("agent", metavar="AGENT", help="Id of the agent, or its host if that is unique.")


class ListAgents(Lists):
    """List agents: who is alive, and how much each serves."""

    def get_parser(self, prog_name: str) -> Any:
        """Filters."""
        parser = super().get_parser(prog_name)
        parser.add_argument("--environment", help="Only agents of this environment.")
        parser.add_argument("--host", help="Only agents on this host.")
        return parser

    def take_action(self, parsed_args: Namespace) -> Any:
        """Ask and show."""
        query = {name: getattr(parsed_args, name) for name in ("environment", "host") if getattr(parsed_args, name)}
        return listed(LIST_COLUMNS, self.client.get(f"{API}/agents", query)["agents"])


class ShowAgent(Shows):
    """Show everything known of one agent, its devices included."""

    def get_parser(self, prog_name: str) -> Any:
        """The agent."""
        parser = super().get_parser(prog_name)
        add_agent_argument(parser)
        return parser

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Ask and show."""
        return shown(find_agent(self.client, parsed_args.agent))


class SetAgent(Shows):
    """Take an agent out of service (its shards move to others) or back into it."""

    def get_parser(self, prog_name: str) -> Any:
        """The agent and what to do with it."""
        parser = super().get_parser(prog_name)
        add_agent_argument(parser)
        state = parser.add_mutually_exclusive_group(required=True)
        state.add_argument("--enable", dest="up", action="store_true", help="Give it work again.")
        state.add_argument("--disable", dest="up", action="store_false", help="Move its work away, give it no more.")
        return parser

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Change and show."""
        agent = find_agent(self.client, parsed_args.agent)
        body = {"agent": {"admin_state_up": parsed_args.up}}
        return shown(self.client.put(f"{API}/agents/{segment(agent['id'])}", body)["agent"])


class DeleteAgent(Speaks):
    """Forget an agent that is gone for good. Refused while it is alive, or home to load balancers."""

    def get_parser(self, prog_name: str) -> Any:
        """The agent."""
        parser = super().get_parser(prog_name)
        add_agent_argument(parser)
        return parser

    def take_action(self, parsed_args: Namespace) -> None:
        """Remove it."""
        agent = find_agent(self.client, parsed_args.agent)
        self.client.delete(f"{API}/agents/{segment(agent['id'])}")

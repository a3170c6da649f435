"""``evenkeel agent drain|undrain|failback|force-down|rebind``: commands that move an agent's shards."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.agents import add_agent_argument
from evenkeel.cli.base import ShowCommand, agent_path, find_agent, find_agent_in_group, warn_about_halted_environments
from evenkeel.cli.client import UsageError
from evenkeel.cli.columns import Columns, object_table
from evenkeel.cli.progress import (
    FAILBACK_PROGRESS,
    LEAVING_PROGRESS,
    ProgressAttributes,
    add_wait_arguments,
    follow_progress,
)

SHOWN_ATTRIBUTES = (
    "id",
    "host",
    "environment",
    "group_number",
    "state",
    "acting_shards",
    "home_shards",
    "away_shards",
    "handing_over",
    "load_balancers",
    "waiting_reason",
    "away_reason",
    "halted",
)


class MoveShardsCommand(ShowCommand):
    """Base of commands that hand an agent's shards over to other agents; with ``--wait`` they follow the
    progress.
    """

    action: str
    progress: ProgressAttributes

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)
        add_wait_arguments(parser)

    def request_body(self, parsed_args: Namespace) -> Any:
        """Return the JSON body of the request, None for none. Raises :class:`UsageError` for options that do
        not fit together.
        """
        return None

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Send the request, follow its progress with ``--wait``, and return the agent's columns and values.
        Raises :class:`UsageError`, :class:`ClientError`, and
        :class:`~evenkeel.cli.client.NotFinishedInTime` if the wait ends before the move.
        """
        request_body = self.request_body(parsed_args)
        found = find_agent(self.client, parsed_args.agent)
        agent = self.client.put(f"{agent_path(found)}/{self.action}", request_body)["agent"]
        if parsed_args.wait:
            agent = follow_progress(self.client, agent, self.progress, parsed_args, self.print_progress)
        warn_about_halted_environments(self, [agent])
        return object_table({name: agent.get(name, "") for name in SHOWN_ATTRIBUTES})

    def print_progress(self, line: str) -> None:
        """Print a line about the progress on standard error."""
        self.app.stderr.write(f"{line}\n")
        self.app.stderr.flush()


class DrainAgent(MoveShardsCommand):
    """``evenkeel agent drain``: hands an agent's shards over to other agents; with ``--wait`` it ends when
    the agent serves none.
    """

    operator_action = "agent_drain"
    details = (
        "With --wait it ends when the agent serves no shard (exit code 0), or with the reason why shards cannot move"
        " (exit code 4)."
    )

    action = "drain"
    progress = LEAVING_PROGRESS


class UndrainAgent(MoveShardsCommand):
    """``evenkeel agent undrain``: puts a drained agent back into service; with ``--wait`` it ends when the
    agent's shards are home.
    """

    operator_action = "agent_undrain"
    details = "With --wait it ends when its shards are home."

    action = "undrain"
    progress = FAILBACK_PROGRESS


class FailbackAgent(MoveShardsCommand):
    """``evenkeel agent failback``: hands shards back to their home agent; with ``--wait`` it ends when they
    are home.
    """

    operator_action = "agent_failback"

    action = "failback"
    progress = FAILBACK_PROGRESS


class ForceDownAgent(MoveShardsCommand):
    """``evenkeel agent force-down``: declares an agent's host dead with ``--yes``, so that its shards move at
    once, or revokes that with ``--undo``.
    """

    operator_action = "agent_force_down"
    details = "With --yes the host is dead; with --undo it is not."

    action = "force-down"
    progress = LEAVING_PROGRESS

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        sure = parser.add_mutually_exclusive_group()
        sure.add_argument("--yes", action="store_true", help="Confirm that the host is dead: powered off, or isolated.")
        sure.add_argument("--undo", action="store_true", help="Mark the agent up again.")

    def request_body(self, parsed_args: Namespace) -> Any:
        """Return the JSON body of the request. Raises :class:`UsageError` without ``--yes`` or ``--undo``,
        and for ``--undo`` with ``--wait``.
        """
        if not parsed_args.yes and not parsed_args.undo:
            raise UsageError(
                "make sure that the host is really dead, then pass --yes: in reschedule mode relocate its load"
                " balancers are rebuilt on another host, and two hosts must not answer for the same addresses"
            )
        if parsed_args.undo and parsed_args.wait:
            raise UsageError("--wait needs --yes: --undo moves no shard by itself")
        return {"down": not parsed_args.undo}


class RebindAgent(ShowCommand):
    """``evenkeel agent rebind``: makes another agent of the group the permanent home of all shards of an
    agent.
    """

    operator_action = "agent_rebind"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_agent_argument(parser)
        parser.add_argument("--to", metavar="AGENT", required=True, help="The new home: id, or host of its group.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        agent = find_agent(self.client, parsed_args.agent)
        successor = find_agent_in_group(self.client, agent, parsed_args.to)
        return object_table(self.client.put(f"{agent_path(agent)}/rebind", {"to": successor})["rebound"])

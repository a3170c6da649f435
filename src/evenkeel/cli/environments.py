"""The commands ``evenkeel environment …``."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, ShowCommand, warn_about_halted_environments
from evenkeel.cli.client import API_PATH, UsageError, quote_segment
from evenkeel.cli.columns import Columns, list_table, object_table

LIST_COLUMNS = ("name", "device_driver", "failback", "breaker_share", "breaker_agents", "halted", "description")
NARROW_TITLES = {
    "name": "name",
    "device_driver": "driver",
    "failback": "failback",
    "halted": "halted",
    "description": "description",
}
CHANGEABLE_ATTRIBUTES = (
    "description",
    "failback",
    "breaker_share",
    "breaker_agents",
    "vip_networks_allowed",
    "vip_networks_denied",
)


def _add_name_argument(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="Letters, digits, - and _, at most 64.")


def _add_change_options(parser: ArgumentParser) -> None:
    parser.add_argument("--description", help="Free text.")
    parser.add_argument(
        "--failback",
        choices=("auto", "manual", "never"),
        help="When an agent that is up again gets its shards back: automatically, on request, or never.",
    )
    parser.add_argument(
        "--breaker-share",
        type=float,
        metavar="SHARE",
        help="The circuit breaker opens when more than this share of the agents (0 to 1) falls silent at once…",
    )
    parser.add_argument("--breaker-agents", type=int, metavar="N", help="… and at least this many.")
    parser.add_argument(
        "--vip-networks-allowed",
        type=_parse_ids,
        metavar="IDS",
        help="Networks and subnets that new VIPs may be on, separated by commas; empty: every one.",
    )
    parser.add_argument(
        "--vip-networks-denied",
        type=_parse_ids,
        metavar="IDS",
        help="Networks and subnets that no new VIP may be on, also if allowed, separated by commas; empty: none.",
    )


def _parse_ids(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _given_changes(parsed_args: Namespace) -> dict[str, Any]:
    return {
        name: getattr(parsed_args, name) for name in CHANGEABLE_ATTRIBUTES if getattr(parsed_args, name) is not None
    }


def _environment_path(parsed_args: Namespace) -> str:
    return f"{API_PATH}/environments/{quote_segment(parsed_args.name)}"


class ListEnvironments(ListCommand):
    """List environments; tenants name them as providers."""

    narrow_titles = NARROW_TITLES

    def take_action(self, parsed_args: Namespace) -> Any:
        rows = self.client.get(f"{API_PATH}/environments")["environments"]
        warn_about_halted_environments(self, rows, "name")
        return list_table(LIST_COLUMNS, rows)


class CreateEnvironment(ShowCommand):
    """``evenkeel environment create``: creates an environment. Idempotent."""

    operator_action = "environment_create"
    details = "Idempotent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_name_argument(parser)
        parser.add_argument("--device-driver", required=True, help="The only device driver whose agents may join.")
        _add_change_options(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        body = {"name": parsed_args.name, "device_driver": parsed_args.device_driver, **_given_changes(parsed_args)}
        return object_table(self.client.post(f"{API_PATH}/environments", {"environment": body})["environment"])


class EnvironmentCommand(ShowCommand):
    """Base of commands whose output is one environment."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_name_argument(parser)

    def send_request(self, parsed_args: Namespace) -> dict[str, Any]:
        """Send the command's request; return the environment as the API reports it. Raises
        :class:`ClientError`.
        """
        raise NotImplementedError

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        row = self.send_request(parsed_args)
        warn_about_halted_environments(self, [row], "name")
        return object_table(row)


class ShowEnvironment(EnvironmentCommand):
    """Show an environment."""

    def send_request(self, parsed_args: Namespace) -> dict[str, Any]:
        """Return the environment exactly as the API reports it. Raises :class:`ClientError`."""
        row: dict[str, Any] = self.client.get(_environment_path(parsed_args))["environment"]
        return row


class SetEnvironment(EnvironmentCommand):
    """``evenkeel environment set``: changes the given attributes of an environment."""

    operator_action = "environment_update"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        _add_change_options(parser)

    def send_request(self, parsed_args: Namespace) -> dict[str, Any]:
        """Change the environment and return it as the API reports it afterwards. Raises :class:`UsageError`
        if no change is given, and :class:`ClientError`.
        """
        changes = _given_changes(parsed_args)
        if not changes:
            options = ", ".join("--" + name.replace("_", "-") for name in CHANGEABLE_ATTRIBUTES)
            raise UsageError(f"nothing to change: pass at least one of {options}")
        row: dict[str, Any] = self.client.put(_environment_path(parsed_args), {"environment": changes})["environment"]
        return row


class ResumeEnvironment(EnvironmentCommand):
    """``evenkeel environment resume``: closes an environment's circuit breaker, so that shards of silent
    agents move.
    """

    operator_action = "environment_resume"

    def send_request(self, parsed_args: Namespace) -> dict[str, Any]:
        """Close the environment's circuit breaker and return the environment as the API reports it
        afterwards. Raises :class:`ClientError`.
        """
        row: dict[str, Any] = self.client.put(f"{_environment_path(parsed_args)}/resume")["environment"]
        return row


class DeleteEnvironment(ApiCommand):
    """``evenkeel environment delete``: deletes an environment that has no agents and load balancers."""

    operator_action = "environment_delete"

    def add_arguments(self, parser: ArgumentParser) -> None:
        _add_name_argument(parser)

    def take_action(self, parsed_args: Namespace) -> None:
        self.client.delete(_environment_path(parsed_args))

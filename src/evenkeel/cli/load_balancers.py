"""``evenkeel loadbalancer list|show|history``: load balancers of all projects, as administrators see
them in Octavia's API, and their revisions.
"""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from evenkeel.cli.base import PENDING_STATUSES, ListCommand, ShowCommand, complete_id, fetch_all_pages, is_id
from evenkeel.cli.client import API_PATH, ApiRefused, Client, quote_segment
from evenkeel.cli.columns import Columns, list_table, object_table
from evenkeel.cli.filters import add_choice_filter, add_environment_filter, check_environment, name_suggestion
from evenkeel.core.resources.statuses import OperatingStatus, ProvisioningStatus

LOAD_BALANCERS_PATH = "/v2/lbaas/loadbalancers"
LIST_COLUMNS = ("name", "id", "project_id", "vip_address", "provisioning_status", "operating_status", "provider")
NARROW_TITLES = {
    "name": "name",
    "id": "id",
    "vip_address": "vip",
    "provisioning_status": "provisioning",
    "operating_status": "operating",
}
HISTORY_COLUMNS = (
    "revision",
    "accepted_at",
    "user",
    "project_id",
    "request_id",
    "applied_at",
    "seconds",
    "host",
    "epoch",
    "agent_id",
    "problem",
)
HISTORY_NARROW_TITLES = {
    "revision": "revision",
    "accepted_at": "accepted",
    "user": "user",
    "seconds": "seconds",
    "host": "applied by",
    "epoch": "epoch",
}
QUERY_PARAMETER_BY_OPTION = {
    "project_id": "project_id",
    "provisioning_status": "provisioning_status",
    "operating_status": "operating_status",
    "environment": "provider",
}
"""Names of the command's options, each with the parameter of Octavia's API that it sets."""
TOO_SHORT_ID_PATTERN = re.compile(r"[0-9a-f]{1,3}")
SUGGESTION_PAGES_MAX = 5
"""Maximum number of pages of names that are searched for one that resembles an unknown one."""
CANDIDATES_MAX = 10
"""Maximum number of load balancers that are listed for an ambiguous name."""


def add_load_balancer_argument(parser: ArgumentParser) -> None:
    """Add the positional argument LB, which names a load balancer, to a command's parser."""
    parser.add_argument(
        "loadbalancer", metavar="LB", help="Id of the load balancer, its beginning, or its name if that is unique."
    )


class ListLoadBalancers(ListCommand):
    """List load balancers of all projects."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--project", dest="project_id", help="Only those of this project.")
        status = parser.add_mutually_exclusive_group()
        add_choice_filter(
            status,
            "--status",
            ProvisioningStatus,
            "Only those in this provisioning status",
            "--provisioning-status",
            dest="provisioning_status",
        )
        status.add_argument("--pending", action="store_true", help="Only those whose last change is not applied yet.")
        add_choice_filter(parser, "--operating-status", OperatingStatus, "Only those in this operating status")
        add_environment_filter(parser, "those")

    def take_action(self, parsed_args: Namespace) -> Any:
        query = {
            api: getattr(parsed_args, name)
            for name, api in QUERY_PARAMETER_BY_OPTION.items()
            if getattr(parsed_args, name)
        }
        wanted = [{**query, "provisioning_status": one} for one in PENDING_STATUSES] if parsed_args.pending else [query]
        rows = [
            row for each in wanted for row in fetch_all_pages(self.client, LOAD_BALANCERS_PATH, "loadbalancers", each)
        ]
        check_environment(self.client, rows, parsed_args.environment)
        return list_table(LIST_COLUMNS, rows)


class ShowLoadBalancer(ShowCommand):
    """Show a load balancer as its tenant sees it; 'evenkeel explain' shows why it waits."""

    supports_watch = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        path = f"{LOAD_BALANCERS_PATH}/{quote_segment(find_load_balancer_id(self.client, parsed_args.loadbalancer))}"
        return object_table(self.client.get(path)["loadbalancer"])


class ShowHistory(ListCommand):
    """List the last revisions of a load balancer, newest first, with the user who requested each and the agent that
    applied it.
    """

    narrow_titles = HISTORY_NARROW_TITLES

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)

    def take_action(self, parsed_args: Namespace) -> Any:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        return list_table(HISTORY_COLUMNS, self.client.get(f"{path}/history")["history"])


def load_balancer_path(client: Client, name: str) -> str:
    """Return the path, in the operators' API, of the load balancer with this id, beginning of an id, or name.
    Raises :class:`ApiRefused` as :func:`find_load_balancer_id` does.
    """
    return f"{API_PATH}/loadbalancers/{quote_segment(find_load_balancer_id(client, name))}"


def find_load_balancer_id(client: Client, name: str) -> str:
    """Return the id of the load balancer with this name, or whose id begins with ``name``; a complete id is
    returned unchecked. Raises :class:`ApiRefused` unless exactly one matches.
    """
    if is_id(name):
        # An id that does not exist is reported by the request that uses it.
        return name
    found = client.get(LOAD_BALANCERS_PATH, {"name": name, "fields": "id"})["loadbalancers"]
    if len(found) == 1:
        return str(found[0]["id"])
    if not found and (whole := complete_id(client, "loadbalancers", name)):
        return whole
    if not found:
        too_short = "; the beginning of an id has 4 characters or more" if TOO_SHORT_ID_PATTERN.fullmatch(name) else ""
        hint = name_suggestion(name, _fetch_some_names(client)) or too_short
        raise ApiRefused(404, f"no load balancer has the id or name {name!r}{hint}")
    candidates = client.get(LOAD_BALANCERS_PATH, {"name": name, "limit": CANDIDATES_MAX})["loadbalancers"]
    rows = "".join(f"\n  {_candidate_text(row)}" for row in candidates)
    raise ApiRefused(409, f"{len(found)} load balancers have the name {name!r}; name one by id:{rows}")


def _fetch_some_names(client: Client) -> list[str]:
    """Return the names of load balancers on the first pages of the list, for a hint about an unknown name."""
    rows = fetch_all_pages(
        client, LOAD_BALANCERS_PATH, "loadbalancers", {"fields": ["id", "name"]}, pages_max=SUGGESTION_PAGES_MAX
    )
    return [str(row["name"]) for row in rows]


def _candidate_text(row: Mapping[str, Any]) -> str:
    return f"{row['id']}  {row['vip_address']}  project {row['project_id']}  {row['provisioning_status']}"

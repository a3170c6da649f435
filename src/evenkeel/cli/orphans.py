"""The commands ``evenkeel orphan …``, for load balancers and partitions on devices that the database lacks."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, print_problems
from evenkeel.cli.client import API_PATH, ApiRefused, quote_segment
from evenkeel.cli.columns import list_table
from evenkeel.cli.filters import add_environment_filter
from evenkeel.cli.plans import ANSWER_SECONDS

NARROW_TITLES = {
    "kind": "kind",
    "id": "id",
    "environment": "environment",
    "group_number": "group",
    "seconds": "seconds",
    "removed_in_seconds": "goes in",
}
ORPHAN_COLUMNS = ("kind", "id", "environment", "group_number", "devices", "seconds", "removed_in_seconds")


class ListOrphans(ListCommand):
    """List load balancers whose objects carry our mark on the devices, and which are not in the database; and
    partitions of tenants without a shard there (id: the project's). Changes nothing.
    """

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_environment_filter(parser, "those on devices")

    def take_action(self, parsed_args: Namespace) -> Any:
        query = {"environment": parsed_args.environment} if parsed_args.environment else None
        rows, problems = [], []
        for shard in self.client.get(f"{API_PATH}/shards", query)["shards"]:
            # Only the common shard of a device group, which has no project, finds orphans.
            if shard["project_id"]:
                continue
            place = {"environment": shard["environment"], "group_number": shard["group_number"]}
            named = f"device group {shard['environment']}/{shard['group_number']}"
            try:
                path = f"{API_PATH}/shards/{quote_segment(shard['id'])}/orphans"
                found = self.client.post(path, None, timeout_seconds=ANSWER_SECONDS)
            except ApiRefused as error:
                problems.append(f"{named}: {error}")
                continue
            rows += [
                {
                    "kind": "load balancer",
                    "id": row["load_balancer_id"],
                    "removed_in_seconds": None,
                    **row,
                    **place,
                }
                for row in found["orphans"]
            ]
            rows += [
                {
                    "kind": "partition",
                    "id": row["project_id"],
                    "devices": "",
                    "removed_in_seconds": None,
                    **row,
                    **place,
                }
                for row in found.get("partitions", ())
            ]
            if found["more"]:
                problems.append(f"{named}: {found['more']} more were not looked at")
        print_problems(self, problems)
        return list_table(ORPHAN_COLUMNS, rows)


class RemoveOrphan(ApiCommand):
    """``evenkeel orphan remove``: removes a load balancer that devices hold and the database does not
    contain.
    """

    operator_action = "orphan_delete"
    details = "'evenkeel orphan list' shows when it is removed without this command."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("load_balancer", metavar="ID", help="Whole id of the load balancer.")

    def take_action(self, parsed_args: Namespace) -> None:
        """Request the removal; the agent makes a complete pass."""
        self.client.delete(f"{API_PATH}/orphans/{quote_segment(parsed_args.load_balancer)}")

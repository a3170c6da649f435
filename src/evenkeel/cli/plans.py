"""``evenkeel plan`` and ``evenkeel adopt``: what the next pass would change on each device."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.cli.base import ApiCommand, print_problems
from evenkeel.cli.client import API_PATH, ApiRefused, quote_segment
from evenkeel.cli.columns import escape_controls
from evenkeel.cli.load_balancers import add_load_balancer_argument, load_balancer_path
from evenkeel.core.kit.words import count_with_noun

ADOPTION_PLANNED_TEXT = "nothing is changed yet: --yes adopts the partition\n"
ADOPTED_TEXT = "adopted: the next pass changes this\n"
RELEASE_PLANNED_TEXT = "nothing is changed yet: --yes gives the partition back\n"
RELEASED_TEXT = "given back: everything else in the partition stays, and nothing of it is changed any more\n"
ANSWER_SECONDS = 40.0
ADOPTION_SECONDS = 120.0
"""Time-out of an adoption: the agent reads its devices before the controller answers, and waits for the network
service.
"""


class ShowPlan(ApiCommand):
    """Show what the next pass over a load balancer would change on each device: every object and attribute, as it is
    and as it would become. Changes nothing.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_load_balancer_argument(parser)
        parser.add_argument("--json", action="store_true", help="As JSON.")

    def take_action(self, parsed_args: Namespace) -> None:
        path = load_balancer_path(self.client, parsed_args.loadbalancer)
        plans = self.client.post(f"{path}/plan", None, timeout_seconds=ANSWER_SECONDS)["plan"]
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps(plans, indent=2)}\n")
        else:
            self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in plan_lines(plans))
        print_problems(self, plan_problems(plans))


class AdoptPartition(ApiCommand):
    """``evenkeel adopt``: shows how a tenant's partition, which another program made, would be taken over;
    with ``--yes`` takes it over, with ``--back`` gives it back.
    """

    operator_action = "shard_adopt"
    details = (
        "Shows what would be changed; with --yes it does it, with --back the partition becomes the other program's"
        " again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Id of the tenant's project.")
        parser.add_argument("--environment", help="Of the devices, if the tenant has load balancers in several.")
        parser.add_argument("--back", action="store_true", help="Give an adopted partition back.")
        parser.add_argument(
            "--keep-irules", action="store_true", help="Keep iRules of operators on the virtual servers."
        )
        parser.add_argument("--yes", action="store_true", help="Do it; without this nothing is changed.")
        parser.add_argument("--json", action="store_true", help="As JSON.")

    def take_action(self, parsed_args: Namespace) -> None:
        shard = self._find_shard(parsed_args.project, parsed_args.environment)
        path, adoption = f"{API_PATH}/shards/{quote_segment(shard)}/adoption", {"apply": parsed_args.yes}
        # Only if they are wanted: a controller of an earlier version refuses them.
        wanted = {"give_back": parsed_args.back, "keep_irules": parsed_args.keep_irules}
        body = {"adoption": adoption | {name: True for name, value in wanted.items() if value}}
        seconds = ADOPTION_SECONDS if parsed_args.yes else ANSWER_SECONDS
        plans = self.client.post(path, body, timeout_seconds=seconds)["adoption"]
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps(plans, indent=2)}\n")
        else:
            self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in plan_lines(plans))
            planned, done = (
                (RELEASE_PLANNED_TEXT, RELEASED_TEXT) if parsed_args.back else (ADOPTION_PLANNED_TEXT, ADOPTED_TEXT)
            )
            self.app.stdout.write(done if parsed_args.yes else planned)
        print_problems(self, plan_problems(plans))

    def _find_shard(self, project: str, environment: str | None) -> str:
        """Return the id of the shard of a project's load balancers. Raises :class:`ApiRefused` unless there is exactly
        one.
        """
        query = {"environment": environment} if environment else None
        rows = [row for row in self.client.get(f"{API_PATH}/shards", query)["shards"] if row["project_id"] == project]
        # An empty text would find the common shards of device groups, which belong to no project.
        if not project or not rows:
            raise ApiRefused(404, f"project {project!r} has no load balancer in any device group: import them first")
        if len(rows) > 1:
            named = ", ".join(f"{row['environment']}/{row['group_number']}" for row in rows)
            raise ApiRefused(409, f"project {project!r} is on several device groups: {named}; use --environment")
        return str(rows[0]["id"])


def plan_lines(plans: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show the plan of each device: its operations, with their attributes, and the
    objects that stay.
    """
    if not plans["devices"]:
        yield "nothing: the load balancer is gone"
    for plan in plans["devices"]:
        yield f"{plan['device']}: {_plan_summary(plan)}"
        for step in plan["operations"]:
            note = f" ({step['note']})" if step["note"] else ""
            yield f"  {step['verb']} {step['type']} {step['name']}{note}"
            for attribute in step["attributes"]:
                yield f"    {attribute['name']}: {_attribute_change(step, attribute)}"
        if plan["more"]:
            yield f"  and {count_with_noun(plan['more'], 'more operation')}"
        yield from (f"  stays, no load balancer needs it: {thing}" for thing in plan["left"])


def plan_problems(plans: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why devices would not be changed; none if every device has a plan."""
    for plan in plans["devices"]:
        if plan["problem"]:
            yield f"{plan['device']}: {plan['problem']}"


def _plan_summary(plan: Mapping[str, Any]) -> str:
    count = len(plan["operations"]) + plan["more"]
    if plan["problem"] and not count:
        return "no plan"
    return count_with_noun(count, "operation") if count else "nothing to change"


def _attribute_change(step: Mapping[str, Any], attribute: Mapping[str, Any]) -> str:
    wanted = attribute["wanted"] or "(not set)"
    return str(wanted) if step["verb"] == "create" else f"{attribute['present'] or '(not set)'} -> {wanted}"

"""``evenkeel plan``: what the next pass over a load balancer would change on each device."""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.cli.base import ApiCommand, tell_problems
from evenkeel.cli.client import API, segment
from evenkeel.cli.columns import escaped

ANSWER_SECONDS = 40.0
"""The agent reads its devices before the controller answers."""


class ShowPlan(ApiCommand):
    """Show what the next pass over a load balancer would change on each device: every object and attribute, as it is
    and as it would become. Changes nothing.
    """

    def get_parser(self, prog_name: str) -> Any:
        """The load balancer."""
        parser = super().get_parser(prog_name)
        parser.add_argument("loadbalancer", metavar="LB", help="Id of the load balancer.")
        parser.add_argument("--json", action="store_true", help="As JSON.")
        return parser

    def take_action(self, parsed_args: Namespace) -> None:
        """Ask and show."""
        path = f"{API}/loadbalancers/{segment(parsed_args.loadbalancer)}/plan"
        found = self.client.post(path, None, timeout_seconds=ANSWER_SECONDS)["plan"]
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps(found, indent=2)}\n")
        else:
            self.app.stdout.writelines(f"{escaped(line)}\n" for line in lines_of(found))
        tell_problems(self, problems_of(found))


def lines_of(found: Mapping[str, Any]) -> Iterator[str]:
    """The plans for readers."""
    if not found["devices"]:
        yield "nothing: the load balancer is gone"
    for plan in found["devices"]:
        yield f"{plan['device']}: {_summary(plan)}"
        for step in plan["operations"]:
            yield f"  {step['verb']} {step['type']} {step['name']}"
            for attribute in step["attributes"]:
                yield f"    {attribute['name']}: {_change(step, attribute)}"
        if plan["more"]:
            yield f"  and {plan['more']} more operations"


def problems_of(found: Mapping[str, Any]) -> Iterator[str]:
    """Why a device would not be changed."""
    for plan in found["devices"]:
        if plan["problem"]:
            yield f"{plan['device']}: {plan['problem']}"


def _summary(plan: Mapping[str, Any]) -> str:
    count = len(plan["operations"]) + plan["more"]
    if plan["problem"] and not count:
        return "no plan"
    return f"{count} operations" if count else "nothing to change"


def _change(step: Mapping[str, Any], attribute: Mapping[str, Any]) -> str:
    wanted = attribute["wanted"] or "(not set)"
    return str(wanted) if step["verb"] == "create" else f"{attribute['present'] or '(not set)'} -> {wanted}"

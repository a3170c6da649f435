"""``evenkeel move``: moves of load balancers to another device group."""

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from evenkeel.cli.base import ApiCommand, ListCommand, print_problems
from evenkeel.cli.client import API_PATH, UsageError, quote_segment
from evenkeel.cli.columns import escape_controls, list_table
from evenkeel.cli.load_balancers import find_load_balancer_id

MOVE_PLANNED_TEXT = "nothing is moved yet: --yes moves it\n"
POLL_SECONDS = 0.5
LIST_COLUMNS = ("load_balancer_id", "name", "project_id", "step", "source", "target", "back", "gap_seconds", "reason")
NARROW_TITLES = {
    "load_balancer_id": "load balancer",
    "step": "step",
    "source": "from",
    "target": "to",
    "gap_seconds": "gap",
    "reason": "reason",
}


class MoveLoadBalancers(ApiCommand):
    """``evenkeel move``: shows the plan to move a load balancer, or all of a project, to another device group
    or environment; with ``--yes`` it moves them and waits, unless ``--no-wait`` is given. ``--finish`` and
    ``--back`` end a waiting step of a move, or reverse the move.
    """

    operator_action = "move_create"
    details = (
        "Shows what would be done; with --yes it begins, waits until that is done, and shows for how long no devices"
        " were confirmed to answer for each VIP."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "loadbalancer", metavar="LB", nargs="?", help="Id of a load balancer, its beginning, or name."
        )
        what.add_argument("--project", metavar="ID", help="All load balancers of this project in the environment.")
        parser.add_argument("--environment", metavar="NAME", help="Of the project's load balancers.")
        parser.add_argument("--to-environment", metavar="NAME", help="Another environment, of one load balancer.")
        parser.add_argument("--to-group", metavar="N", type=int, help="Number of the device group.")
        parser.add_argument("--yes", action="store_true", help="Move; without this nothing is changed.")
        parser.add_argument("--no-wait", action="store_true", help="Do not wait until the moves are done.")
        parser.add_argument("--json", action="store_true", help="The plan as JSON.")
        end = parser.add_mutually_exclusive_group()
        end.add_argument(
            "--finish",
            action="store_true",
            help="End the step of a load balancer's move that waits: you routed its traffic to the new devices, or the"
            " devices that do not confirm are off. With --yes.",
        )
        end.add_argument("--back", action="store_true", help="Let a load balancer's move go back. With --yes.")

    def take_action(self, parsed_args: Namespace) -> None:
        if parsed_args.finish or parsed_args.back:
            self._finish_or_undo_move(parsed_args)
            return
        plan = self.client.post(f"{API_PATH}/moves", {"move": self._move_request_body(parsed_args)})["move"]
        if parsed_args.json:
            self.app.stdout.write(f"{json.dumps(plan, indent=2)}\n")
        else:
            self.app.stdout.writelines(f"{escape_controls(line)}\n" for line in plan_lines(plan))
        print_problems(self, plan_problems(plan))
        if not parsed_args.yes:
            self.app.stdout.write(MOVE_PLANNED_TEXT)
        elif not parsed_args.no_wait:
            self._follow_moves([row["load_balancer_id"] for row in plan["loadbalancers"]])

    def _move_request_body(self, parsed_args: Namespace) -> dict[str, Any]:
        given: dict[str, Any] = {
            "environment": parsed_args.environment,
            "to_environment": parsed_args.to_environment,
            "to_group": parsed_args.to_group,
        }
        if parsed_args.project is not None:
            given["project_id"] = parsed_args.project
        else:
            if parsed_args.environment is not None:
                raise UsageError("--environment is for --project; a load balancer has one already")
            given["load_balancer_id"] = find_load_balancer_id(self.client, parsed_args.loadbalancer)
        return {name: value for name, value in given.items() if value is not None} | {"apply": parsed_args.yes}

    def _finish_or_undo_move(self, parsed_args: Namespace) -> None:
        if parsed_args.loadbalancer is None or not parsed_args.yes:
            raise UsageError("--finish and --back need a load balancer and --yes")
        id_ = find_load_balancer_id(self.client, parsed_args.loadbalancer)
        action = "back" if parsed_args.back else "finish"
        self.client.put(f"{API_PATH}/moves/{quote_segment(id_)}/{action}", None)
        if not parsed_args.no_wait:
            self._follow_moves([id_])

    def _follow_moves(self, ids: list[str]) -> None:
        """Print each new step of the load balancers' moves until every move is done, or waits for the
        operator to route the traffic. Raises :class:`ClientError`.
        """
        shown: dict[str, str] = {}
        while True:
            rows = [row for row in self.client.get(f"{API_PATH}/moves")["moves"] if row["load_balancer_id"] in ids]
            for row in rows:
                line = progress_line(row)
                if shown.get(row["load_balancer_id"]) != line:
                    shown[row["load_balancer_id"]] = line
                    self.app.stdout.write(f"{escape_controls(line)}\n")
            self.app.stdout.flush()
            if all(row["step"] == "done" or _waits_for_operator(row) for row in rows):
                return
            time.sleep(POLL_SECONDS)


class ListMoves(ListCommand):
    """List the last moves of load balancers, those under way first."""

    narrow_titles = NARROW_TITLES
    short_id_columns = frozenset({"load_balancer_id", "project_id"})

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--open", action="store_true", help="Only those under way.")

    def take_action(self, parsed_args: Namespace) -> Any:
        rows = self.client.get(f"{API_PATH}/moves")["moves"]
        return list_table(LIST_COLUMNS, [row for row in rows if not (parsed_args.open and row["step"] == "done")])


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show the plan of moves: for each load balancer source, target and steps."""
    for row in plan["loadbalancers"]:
        yield f"{_move_title(row)}: {row['source'] or '(none)'} -> {plan['target']}"
        yield from (f"  {step}" for step in row["steps"])


def plan_problems(plan: Mapping[str, Any]) -> Iterator[str]:
    """Yield the reasons why load balancers of a plan cannot be moved; none if all can."""
    yield from plan["problems"]
    for row in plan["loadbalancers"]:
        yield from (f"{_move_title(row)}: {problem}" for problem in row["problems"])


def progress_line(row: Mapping[str, Any]) -> str:
    """Format the state of one load balancer's move as one line."""
    gap = row["gap_seconds"]
    if row["step"] == "done":
        end = "moved" if not row["back"] else "went back"
        served = (
            "" if gap is None else f"; no devices were confirmed to answer for {row['vip_address']} for {gap:.2f} s"
        )
        return f"{_move_title(row)}: {end}{_reason_in_brackets(row)}{served}"
    if _waits_for_operator(row):
        there = f"route {row['vip_address']} to device group {row['target']}"
        return f"{_move_title(row)}: {there}, then: evenkeel move {row['load_balancer_id']} --finish --yes"
    return f"{_move_title(row)}: {row['step']}{_reason_in_brackets(row)}"


def _waits_for_operator(row: Mapping[str, Any]) -> bool:
    return bool(row["step"] == "draining" and row["by_operator"])


def _reason_in_brackets(row: Mapping[str, Any]) -> str:
    return f" ({row['reason']})" if row["reason"] else ""


def _move_title(row: Mapping[str, Any]) -> str:
    return f"{row['name']} ({row['load_balancer_id']})" if row["name"] else str(row["load_balancer_id"])

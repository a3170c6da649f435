"""``evenkeel irule show|set``: an operator's iRules on a listener's virtual servers."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ShowCommand
from evenkeel.cli.client import API_PATH, quote_segment
from evenkeel.cli.columns import object_table

IRULES_COLUMNS = ("id", "loadbalancer_id", "irules")


class ShowIrules(ShowCommand):
    """Show which iRules of an operator a listener's virtual servers have, in their order after Even Keel's
    own.
    """

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("listener", metavar="LISTENER", help="Id of the listener.")

    def take_action(self, parsed_args: Namespace) -> Any:
        return _irules_table(self.client.get(_irules_path(parsed_args.listener)))


class SetIrules(ShowCommand):
    """``evenkeel irule set``: attaches exactly the given iRules of operators to a listener's virtual servers,
    in this order.
    """

    operator_action = "listener_set_irules"
    details = "They must be on every device of the group."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("listener", metavar="LISTENER", help="Id of the listener.")
        parser.add_argument("irules", metavar="PATH", nargs="*", help="Such as /Common/name.")

    def take_action(self, parsed_args: Namespace) -> Any:
        return _irules_table(self.client.put(_irules_path(parsed_args.listener), {"irules": parsed_args.irules}))


def _irules_path(listener_id: str) -> str:
    return f"{API_PATH}/listeners/{quote_segment(listener_id)}/irules"


def _irules_table(answer: dict[str, Any]) -> Any:
    row = answer["listener"]
    return object_table({name: row[name] for name in IRULES_COLUMNS} | {"irules": ", ".join(row["irules"])})

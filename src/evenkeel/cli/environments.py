"""``evenkeel environment …``"""

from argparse import Namespace
from typing import Any

from evenkeel.cli.base import Lists, Shows
from evenkeel.cli.client import API
from evenkeel.cli.columns import Columns, listed, shown

LIST_COLUMNS = ("name", "device_driver", "description", "created_at")


class ListEnvironments(Lists):
    """List environments; tenants name them as providers."""

    def take_action(self, parsed_args: Namespace) -> Any:
        """Ask and show."""
        return listed(LIST_COLUMNS, self.client.get(f"{API}/environments")["environments"])


class CreateEnvironment(Shows):
    """Create an environment. Creating the same again is harmless."""

    def get_parser(self, prog_name: str) -> Any:
        """What it is."""
        parser = super().get_parser(prog_name)
        parser.add_argument("name", metavar="NAME", help="Letters, digits, - and _, at most 64.")
        parser.add_argument("--device-driver", required=True, help="The only device driver whose agents may join.")
        parser.add_argument("--description", default="", help="For people.")
        return parser

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        """Create and show."""
        body = {
            "name": parsed_args.name,
            "device_driver": parsed_args.device_driver,
            "description": parsed_args.description,
        }
        return shown(self.client.post(f"{API}/environments", {"environment": body})["environment"])

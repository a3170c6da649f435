"""The commands ``evenkeel provider …``."""

from argparse import ArgumentParser, Namespace
from typing import Any

from evenkeel.cli.base import ShowCommand
from evenkeel.cli.client import quote_segment
from evenkeel.cli.columns import Columns, object_table

LBAAS_PATH = "/v2.0/lbaas"
"""Path of the tenants' API below an endpoint."""


class ShowCapabilities(ShowCommand):
    """Show the capabilities of a provider (environment); requests for anything else are refused."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="Name of the environment.")

    def take_action(self, parsed_args: Namespace) -> tuple[Columns, tuple[Any, ...]]:
        return object_table(
            self.client.get(f"{LBAAS_PATH}/providers/{quote_segment(parsed_args.name)}/capabilities")["capabilities"]
        )
